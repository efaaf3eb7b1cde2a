import { encodeFunctionData, parseEventLogs, zeroAddress, type LocalAccount, type TransactionReceipt } from "viem";
import { bytesToHex } from "../../core/encoding/bytes.ts";
import type { Address, AgentId, Hex } from "../../core/types.ts";
import type { OperatorActions } from "../../ports/chain.ts";
import { agentRegistryAbi } from "@conclave/contracts/abi";
import { connect, type ChainOptions, type Connection } from "./connection.ts";
import { lower } from "./decode.ts";
import { createOracleActions } from "./oracle-actions.ts";
import { lossesIn, overturnCall, readSlasher } from "./overturn.ts";
import { missingEvent, pay, type Payment } from "./payment.ts";
import { createRewardActions } from "./reward-actions.ts";
import { createSender, toReceipt, type TransactionOptions } from "./transactions.ts";

export interface OperatorOptions extends ChainOptions, TransactionOptions {
  /** The account that owns the stake or asks, and that pays the gas. */
  readonly account: LocalAccount;
}

const registryCall = { abi: agentRegistryAbi } as const;
/** Creates the actions. Throws CHAIN_UNREACHABLE, CHAIN_WRONG_ID or CHAIN_NO_CONTRACT. */
export async function createOperatorActions(
  options: OperatorOptions,
  startSignal?: AbortSignal,
): Promise<OperatorActions> {
  const connection = await connect(options, startSignal);
  const sender = createSender(connection, options.account, options);
  const account = lower(options.account.address);
  const { registry } = connection;
  const toRegistry = async (doing: string, data: Hex) => toReceipt(await sender.send({ to: registry, data, doing }));

  return {
    account,
    register: async ({ publicKey, endpoint, ...rest }) => {
      const { stake } = rest;
      const registration = { ...rest, publicKey: bytesToHex(publicKey), endpoint: endpoint.join(",") };
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
    rotateSigner: (agentId, publicKey, possession) => {
      const args = [agentId, bytesToHex(publicKey), possession] as const;
      return toRegistry(
        `Rotate the signer of agent ${agentId}`,
        encodeFunctionData({ ...registryCall, functionName: "rotateSigner", args }),
      );
    },
    transferOperator: (agentId, to) =>
      toRegistry(
        `Offer agent ${agentId}`,
        encodeFunctionData({ ...registryCall, functionName: "transferOperator", args: [agentId, to ?? zeroAddress] }),
      ),
    acceptOperator: (agentId) =>
      toRegistry(
        `Take over agent ${agentId}`,
        encodeFunctionData({ ...registryCall, functionName: "acceptOperator", args: [agentId] }),
      ),
    setEndpoint: (agentId, endpoint) => {
      const args = [agentId, endpoint.join(",")] as const;
      return toRegistry(
        `Set the endpoint of agent ${agentId}`,
        encodeFunctionData({ ...registryCall, functionName: "setEndpoint", args }),
      );
    },
    setModel: (agentId, model) =>
      toRegistry(
        `Set the model of agent ${agentId}`,
        encodeFunctionData({ ...registryCall, functionName: "setModel", args: [agentId, model] }),
      ),
    slashOverturned: async (request, rounds, overturn) => {
      const receipt = await sender.send(overturnCall(await readSlasher(connection), request, rounds, overturn));
      return { losses: lossesIn(receipt, registry), receipt: toReceipt(receipt) };
    },
    ...createRewardActions(account, toRegistry),
    ...createOracleActions(connection, sender),
  };
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

function registeredId({ logs }: TransactionReceipt, registry: Address): AgentId {
  const own = logs.filter(({ address }) => lower(address) === registry);
  const [event] = parseEventLogs({ ...registryCall, eventName: "AgentRegistered", logs: own });
  if (event === undefined) throw missingEvent("AgentRegistered");
  return event.args.agentId as AgentId;
}
