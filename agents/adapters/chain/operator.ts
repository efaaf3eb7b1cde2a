import { encodeFunctionData, parseEventLogs, type LocalAccount, type TransactionReceipt } from "viem";
import { ConclaveError, type ErrorCode } from "../../core/errors.ts";
import { bytesToHex } from "../../core/digest.ts";
import type { Address, AgentId, Hex, RequestId } from "../../core/types.ts";
import type { OperatorActions } from "../../ports/chain.ts";
import { agentRegistryAbi, decisionOracleAbi, tokenAbi } from "conclave/abi";
import { connect, type ChainOptions, type Connection } from "./connection.ts";
import { lower } from "./decode.ts";
import { encodeAsk } from "./encode.ts";
import { allowanceOf, requireTokens, signPermit, type Permit } from "./token.ts";
import { createSender, type Sender, type TransactionOptions } from "./transactions.ts";
import { toReceipt } from "./writer.ts";

export interface OperatorOptions extends ChainOptions, TransactionOptions {
  /** Owns the stake or asks, and pays the gas. */
  readonly account: LocalAccount;
}

const registryCall = { abi: agentRegistryAbi } as const;
const oracleCall = { abi: decisionOracleAbi } as const;

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
    request: async (terms, question) => {
      const call = { to: oracle, data: encodeAsk(terms, question), doing: "Ask the question" };
      await depositMissing(connection, sender, call.data, terms.fee);
      const receipt = await sender.send(call);
      return { requestId: askedId(receipt, oracle), receipt: toReceipt(receipt) };
    },
    deposit: async (amount) => toReceipt(await deposit(connection, sender, amount)),
    withdrawBalance: (amount, to) =>
      toOracle(
        `Withdraw ${amount} from the balance`,
        encodeFunctionData({ ...oracleCall, functionName: "withdraw", args: [amount, to] }),
      ),
    balanceOf: (owner) => balanceOf(connection, owner),
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
  readonly permitted: (permit: Permit) => Hex;
}

/** One transaction with a permit where the token has one, else an approval of exactly the amount and the call. */
async function pay(connection: Connection, sender: Sender, payment: Payment): Promise<TransactionReceipt> {
  const { token, spender, amount, doing } = payment;
  const owner = lower(sender.account.address);
  await requireTokens(connection, token, owner, amount, payment.missing);
  if ((await allowanceOf(connection, token, owner, spender)) < amount) {
    const permit = await signPermit(connection, sender.account, token, spender, amount);
    if (permit !== null) return sender.send({ to: spender, data: payment.permitted(permit), doing });
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

async function deposit(connection: Connection, sender: Sender, amount: bigint): Promise<TransactionReceipt> {
  const { oracle } = connection.domain;
  const { address } = sender.account;
  const token = await connection.call("Read the fee token", undefined, (client) =>
    client.readContract({ address: oracle, ...oracleCall, functionName: "feeToken" }),
  );
  return pay(connection, sender, {
    token: lower(token),
    spender: oracle,
    amount,
    missing: "BALANCE_TOO_LOW",
    doing: `Deposit ${amount}`,
    plain: encodeFunctionData({ ...oracleCall, functionName: "deposit", args: [address, amount] }),
    permitted: (permit) =>
      encodeFunctionData({ ...oracleCall, functionName: "depositWithPermit", args: [address, permit] }),
  });
}

/** Tries the question first, so that nothing is deposited for one that the oracle would refuse anyway. */
async function depositMissing(connection: Connection, sender: Sender, ask: Hex, fee: bigint): Promise<void> {
  const { address } = sender.account;
  try {
    await connection.call("Ask the question", undefined, (client) =>
      client.call({ account: address, to: connection.domain.oracle, data: ask }),
    );
  } catch (error) {
    if (!(error instanceof ConclaveError) || error.data["error"] !== "InsufficientBalance") throw error;
    const balance = await balanceOf(connection, address);
    if (balance < fee) await deposit(connection, sender, fee - balance);
  }
}

async function balanceOf(connection: Connection, owner: Hex): Promise<bigint> {
  return connection.call("Read the balance", undefined, (client) =>
    client.readContract({ address: connection.domain.oracle, ...oracleCall, functionName: "balanceOf", args: [owner] }),
  );
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
