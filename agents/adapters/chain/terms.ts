import { createPublicClient, erc20Abi, http, zeroAddress, type PublicClient } from "viem";
import type { Address, AgentId, Currency, Request, Round, Terms } from "../../core/types.ts";
import type { DecidedRound } from "../../core/request/events.ts";
import type { Overturn } from "../../core/request/overturn.ts";
import type { EquivocationProof, StakePosition } from "../../ports/chain.ts";
import { agentRegistryAbi, decisionOracleAbi } from "@conclave/contracts/abi";
import { LAYOUTS } from "../../core/encoding/layouts.ts";
import { unpackWord } from "../../core/encoding/words.ts";
import type { SkillCounters } from "../../core/skill.ts";
import { readSeedWindow, type SeedWindow } from "./committee.ts";
import { connect, type ChainOptions, type Connection } from "./connection.ts";
import { lower } from "./decode.ts";
import { currencyCode } from "./encode.ts";
import { toChainError } from "./errors.ts";
import { isConsumedCall } from "./evidence.ts";
import { readOutcome, type ProvenOutcome } from "./outcome.ts";
import { overturnCall, overturnGas } from "./overturn.ts";
import { readToken, type Token } from "./token-unit.ts";
import { readAppealUnit, readBond, readDrawableAgents, readQuote } from "./prices.ts";

/** What the contracts fix for everybody, and what accounts hold. */
export interface ChainTerms {
  readonly stakeToken: Token;
  readonly feeToken: Token;
  readonly minStake: bigint;
  readonly maxStake: bigint;
  readonly unbondingDelaySeconds: number;
  /** Agents that can be drawn in the running epoch. */
  readonly drawableAgents: number;
  /** Returns how long a seed can be proven (SE8). */
  seedWindow(signal?: AbortSignal): Promise<SeedWindow>;
  holdings(account: Address, signal?: AbortSignal): Promise<Holdings>;
  /** Returns the smallest fee of a request with these terms, whatever fee they name. */
  quote(terms: Terms, signal?: AbortSignal): Promise<bigint>;
  /** Returns what a unit of pay of the committees that appeals call costs, by the terms with their fee. */
  appealUnit(terms: Terms, signal?: AbortSignal): Promise<bigint>;
  /** Returns what an appeal against a decision of this round costs, in the request's currency. */
  bond(request: Request, round: Round, signal?: AbortSignal): Promise<bigint>;
  /** Returns the subscription; null if the number is unknown. */
  subscription(subscriptionId: number, signal?: AbortSignal): Promise<Subscription | null>;
  /** Returns how much the account may still spend from the subscription: 0 = nothing, or `UNBOUNDED`. */
  allowance(
    subscriptionId: number,
    account: Address,
    signal?: AbortSignal,
  ): Promise<Readonly<Record<Currency, bigint>>>;
  /** Returns what the registry owes an account for evidence, in stake tokens. */
  reward(account: Address, signal?: AbortSignal): Promise<bigint>;
  /** True if the agent was slashed for the attempt that the proof is about. */
  isConsumed(proof: EquivocationProof, signal?: AbortSignal): Promise<boolean>;
  /** Proves the outcome of a final request by its last decision. Throws the revert while that is not final. */
  outcome(request: Request, last: DecidedRound, signal?: AbortSignal): Promise<ProvenOutcome>;
  /** Returns the gas of the call that slashes the seats that signed an overturned decision. Throws its revert. */
  overturnGas(
    request: Request,
    rounds: readonly DecidedRound[],
    overturn: Overturn,
    signal?: AbortSignal,
  ): Promise<bigint>;
  /** Returns how an agent has served. */
  service(agentId: AgentId, signal?: AbortSignal): Promise<ServiceRecord>;
  /** Returns what an account has staked for an agent. */
  position(agentId: AgentId, account: Address, signal?: AbortSignal): Promise<StakePosition>;
  /** Returns what an account has earned with an agent and not claimed yet. */
  rewards(agentId: AgentId, account: Address, signal?: AbortSignal): Promise<Readonly<Record<Currency, bigint>>>;
}

interface ServiceRecord {
  /** Counted up to `PROVEN_SERVICES`. */
  readonly services: number;
  /** Seats missed in a row, up to `MAX_MISSES`. */
  readonly misses: number;
  /** What contested decisions taught about the agent. */
  readonly learned: SkillCounters;
}

export interface Subscription {
  readonly owner: Address;
  /** The account that it is offered to. */
  readonly pendingOwner: Address | null;
  readonly balance: Readonly<Record<Currency, bigint>>;
  /** Requests paid from it so far. */
  readonly requests: number;
}

export interface Holdings {
  /** Balances in the chain's coin and in the stake token. */
  readonly coin: bigint;
  readonly stakeToken: bigint;
  /** What the oracle owes the account: pay, refunds, returned bonds. */
  readonly credit: Readonly<Record<Currency, bigint>>;
}

/** Reads the terms. Throws CHAIN_UNREACHABLE, CHAIN_WRONG_ID or CHAIN_NO_CONTRACT. */
export async function readChainTerms(options: ChainOptions, signal?: AbortSignal): Promise<ChainTerms> {
  return readTerms(await connect(options, signal), signal);
}

/** Reads the terms over a connection. Throws CHAIN_UNREACHABLE. */
export async function readTerms(connection: Connection, signal?: AbortSignal): Promise<ChainTerms> {
  const registry = { address: connection.registry, abi: agentRegistryAbi } as const;
  const oracle = { address: connection.domain.oracle, abi: decisionOracleAbi } as const;
  const [[stake, fee, minStake, maxStake, delay, slasher], drawableAgents] = await Promise.all([
    connection.call("Read the terms of the contracts", signal, (client) =>
      Promise.all([
        client.readContract({ ...registry, functionName: "stakeToken" }),
        client.readContract({ ...oracle, functionName: "feeToken" }),
        client.readContract({ ...registry, functionName: "minStake" }),
        client.readContract({ ...registry, functionName: "maxStake" }),
        client.readContract({ ...registry, functionName: "unbondingDelay" }),
        client.readContract({ ...registry, functionName: "slasher" }),
      ]),
    ),
    readDrawableAgents(connection, signal),
  ]);
  const stakeToken = await readToken(connection, lower(stake), signal);
  const feeToken = lower(fee) === stakeToken.address ? stakeToken : await readToken(connection, lower(fee), signal);
  return {
    stakeToken,
    feeToken,
    minStake,
    maxStake,
    unbondingDelaySeconds: delay,
    drawableAgents,
    seedWindow: (ended) => readSeedWindow(connection, ended),
    holdings: async (account, ended) => {
      const [coin, stakeHeld, token, native] = await connection.call(`Read what ${account} holds`, ended, (client) =>
        Promise.all([
          client.getBalance({ address: account }),
          client.readContract({
            address: stakeToken.address,
            abi: erc20Abi,
            functionName: "balanceOf",
            args: [account],
          }),
          client.readContract({ ...oracle, functionName: "creditOf", args: [account, currencyCode("token")] }),
          client.readContract({ ...oracle, functionName: "creditOf", args: [account, currencyCode("native")] }),
        ]),
      );
      return { coin, stakeToken: stakeHeld, credit: { token, native } };
    },
    subscription: (subscriptionId, ended) => readSubscription(connection, subscriptionId, ended),
    allowance: async (subscriptionId, account, ended) => {
      const word = await connection.call(`Read subscription ${subscriptionId}`, ended, (client) =>
        client.readContract({ ...oracle, functionName: "allowanceOf", args: [subscriptionId, account] }),
      );
      const { token, native } = unpackWord(LAYOUTS.balances, word);
      return { token, native };
    },
    quote: (asked, ended) => readQuote(connection, asked, ended),
    appealUnit: (asked, ended) => readAppealUnit(connection, asked, ended),
    bond: (asked, round, ended) => readBond(connection, asked, round, ended),
    reward: (account, ended) =>
      connection.call(`Read what ${account} is owed`, ended, (client) =>
        client.readContract({ ...registry, functionName: "owedTo", args: [account] }),
      ),
    isConsumed: (proof, ended) =>
      connection.call("Look for the evidence on the chain", ended, (client) =>
        client.readContract(isConsumedCall(lower(slasher), proof)),
      ),
    outcome: (asked, last, ended) => readOutcome(connection, asked, last, ended),
    overturnGas: (asked, rounds, overturn, ended) =>
      overturnGas(connection, overturnCall(lower(slasher), asked, rounds, overturn), ended),
    service: (agentId, ended) => readService(connection, agentId, ended),
    position: (agentId, account, ended) =>
      connection.call(`Read the stake of ${account}`, ended, (client) =>
        client.readContract({ ...registry, functionName: "positionOf", args: [agentId, account] }),
      ),
    rewards: (agentId, account, ended) => readRewards(connection, agentId, account, ended),
  };
}

async function readRewards(
  connection: Connection,
  agentId: AgentId,
  account: Address,
  signal?: AbortSignal,
): Promise<Readonly<Record<Currency, bigint>>> {
  const registry = { address: connection.registry, abi: agentRegistryAbi } as const;
  const rewardsIn = (client: PublicClient, currency: Currency): Promise<bigint> =>
    client.readContract({ ...registry, functionName: "rewardsOf", args: [agentId, account, currencyCode(currency)] });
  const [token, native] = await connection.call(`Read the rewards of ${account}`, signal, (client) =>
    Promise.all([rewardsIn(client, "token"), rewardsIn(client, "native")]),
  );
  return { token, native };
}

async function readService(connection: Connection, agentId: AgentId, signal?: AbortSignal): Promise<ServiceRecord> {
  const registry = { address: connection.registry, abi: agentRegistryAbi } as const;
  const { service, misses, contested, agreed } = await connection.call(
    `Read the services of agent ${agentId}`,
    signal,
    (client) => client.readContract({ ...registry, functionName: "getAgent", args: [agentId] }),
  );
  return { services: service, misses, learned: { contested, agreed } };
}

async function readSubscription(
  connection: Connection,
  subscriptionId: number,
  signal?: AbortSignal,
): Promise<Subscription | null> {
  const oracle = { address: connection.domain.oracle, abi: decisionOracleAbi } as const;
  const [owner, pending, token, native, requests] = await connection.call(
    `Read subscription ${subscriptionId}`,
    signal,
    (client) => client.readContract({ ...oracle, functionName: "subscriptionOf", args: [subscriptionId] }),
  );
  if (owner === zeroAddress) return null;
  const pendingOwner = pending === zeroAddress ? null : lower(pending);
  return { owner: lower(owner), pendingOwner, balance: { token, native }, requests };
}

/** Reads which chain a node serves. Throws CHAIN_UNREACHABLE. */
export async function readChainId(rpcUrl: string, signal: AbortSignal): Promise<number> {
  const fetchFn: typeof fetch = (input, init) => fetch(input, { ...init, signal });
  try {
    return await createPublicClient({ transport: http(rpcUrl, { fetchFn, retryCount: 1 }) }).getChainId();
  } catch (error) {
    signal.throwIfAborted();
    throw toChainError(error, "Read the chain id", rpcUrl);
  }
}
