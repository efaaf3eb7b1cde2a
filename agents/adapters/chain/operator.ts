import { encodeFunctionData, parseEventLogs, type LocalAccount, type TransactionReceipt } from "viem";
import { ConclaveError, type ErrorCode } from "../../core/errors.ts";
import { bytesToHex } from "../../core/digest.ts";
import type { Address, AgentId, Currency, Hex, RequestId } from "../../core/types.ts";
import type { OperatorActions } from "../../ports/chain.ts";
import { agentRegistryAbi, decisionOracleAbi, tokenAbi } from "conclave/abi";
import { connect, type ChainOptions, type Connection } from "./connection.ts";
import { lower } from "./decode.ts";
import { currencyCode, encodeAboutLast, encodeAsk } from "./encode.ts";
import { revertName } from "./errors.ts";
import { readBond, readFeeToken } from "./prices.ts";
import { allowanceOf, requireTokens, signPermit, type Permit } from "./token.ts";
import { createSender, messageOf, type Sender, type TransactionCall, type TransactionOptions } from "./transactions.ts";
import { toReceipt } from "./writer.ts";

export interface OperatorOptions extends ChainOptions, TransactionOptions {
  /** Owns the stake or asks, and pays the gas. */
  readonly account: LocalAccount;
}

const registryCall = { abi: agentRegistryAbi } as const;
const oracleCall = { abi: decisionOracleAbi } as const;

const oracleErrors: ReadonlySet<string> = new Set(
  decisionOracleAbi.flatMap((item) => (item.type === "error" ? [item.name] : [])),
);

/** Throws CHAIN_UNREACHABLE, CHAIN_WRONG_ID or CHAIN_NO_CONTRACT. */
export async function createOperatorActions(
  options: OperatorOptions,
  startSignal?: AbortSignal,
): Promise<OperatorActions> {
  const connection = await connect(options, startSignal);
  const sender = createSender(connection, options.account, options);
  const account = lower(options.account.address);
  const { registry } = connection;
  const { oracle } = connection.domain;
  const toRegistry = async (doing: string, data: Hex) => toReceipt(await sender.send({ to: registry, data, doing }));
  const toOracle = async (doing: string, data: Hex) => toReceipt(await sender.send({ to: oracle, data, doing }));

  return {
    account,
    register: async ({ publicKey, possession, model, endpoint, stake }) => {
      const registration = { publicKey: bytesToHex(publicKey), possession, model, endpoint: endpoint.join(","), stake };
      const receipt = await pay(connection, sender, {
        ...(await stakeOf(connection, stake)),
        doing: "Register the agent",
        plain: encodeFunctionData({ ...registryCall, functionName: "register", args: [registration] }),
        permitted: (permit) =>
          encodeFunctionData({ ...registryCall, functionName: "registerWithPermit", args: [registration, permit] }),
      });
      return { agentId: registeredId(receipt, registry), receipt: toReceipt(receipt) };
    },
    bond: async (agentId, amount) => {
      const receipt = await pay(connection, sender, {
        ...(await stakeOf(connection, amount)),
        doing: `Bond stake of agent ${agentId}`,
        plain: encodeFunctionData({ ...registryCall, functionName: "bond", args: [agentId, amount] }),
        permitted: (permit) =>
          encodeFunctionData({ ...registryCall, functionName: "bondWithPermit", args: [agentId, amount, permit] }),
      });
      return toReceipt(receipt);
    },
    startUnbonding: (agentId, shares) =>
      toRegistry(
        `Unbond stake of agent ${agentId}`,
        encodeFunctionData({ ...registryCall, functionName: "startUnbonding", args: [agentId, shares] }),
      ),
    withdrawStake: (agentId, to) =>
      toRegistry(
        `Withdraw the stake of agent ${agentId}`,
        encodeFunctionData({ ...registryCall, functionName: "withdrawStake", args: [agentId, to] }),
      ),
    claimReward: (to) =>
      toRegistry(
        "Claim the rewards for evidence",
        encodeFunctionData({ ...registryCall, functionName: "claim", args: [to] }),
      ),
    rotateSigner: (agentId, publicKey, possession) => {
      const args = [agentId, bytesToHex(publicKey), possession] as const;
      return toRegistry(
        `Rotate the signer of agent ${agentId}`,
        encodeFunctionData({ ...registryCall, functionName: "rotateSigner", args }),
      );
    },
    setEndpoint: (agentId, endpoint) => {
      const args = [agentId, endpoint.join(",")] as const;
      return toRegistry(
        `Set the endpoint of agent ${agentId}`,
        encodeFunctionData({ ...registryCall, functionName: "setEndpoint", args }),
      );
    },
    request: async (terms, question, subscriptionId = 0) => {
      const call = { to: oracle, data: encodeAsk(subscriptionId, terms, question), doing: "Ask the question" };
      const receipt =
        subscriptionId === 0
          ? await payOracle(connection, sender, call, terms.currency, terms.fee)
          : await sender.send(call);
      return { requestId: askedId(receipt, oracle), receipt: toReceipt(receipt) };
    },
    appeal: async (request, last) => {
      const bond = await readBond(connection, request.terms, last.round);
      const data = encodeAboutLast("appeal", request, last);
      const call = { to: oracle, data, doing: `Appeal against the decision on request ${request.id}` };
      return toReceipt(await payOracle(connection, sender, call, request.terms.currency, bond));
    },
    withdraw: (currency, amount, to) =>
      toOracle(
        `Withdraw ${amount} of the credit`,
        encodeFunctionData({ ...oracleCall, functionName: "withdraw", args: [currencyCode(currency), amount, to] }),
      ),
  };
}

/** A call that pulls tokens from the caller. */
interface Payment {
  readonly token: Address;
  readonly spender: Address;
  readonly amount: bigint;
  /** When the caller has too few of them. */
  readonly missing: ErrorCode;
  readonly doing: string;
  readonly plain: Hex;
  /** Null where the contract takes no permit. */
  readonly permitted: ((permit: Permit) => Hex) | null;
}

/** One transaction with a permit where the token has one, else an approval of exactly the amount and the call. */
async function pay(connection: Connection, sender: Sender, payment: Payment): Promise<TransactionReceipt> {
  const { token, spender, amount, doing } = payment;
  const owner = lower(sender.account.address);
  await requireTokens(connection, token, owner, amount, payment.missing);
  if ((await allowanceOf(connection, token, owner, spender)) < amount) {
    const { permitted } = payment;
    const permit =
      permitted === null ? null : await signPermit(connection, sender.account, token, spender, amount);
    if (permit !== null && permitted !== null) return sender.send({ to: spender, data: permitted(permit), doing });
    const approval = encodeFunctionData({ abi: tokenAbi, functionName: "approve", args: [spender, amount] });
    await sender.send({ to: token, data: approval, doing: `Approve ${amount} of token ${token}` });
  }
  return sender.send({ to: spender, data: payment.plain, doing });
}

async function stakeOf(
  connection: Connection,
  amount: bigint,
): Promise<Pick<Payment, "token" | "spender" | "amount" | "missing">> {
  const { registry } = connection;
  const token = await connection.call("Read the stake token", undefined, (client) =>
    client.readContract({ address: registry, ...registryCall, functionName: "stakeToken" }),
  );
  return { token: lower(token), spender: registry, amount, missing: "STAKE_MISSING" };
}

/** A call of the oracle that takes exactly `amount` from the caller. */
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

/** So that nothing is approved for what the oracle would refuse anyway. It takes the tokens after all checks. */
async function requireAcceptable(connection: Connection, sender: Sender, call: TransactionCall): Promise<void> {
  const { address } = sender.account;
  try {
    await connection.call(call.doing, undefined, (client) => client.call({ account: address, ...messageOf(call) }));
  } catch (error) {
    const name = revertName(error);
    if (name === null || (oracleErrors.has(name) && name !== "SafeERC20FailedOperation")) throw error;
  }
}

function registeredId({ logs }: TransactionReceipt, registry: Address): AgentId {
  const own = logs.filter(({ address }) => lower(address) === registry);
  const [event] = parseEventLogs({ ...registryCall, eventName: "AgentRegistered", logs: own });
  if (event === undefined) throw missingEvent("AgentRegistered");
  return event.args.agentId as AgentId;
}

function askedId({ logs }: TransactionReceipt, oracle: Address): RequestId {
  const own = logs.filter(({ address }) => lower(address) === oracle);
  const [event] = parseEventLogs({ ...oracleCall, eventName: "Requested", logs: own });
  if (event === undefined) throw missingEvent("Requested");
  return event.args.requestId as RequestId;
}

function missingEvent(name: string): ConclaveError {
  return new ConclaveError(
    "CHAIN_NO_CONTRACT",
    `Read the receipt: it has no ${name} event; the contract is not what it should be`,
    { event: name },
  );
}
