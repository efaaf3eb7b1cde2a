import type { PublicClient, WalletClient } from "viem";
import type { Connection } from "../../agents/adapters/chain/connection.ts";
import { readOutcome, type ProvenOutcome } from "../../agents/adapters/chain/outcome.ts";
import { lower } from "../../agents/adapters/chain/decode.ts";
import { readBond, readDrawableAgents, readQuote } from "../../agents/adapters/chain/prices.ts";
import { chainReaderOf, readRequestState } from "../../agents/adapters/chain/reader.ts";
import { readTerms, type ChainTerms, type Holdings, type Subscription } from "../../agents/adapters/chain/terms.ts";
import { ConclaveError as CoreError } from "../../agents/core/errors.ts";
import type { RequestState } from "../../agents/core/request/events.ts";
import { awaitedOf, isFinal, lastRound, progressOf, type Progress } from "../../agents/core/request/progress.ts";
import { agentsNeeded } from "../../agents/core/request/rounds.ts";
import type { Address, AgentId, Currency, Request, RequestId, Round } from "../../agents/core/types.ts";
import type { AgentRecord, ChainReader, OperatorActions, Receipt, StakePosition } from "../../agents/ports/chain.ts";
import type { AgentHistory, RequestMoney } from "../../agents/ports/history.ts";
import { connectionOf, type ConclaveDeployment } from "./connection.ts";
import type { FaultsOptions, FoundFaults } from "./faults.ts";
import { signingWallet, type SigningWallet } from "./account.ts";
import { requireArguments, type Kinds } from "./arguments.ts";
import { guarded, toSdkError } from "./errors.ts";
import {
  cursorOfAsk,
  followRequest,
  timed,
  type FollowOptions,
  type RequestProgress,
  type RequestUpdate,
} from "./follow.ts";
import { readAgentHistory, readHistory, readMoney, type HistoryOptions, type HistoryPage } from "./history.ts";
import { ACTIONS, ARGUMENTS, CONFIG } from "./signatures.ts";
import { requireQuestion, termsOf, type AskedTerms } from "./terms.ts";
import type { TakesPlain } from "./unbranded.ts";
import type { OnSent } from "./wallet.ts";

export interface ConclaveConfig {
  /** Reads the chain. */
  readonly publicClient: PublicClient;
  /** Signs and sends, with an account; reading needs none. */
  readonly walletClient?: WalletClient | undefined;
  readonly deployment: ConclaveDeployment;
  /** A subgraph of the deployment, for the history. Its answers are not proven. */
  readonly subgraphUrl?: string;
}

export interface Ask extends AskedTerms {
  readonly question: string;
  /** What answers must quote, at most four: `https://` pages and values, `eip155:` calls, and CIDs of documents (docs/asking.md). */
  readonly sources?: readonly string[];
  /** The subscription that pays; without it the account pays now. */
  readonly subscriptionId?: number;
  /**
   * Hears of the transaction that asks as soon as the wallet has sent it. A page that keeps the hash hands it to `asked` after a reload. It
   * must not throw: the question is on its way.
   */
  readonly onSent?: (transactionHash: `0x${string}`) => void;
}

export interface Asked {
  readonly requestId: bigint;
  /** What was paid, in the smallest unit of the currency. */
  readonly fee: bigint;
  readonly receipt: Receipt;
  /** Hand this to `follow` as `from`. */
  readonly cursor: string;
}

export interface Quote {
  /** The least fee, in the smallest unit of the currency. */
  readonly fee: bigint;
  readonly currency: Currency;
  /** How to show it: the token's symbol and decimals, or those of the chain's coin. */
  readonly symbol: string;
  readonly decimals: number;
  /** Agents that the first committee and those of all appeals need. Where fewer can be drawn, the contract refuses the request (`TooFewAgents`). */
  readonly agentsNeeded: number;
  /** Agents that can be drawn in the running epoch. */
  readonly drawableAgents: number;
}

/** A request as the chain has it now. */
export interface RequestReading extends RequestProgress {
  readonly state: RequestState;
  /** What the settlement contract proves; null while the request is not final, and if it was refunded. */
  readonly outcome: ProvenOutcome | null;
}

/** Everything that an account does with its own money: at the oracle, and with stake. */
export type ConclaveActions = TakesPlain<
  Omit<OperatorActions, "request" | "appeal" | "cancel" | "storeOutcome" | "slashOverturned">
>;

/** A deployment of Conclave. Everything rejects with a ConclaveError, or with the reason of an aborted signal. */
export interface Conclave {
  /** Returns what a request with these terms costs at least. */
  quote(terms: AskedTerms, signal?: AbortSignal): Promise<Quote>;
  /** Asks, and pays the quote where no fee is named: in tokens, which are approved first, in coins, or from a subscription. */
  ask(request: Ask): Promise<Asked>;
  /**
   * Returns what `ask` does, for a transaction that was sent before the page was loaded again: it waits until that is mined. Rejects with
   * CHAIN_TIMEOUT after three minutes; it can be called again.
   */
  asked(transactionHash: `0x${string}`, signal?: AbortSignal): Promise<Asked>;
  /** Yields every state of a request until it is final. */
  follow(requestId: bigint, options?: FollowOptions): AsyncGenerator<RequestUpdate, void, void>;
  read(requestId: bigint, signal?: AbortSignal): Promise<RequestReading>;
  history(options?: HistoryOptions): Promise<HistoryPage>;
  /** Returns who was slashed, for what, and what it cost: from the subgraph, or from the latest blocks of the chain. */
  faults(options?: FaultsOptions): Promise<FoundFaults>;
  /**
   * What happened to an agent, with the newest `limit` entries of each list, 1 to 100: only a subgraph knows. Null without a subgraph, and
   * for an agent that it does not know.
   */
  agentHistory(agentId: number, limit: number, signal?: AbortSignal): Promise<AgentHistory | null>;
  /** Who was paid what for a request: only a subgraph knows. Null without a subgraph, and for a request that it does not know. */
  money(requestId: bigint, signal?: AbortSignal): Promise<RequestMoney | null>;
  /** Returns what an appeal against the standing decision costs, in the request's currency. */
  appealBond(requestId: bigint, signal?: AbortSignal): Promise<bigint>;
  /** Calls a larger committee, and pays the bond. With `mostBond` it rejects where the bond is higher, e.g. since another decision stands. */
  appeal(requestId: bigint, mostBond?: bigint): Promise<Receipt>;
  /** Takes a request of this account back, while nobody can know its committee. */
  cancel(requestId: bigint): Promise<Receipt>;
  agents(signal?: AbortSignal): Promise<readonly AgentRecord[]>;
  /** Returns what an account has staked for an agent. */
  position(agentId: number, account: `0x${string}`, signal?: AbortSignal): Promise<StakePosition>;
  /** Returns what an account has earned with an agent and not claimed yet. */
  rewards(agentId: number, account: `0x${string}`, signal?: AbortSignal): Promise<Readonly<Record<Currency, bigint>>>;
  /** Returns an account's coins, stake tokens and credit at the oracle. */
  holdings(account: `0x${string}`, signal?: AbortSignal): Promise<Holdings>;
  subscription(subscriptionId: number, signal?: AbortSignal): Promise<Subscription | null>;
  /** Returns what the contracts fix for everybody: the tokens, the bounds of a stake, the unbonding delay. */
  terms(): Promise<Omit<ChainTerms, Functions<ChainTerms>>>;
  /** Throws WALLET_MISSING without a wallet. */
  readonly actions: ConclaveActions;
}

type Functions<T> = { [Key in keyof T]: T[Key] extends (...args: never[]) => unknown ? Key : never }[keyof T];

const COIN = { symbol: "ETH", decimals: 18 };
/** Agents are found by a scan of the chain; below this depth no block is read twice. */
const READER = { finalityDepth: 64, pollIntervalMs: 4_000 };

/** What all functions of one deployment share. */
interface Context {
  readonly config: ConclaveConfig;
  readonly connection: Connection;
  readonly terms: () => Promise<ChainTerms>;
  readonly reader: () => Promise<ChainReader>;
  /** Throws WALLET_MISSING. */
  readonly wallet: () => SigningWallet;
  /** Rejects with WALLET_MISSING. */
  readonly actions: (onSent?: OnSent) => Promise<OperatorActions>;
  readonly progress: (requestId: bigint, signal?: AbortSignal) => Promise<Progress>;
}

/** Opens a deployment. Sends nothing: the first call checks the client's chain and the addresses. Throws USAGE. */
export function createConclave(config: ConclaveConfig): Conclave {
  requireArguments({ config: CONFIG }, [config]);
  const context = createContext(config);
  return {
    ...asking(context),
    ...reading(context),
    ...staking(context),
    get actions(): ConclaveActions {
      return guardedActions(context);
    },
  };
}

function createContext(config: ConclaveConfig): Context {
  const connection = connectionOf(config.publicClient, config.deployment);
  const reader = remembered(() => chainReaderOf(connection, READER));
  const wallet = (): SigningWallet => signingWallet(config.walletClient);
  return {
    config,
    connection,
    reader,
    terms: remembered(() => readTerms(connection)),
    wallet,
    actions: async (onSent = () => undefined) => {
      const signing = wallet();
      // Loaded when it is used: whoever only reads does without.
      const { walletActions } = await import("./wallet.ts");
      return walletActions(connection, signing, onSent);
    },
    progress: async (requestId, signal) => readProgress(await reader(), requestId as RequestId, signal),
  };
}

function asking({
  config: { publicClient },
  connection,
  ...context
}: Context): Pick<Conclave, "quote" | "ask" | "asked" | "appealBond" | "appeal" | "cancel"> {
  return {
    quote: taking(ARGUMENTS.quote, async (asked, signal) => {
      const terms = termsOf(asked);
      // First, since it refuses what cannot be packed before it asks the node.
      const fee = await readQuote(connection, terms, signal);
      const drawableAgents = await readDrawableAgents(connection, signal);
      const { currency } = terms;
      const { symbol, decimals } =
        currency === "token" ? (await context.terms()).feeToken : (publicClient.chain?.nativeCurrency ?? COIN);
      return { fee, currency, symbol, decimals, agentsNeeded: agentsNeeded(terms), drawableAgents };
    }),
    ask: taking(ARGUMENTS.ask, async ({ question: text, sources = [], subscriptionId, onSent, ...asked }) => {
      requireQuestion(text);
      // Loaded when it is used: it brings the grammar of sources.
      const question = sources.length === 0 ? text : (await import("./sources.ts")).questionWith(text, sources);
      requireQuestion(question);
      const account = await context.actions((call, hash) => {
        // An approval goes to the token.
        if (call.to === connection.domain.oracle) onSent?.(hash);
      });
      const terms = termsOf(asked);
      // Loaded when it is used: it brings the protocols, which alone know what they refuse.
      const { requireTakers } = await import("./takers.ts");
      requireTakers(terms, question);
      const fee = asked.fee ?? (await readQuote(connection, terms));
      const { requestId, receipt } = await account.request({ ...terms, fee }, question, subscriptionId);
      return { requestId, fee, receipt, cursor: cursorOfAsk(receipt) };
    }),
    asked: taking(ARGUMENTS.asked, async (transactionHash, signal) => {
      const { readAsked } = await import("./asked.ts");
      const asked = await readAsked(connection, transactionHash, signal);
      return { ...asked, cursor: cursorOfAsk(asked.receipt) };
    }),
    appealBond: taking(ARGUMENTS.appealBond, async (requestId, signal) => {
      const progress = await context.progress(requestId, signal);
      return readBond(connection, progress.request, requireProvisional(progress).round, signal);
    }),
    appeal: taking(ARGUMENTS.appeal, async (requestId, mostBond) => {
      const account = await context.actions();
      const progress = await context.progress(requestId);
      const last = requireProvisional(progress);
      if (mostBond !== undefined) await requireBond(connection, progress.request, last.round, mostBond);
      return account.appeal(progress.request, last);
    }),
    cancel: taking(ARGUMENTS.cancel, async (requestId) => {
      const account = await context.actions();
      const progress = await context.progress(requestId);
      const awaited = awaitedOf(progress);
      if (awaited !== null) return account.cancel(progress.request, awaited);
      throw new CoreError("CANCEL_IMPOSSIBLE", `Cancel request ${requestId}: it waits for no decision any more`, {
        field: "requestId",
      });
    }),
  };
}

function reading({
  config,
  connection,
  ...context
}: Context): Pick<Conclave, "follow" | "read" | "history" | "faults" | "agentHistory" | "money"> {
  const { publicClient, subgraphUrl } = config;
  return {
    follow: (requestId, options) =>
      guardedStream(() => {
        requireArguments(ARGUMENTS.follow, [requestId, options]);
        const { pollIntervalMs = publicClient.pollingInterval, ...rest } = options ?? {};
        return followRequest(connection, requestId as RequestId, rest, pollIntervalMs);
      }),
    read: taking(ARGUMENTS.read, async (requestId, signal) => {
      const progress = await context.progress(requestId, signal);
      const state = await readRequestState(connection, requestId as RequestId, signal);
      const last = lastRound(progress);
      const isProvable = last !== null && isFinal(progress);
      const outcome = isProvable ? await readOutcome(connection, progress.request, last, signal) : null;
      return { ...timed(progress), state, outcome };
    }),
    agentHistory: taking(ARGUMENTS.agentHistory, async (agentId, limit, signal) =>
      subgraphUrl === undefined ? null : readAgentHistory(connection, subgraphUrl, agentId, limit, signal),
    ),
    money: taking(ARGUMENTS.money, async (requestId, signal) =>
      subgraphUrl === undefined ? null : readMoney(connection, subgraphUrl, requestId, signal),
    ),
    history: taking(ARGUMENTS.history, async (options = {}) => readHistory(connection, subgraphUrl, options)),
    faults: taking(ARGUMENTS.faults, async (options = {}) =>
      (await import("./faults.ts")).readFaults(connection, subgraphUrl, options),
    ),
  };
}

function staking({
  reader,
  terms,
}: Context): Pick<Conclave, "agents" | "position" | "rewards" | "holdings" | "subscription" | "terms"> {
  return {
    agents: taking(ARGUMENTS.agents, async (signal) => (await reader()).agents(signal)),
    position: taking(ARGUMENTS.position, async (agentId, account, signal) =>
      (await terms()).position(agentId as AgentId, account as Address, signal),
    ),
    rewards: taking(ARGUMENTS.rewards, async (agentId, account, signal) =>
      (await terms()).rewards(agentId as AgentId, account as Address, signal),
    ),
    holdings: taking(ARGUMENTS.holdings, async (account, signal) =>
      (await terms()).holdings(account as Address, signal),
    ),
    subscription: taking(ARGUMENTS.subscription, async (subscriptionId, signal) =>
      (await terms()).subscription(subscriptionId, signal),
    ),
    terms: () => guarded(terms),
  };
}

type ActionName = Exclude<keyof ConclaveActions, "account">;

const ACTION_KINDS: Readonly<Record<ActionName, Kinds>> = ACTIONS;

/** Every action loads what it needs, and rejects with the SDK's errors. */
function guardedActions({ wallet, actions }: Context): ConclaveActions {
  const { account } = wallet();
  const act = (name: ActionName) =>
    taking(ACTION_KINDS[name], async (...args: unknown[]) => {
      const action = (await actions())[name] as (...args: unknown[]) => Promise<unknown>;
      return action(...args);
    });
  const named = (Object.keys(ACTION_KINDS) as ActionName[]).map((name) => [name, act(name)] as const);
  return { account: lower(account.address), ...Object.fromEntries(named) } as ConclaveActions;
}

/** Returns the action for arguments of these kinds alone, with the SDK's errors. */
function taking<Args extends readonly unknown[], T>(
  kinds: Kinds,
  action: (...args: Args) => Promise<T>,
): (...args: Args) => Promise<T> {
  return (...args) =>
    guarded(async () => {
      requireArguments(kinds, args);
      return action(...args);
    });
}

async function* guardedStream<T>(open: () => AsyncGenerator<T, void, void>): AsyncGenerator<T, void, void> {
  try {
    yield* open();
  } catch (error) {
    throw toSdkError(error);
  }
}

/** Runs an action once, and again after it has failed. */
function remembered<T>(action: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | null = null;
  return () => {
    running ??= action().catch((error: unknown) => {
      running = null;
      throw error;
    });
    return running;
  };
}

async function readProgress(reader: ChainReader, requestId: RequestId, signal?: AbortSignal): Promise<Progress> {
  const progress = progressOf(await reader.requestEvents(requestId, signal));
  if (progress !== null) return progress;
  throw new CoreError("REQUEST_UNKNOWN", `Read request ${requestId}: its question cannot be read from the chain`, {
    field: "requestId",
  });
}

/** Throws USAGE where an appeal costs more. */
async function requireBond(connection: Connection, request: Request, round: Round, most: bigint): Promise<void> {
  const bond = await readBond(connection, request, round);
  if (bond <= most) return;
  throw new CoreError("USAGE", `Appeal against request ${request.id}: the bond is ${bond}, more than ${most}`, {
    field: "mostBond",
    currency: request.terms.currency,
    bond: String(bond),
    most: String(most),
  });
}

function requireProvisional(progress: Progress): NonNullable<ReturnType<typeof lastRound>> {
  const last = lastRound(progress);
  if (last !== null && !isFinal(progress)) return last;
  const where = progress.stage.kind === "decided" ? "its decision is final" : `it is ${progress.stage.kind}`;
  throw new CoreError("APPEAL_IMPOSSIBLE", `Appeal against request ${progress.request.id}: ${where}`, {
    field: "requestId",
  });
}
