import { encodeErrorResult, encodeFunctionData, parseEventLogs, zeroAddress, type TransactionReceipt } from "viem";
import { decisionOracleAbi, settlementAbi } from "@conclave/contracts/abi";
import { unpackTerms } from "../../core/encoding/words.ts";
import type { DecidedRound } from "../../core/request/events.ts";
import { unpackRound } from "../../core/request/rounds.ts";
import type { Address, Currency, Hex, Request, RequestId } from "../../core/types.ts";
import type { OracleActions } from "../../ports/chain.ts";
import type { Connection } from "./connection.ts";
import { lower } from "./decode.ts";
import { aboutLastArguments, currencyCode, encodeAboutLast, encodeAsk, encodeUnanswered } from "./encode.ts";
import { revertError, revertName } from "./errors.ts";
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
          ? await payOracle(connection, sender, call, {
              currency: terms.currency,
              amount: terms.fee,
              check: () => requireAcceptable(connection, sender, call),
            })
          : await sender.send(call);
      return { requestId: askedIn(receipt, oracle).requestId, receipt: toReceipt(receipt) };
    },
    appeal: async (request, last) => {
      const bond = await readBond(connection, request, last.round);
      const data = encodeAboutLast("appeal", request, last);
      const call = { to: oracle, data, doing: `Appeal against the decision on request ${request.id}` };
      return toReceipt(
        await payOracle(connection, sender, call, {
          currency: request.terms.currency,
          amount: bond,
          check: () => requireAppealable(connection, sender, call, [request, last]),
        }),
      );
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
      const check = (): Promise<void> => requireAcceptable(connection, sender, call);
      return toReceipt(await payOracle(connection, sender, call, { currency, amount, check }));
    },
    withdrawFunds: (subscriptionId, currency, amount, to) => {
      const args = [subscriptionId, currencyCode(currency), amount, to] as const;
      const data = encodeFunctionData({ ...oracleCall, functionName: "withdrawFunds", args });
      return send(`Withdraw ${amount} from subscription ${subscriptionId}`, data);
    },
  };
}

/** What a call of the oracle costs. */
interface Cost {
  readonly currency: Currency;
  /** The oracle takes exactly that from the caller. */
  readonly amount: bigint;
  /** Throws what the oracle would refuse, before its caller approves tokens for it. */
  readonly check: () => Promise<void>;
}

async function payOracle(
  connection: Connection,
  sender: Sender,
  call: TransactionCall,
  { currency, amount, check }: Cost,
): Promise<TransactionReceipt> {
  if (currency === "native") return sender.send({ ...call, value: amount });
  await check();
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
 * Tries the call first, so that nothing is approved for a call that the oracle refuses. It is for calls that take the
 * tokens after all their checks: `request` and `fund`.
 */
async function requireAcceptable(connection: Connection, sender: Sender, call: TransactionCall): Promise<void> {
  const error = await tried(connection, sender, call);
  const name = revertName(error);
  if (error !== null && (name === null || (oracleErrors.has(name) && name !== "SafeERC20FailedOperation"))) throw error;
}

/**
 * Throws what the oracle would refuse of an appeal. `appeal` takes the bond before its checks, so a trial of it fails on
 * the tokens and tells nothing. `finalize` makes the same checks, of the status and of the decision, and takes nothing;
 * then it wants the deadline to have passed where `appeal` wants the opposite.
 */
async function requireAppealable(
  connection: Connection,
  sender: Sender,
  appeal: TransactionCall,
  [request, last]: readonly [Request, DecidedRound],
): Promise<void> {
  const error = await tried(connection, sender, { ...appeal, data: encodeAboutLast("finalize", request, last) });
  if (revertName(error) === "DeadlineNotPassed") return;
  if (error !== null) throw error;
  const args = [request.id, unpackRound(last.round).deadline] as const;
  throw revertError(encodeErrorResult({ ...oracleCall, errorName: "DeadlinePassed", args }), appeal.doing);
}

/** Returns why a call would fail now; null if it would not. */
async function tried(connection: Connection, sender: Sender, call: TransactionCall): Promise<Error | null> {
  const { address } = sender.account;
  try {
    await connection.call(call.doing, undefined, (client) => client.call({ account: address, ...callMessage(call) }));
    return null;
  } catch (error) {
    if (error instanceof Error) return error;
    throw error;
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
