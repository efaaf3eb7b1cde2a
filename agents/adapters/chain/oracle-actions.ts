import { encodeFunctionData, parseEventLogs, zeroAddress, type TransactionReceipt } from "viem";
import { decisionOracleAbi, settlementAbi } from "@conclave/contracts/abi";
import { unpackTerms } from "../../core/encoding/words.ts";
import type { Address, Currency, Hex, RequestId } from "../../core/types.ts";
import type { OracleActions } from "../../ports/chain.ts";
import type { Connection } from "./connection.ts";
import { lower } from "./decode.ts";
import { aboutLastArguments, currencyCode, encodeAboutLast, encodeAsk, encodeUnanswered } from "./encode.ts";
import { revertName } from "./errors.ts";
import { missingEvent, pay } from "./payment.ts";
import { readBond, readFeeToken, readSettlement } from "./prices.ts";
import { callMessage, toReceipt, type Sender, type TransactionCall } from "./transactions.ts";

const oracleCall = { abi: decisionOracleAbi } as const;

const oracleErrors: ReadonlySet<string> = new Set(
  decisionOracleAbi.flatMap((item) => (item.type === "error" ? [item.name] : [])),
);

export function createOracleActions(connection: Connection, sender: Sender): OracleActions {
  const { oracle } = connection.domain;
  const send = async (doing: string, data: Hex) => toReceipt(await sender.send({ to: oracle, data, doing }));
  return {
    request: async (terms, question, subscriptionId = 0) => {
      const call = { to: oracle, data: encodeAsk(subscriptionId, terms, question), doing: "Ask the question" };
      const receipt =
        subscriptionId === 0
          ? await payOracle(connection, sender, call, terms.currency, terms.fee)
          : await sender.send(call);
      return { requestId: askedIn(receipt, oracle).requestId, receipt: toReceipt(receipt) };
    },
    appeal: async (request, last) => {
      const bond = await readBond(connection, request, last.round);
      const data = encodeAboutLast("appeal", request, last);
      const call = { to: oracle, data, doing: `Appeal against the decision on request ${request.id}` };
      return toReceipt(await payOracle(connection, sender, call, request.terms.currency, bond));
    },
    storeOutcome: async (request, last) => {
      const args = aboutLastArguments(request, last);
      const data = encodeFunctionData({ abi: settlementAbi, functionName: "storeOutcome", args });
      const doing = `Store the outcome of request ${request.id}`;
      return toReceipt(await sender.send({ to: await readSettlement(connection), data, doing }));
    },
    cancel: (request, awaited) => send(`Cancel request ${request.id}`, encodeUnanswered("cancel", request, awaited)),
    withdraw: (currency, amount, to) =>
      send(
        `Withdraw ${amount} of the credit`,
        encodeFunctionData({ ...oracleCall, functionName: "withdraw", args: [currencyCode(currency), amount, to] }),
      ),
    createSubscription: async () => {
      const data = encodeFunctionData({ ...oracleCall, functionName: "createSubscription" });
      const receipt = await sender.send({ to: oracle, data, doing: "Create a subscription" });
      return { subscriptionId: createdId(receipt, oracle), receipt: toReceipt(receipt) };
    },
    setConsumer: (subscriptionId, consumer, { token, native }) => {
      const args = [subscriptionId, consumer, token, native] as const;
      const data = encodeFunctionData({ ...oracleCall, functionName: "setConsumer", args });
      return send(`Set a consumer of subscription ${subscriptionId}`, data);
    },
    transferSubscription: (subscriptionId, to) => {
      const args = [subscriptionId, to ?? zeroAddress] as const;
      const data = encodeFunctionData({ ...oracleCall, functionName: "transferSubscription", args });
      return send(`Offer subscription ${subscriptionId}`, data);
    },
    acceptSubscription: (subscriptionId) => {
      const data = encodeFunctionData({ ...oracleCall, functionName: "acceptSubscription", args: [subscriptionId] });
      return send(`Take over subscription ${subscriptionId}`, data);
    },
    fund: async (subscriptionId, currency, amount) => {
      const data =
        currency === "token"
          ? encodeFunctionData({ ...oracleCall, functionName: "fund", args: [subscriptionId, amount] })
          : encodeFunctionData({ ...oracleCall, functionName: "fundNative", args: [subscriptionId] });
      const call = { to: oracle, data, doing: `Fund subscription ${subscriptionId}` };
      return toReceipt(await payOracle(connection, sender, call, currency, amount));
    },
    withdrawFunds: (subscriptionId, currency, amount, to) => {
      const args = [subscriptionId, currencyCode(currency), amount, to] as const;
      const data = encodeFunctionData({ ...oracleCall, functionName: "withdrawFunds", args });
      return send(`Withdraw ${amount} from subscription ${subscriptionId}`, data);
    },
  };
}

/** Calls the oracle, which takes exactly `amount` from the caller. */
async function payOracle(
  connection: Connection,
  sender: Sender,
  call: TransactionCall,
  currency: Currency,
  amount: bigint,
): Promise<TransactionReceipt> {
  if (currency === "native") return sender.send({ ...call, value: amount });
  await requireAcceptable(connection, sender, call);
  return pay(connection, sender, {
    token: await readFeeToken(connection),
    spender: call.to,
    amount,
    missing: "BALANCE_TOO_LOW",
    doing: call.doing,
    plain: call.data,
    permitted: null,
  });
}

/**
 * Tries the call first, so that nothing is approved for a call that the oracle refuses; it takes the tokens after all
 * checks.
 */
async function requireAcceptable(connection: Connection, sender: Sender, call: TransactionCall): Promise<void> {
  const { address } = sender.account;
  try {
    await connection.call(call.doing, undefined, (client) => client.call({ account: address, ...callMessage(call) }));
  } catch (error) {
    const name = revertName(error);
    if (name === null || (oracleErrors.has(name) && name !== "SafeERC20FailedOperation")) throw error;
  }
}

/** Returns the request that a transaction asked, and what it pays. Throws CHAIN_NO_CONTRACT if it asked none. */
export function askedIn(
  { logs }: TransactionReceipt,
  oracle: Address,
): { readonly requestId: RequestId; readonly fee: bigint } {
  const own = logs.filter(({ address }) => lower(address) === oracle);
  const [event] = parseEventLogs({ ...oracleCall, eventName: "Requested", logs: own });
  const terms = event === undefined ? null : unpackTerms(event.args.terms);
  if (event === undefined || terms === null) throw missingEvent("Requested");
  return { requestId: event.args.requestId as RequestId, fee: terms.fee };
}

function createdId({ logs }: TransactionReceipt, oracle: Address): number {
  const own = logs.filter(({ address }) => lower(address) === oracle);
  const [event] = parseEventLogs({ ...oracleCall, eventName: "SubscriptionCreated", logs: own });
  if (event === undefined) throw missingEvent("SubscriptionCreated");
  return event.args.subscriptionId;
}
