import { ConclaveError } from "../../../agents/core/errors.ts";
import type { Address, Request, RequestId } from "../../../agents/core/types.ts";
import type { RequestState } from "../../../agents/core/request/events.ts";
import type {
  ChainReader,
  ChainWriter,
  CertifiedDecision,
  FinalRequest,
  BatchResult,
  Receipt,
  TransactionReader,
} from "../../../agents/ports/chain.ts";
import {
  isAttemptOver,
  isCommitted,
  isDelivered,
  isFinalState,
  isNoMoreProvisional,
  isRefunded,
} from "../../../agents/core/request/state.ts";
import { createLedger, type Ledger } from "./ledger.ts";
import type { Block, LedgerOptions } from "./state.ts";

/** One chain that its readers and writers share; blocks are made by transactions, `mine` and `passTime`, never by real time. */
export interface MemoryChain extends Omit<
  Ledger,
  | "commit"
  | "commitAll"
  | "finalize"
  | "retryCallback"
  | "settle"
  | "settleAll"
  | "replace"
  | "refund"
  | "fallBack"
  | "wake"
  | "submitEvidence"
  | "certificateIn"
> {
  reader(options?: { readonly finalityDepth?: number }): ChainReader;
  writer(account: Address): ChainWriter;
  transactions(): Pick<TransactionReader, "certificate">;
  /** While false every call fails with CHAIN_UNREACHABLE. */
  setReachable(reachable: boolean): void;
}

const defaults: LedgerOptions = {
  domain: { chainId: 31_337, oracle: `0x${"0c".repeat(20)}` as Address },
  genesisTimestamp: 1_800_000_000,
  blockSeconds: 1,
  onDecision: () => true,
};

export function createMemoryChain(options: Partial<LedgerOptions> = {}): MemoryChain {
  const ledger = createLedger({ ...defaults, ...options });
  const waiting = new Set<() => void>();
  const wake = (): void => {
    for (const resume of waiting) resume();
  };
  let reachable = true;
  /** Does what a node does for a call: refuses while it is down, else acts and tells the followers of a new block. */
  const serve = <T>(signal: AbortSignal | undefined, action: () => T): Promise<T> =>
    new Promise((resolve) => {
      signal?.throwIfAborted();
      if (!reachable) throw new ConclaveError("CHAIN_UNREACHABLE", "Call the memory chain: it is switched off");
      const { length } = ledger.blocks;
      resolve(action());
      if (ledger.blocks.length !== length) wake();
    });
  const mine: Ledger["mine"] = (count) => {
    ledger.mine(count);
    wake();
  };

  return {
    ...ledger,
    mine,
    passTime: (seconds) => andWake(ledger.passTime(seconds), wake),
    reorganize: (from) => andWake(ledger.reorganize(from), wake),
    setReachable: (value) => {
      reachable = value;
      wake();
    },
    addAgent: (agent) => andWake(ledger.addAgent(agent), wake),
    ask: (consumer, terms, question) => andWake(ledger.ask(consumer, terms, question), wake),
    appeal: (appellant, request, last) => andWake(ledger.appeal(appellant, request, last), wake),
    reader: ({ finalityDepth = 0 } = {}) => createReader(ledger, serve, waiting, finalityDepth),
    writer: (account) => createWriter(ledger, serve, account),
    transactions: () => ({
      certificate: (hash, requestId, signal) => serve(signal, () => ledger.certificateIn(hash, requestId)),
    }),
  };
}

type Serve = <T>(signal: AbortSignal | undefined, action: () => T) => Promise<T>;

function andWake<T>(value: T, wake: () => void): T {
  wake();
  return value;
}

function createReader(ledger: Ledger, serve: Serve, waiting: Set<() => void>, finalityDepth: number): ChainReader {
  return {
    domain: ledger.domain,
    head: (signal) =>
      serve(signal, () => ({
        number: BigInt(ledger.blocks.length - 1),
        timestamp: ledger.blocks.at(-1)?.timestamp ?? 0,
        oldestSeed: ledger.oldestSeed(),
      })),
    follow: (...parameters) => follow(ledger, serve, waiting, finalityDepth, parameters),
    requestEvents: (requestId, signal) =>
      serve(signal, () => {
        const events = ledger.blocks
          .flatMap((block) => block.events)
          .filter(
            (event) =>
              (event.kind === "requested" ? event.request.id : "requestId" in event ? event.requestId : null) ===
              requestId,
          );
        if (events.length > 0) return events;
        throw new ConclaveError("REQUEST_UNKNOWN", `Find request ${requestId}: the ledger has none of that number`, {
          requestId: String(requestId),
        });
      }),
    requestState: (requestId, signal) => serve(signal, () => stateOf(ledger, requestId)),
    committee: (request, awaited, signal) => serve(signal, () => ledger.committeeOf(request, awaited)),
    agents: (signal) => serve(signal, () => [...ledger.agents.values()]),
    agentBySigner: (signer, signal) =>
      serve(signal, () => ledger.agents.values().find((agent) => agent.signer === signer) ?? null),
  };
}

function stateOf(ledger: Ledger, requestId: RequestId): RequestState {
  const entry = ledger.requests.get(requestId);
  if (entry === undefined)
    return { status: "none", attempt: 0, provisional: false, callbackPending: false, settled: false };
  const { status, attempt, provisional, callbackPending, settled } = entry;
  return { status, attempt, provisional, callbackPending, settled };
}

async function follow(
  ledger: Ledger,
  serve: Serve,
  waiting: Set<() => void>,
  finalityDepth: number,
  [from, onBatch, signal, onTrouble]: Parameters<ChainReader["follow"]>,
): Promise<void> {
  let next = from === null ? 0 : Number(from.blockNumber) + 1;
  if (from !== null && ledger.blocks[Number(from.blockNumber)]?.hash !== from.blockHash) {
    throw new ConclaveError("CHAIN_REORGED", `Follow the chain: block ${from.blockNumber} is not part of it`, {
      blockNumber: String(from.blockNumber),
    });
  }
  const delivered: Block[] = [];
  // A reorganization keeps the transactions of each block, so a block's events are delivered once.
  const seen = new Set<bigint>();
  const rewind = (): void => {
    while (ledger.blocks[Number(delivered.at(-1)?.number)]?.hash !== delivered.at(-1)?.hash) delivered.pop();
    next = Number(delivered.at(-1)?.number ?? -1n) + 1;
    onTrouble?.(new ConclaveError("CHAIN_REORGED", `Follow the chain: blocks from ${next} on were replaced`));
  };
  let down = false;
  while (!signal.aborted) {
    // The follower registers before it looks, so that it misses no block.
    const { changed, forget } = nextChange(waiting, signal);
    const block = await serve(signal, () => {
      const last = delivered.at(-1);
      if (last !== undefined && ledger.blocks[Number(last.number)]?.hash !== last.hash) rewind();
      return next < ledger.blocks.length - finalityDepth ? ledger.blocks[next] : undefined;
    }).catch((error: unknown) => {
      if (!signal.aborted && !down) onTrouble?.(error as Error);
      down = true;
      return null;
    });
    if (block !== null) down = false;
    if (block === null || block === undefined) {
      await changed;
      continue;
    }
    forget();
    next += 1;
    const events = seen.has(block.number) ? [] : block.events;
    seen.add(block.number);
    delivered.push(block);
    await onBatch({ events, from: block.number, cursor: { blockNumber: block.number, blockHash: block.hash } });
  }
}

function nextChange(
  waiting: Set<() => void>,
  signal: AbortSignal,
): { readonly changed: Promise<void>; readonly forget: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const forget = (): void => {
    waiting.delete(forget);
    signal.removeEventListener("abort", forget);
    resolve();
  };
  waiting.add(forget);
  signal.addEventListener("abort", forget);
  return { changed: promise, forget };
}

function createWriter(ledger: Ledger, serve: Serve, account: Address): ChainWriter {
  const submit = (
    { id }: Request,
    isDone: (state: RequestState) => boolean,
    action: () => Receipt,
    signal: AbortSignal | undefined,
  ): Promise<Receipt | "already"> => serve(signal, () => (isDone(stateOf(ledger, id)) ? "already" : action()));
  return {
    account,
    commit: (request, awaited, certificate, signal) => {
      const isDone = (state: RequestState): boolean => isCommitted(state, certificate.decision.attempt);
      const one = { request, awaited, certificate };
      return submit(request, isDone, () => ledger.commit(one, account), signal);
    },
    commitAll: (commits, signal) => serve(signal, () => commitEach(ledger, commits, account)),
    finalize: (request, last, signal) => {
      const isDone = (state: RequestState): boolean => isNoMoreProvisional(state, last.decision.attempt);
      return submit(request, isDone, () => ledger.finalize(request, last), signal);
    },
    retryCallback: (request, last, signal) => {
      return submit(request, isDelivered, () => ledger.retryCallback(request, last), signal);
    },
    settle: (request, rounds, signal) =>
      submit(
        request,
        ({ settled }) => settled,
        () => ledger.settle(request, rounds),
        signal,
      ),
    settleAll: (requests, signal) => serve(signal, () => settleEach(ledger, requests)),
    replace: (request, awaited, signal) => {
      const isDone = (state: RequestState): boolean => isAttemptOver(state, awaited.attempt);
      return submit(request, isDone, () => ledger.replace(request, awaited), signal);
    },
    refund: (request, awaited, signal) => submit(request, isRefunded, () => ledger.refund(request, awaited), signal),
    fallBack: (request, awaited, signal) =>
      submit(request, isFinalState, () => ledger.fallBack(request, awaited), signal),
    wake: (agentId, signal) =>
      serve(signal, () => (ledger.agents.get(agentId)?.asleep === true ? ledger.wake(agentId) : "already")),
    submitEvidence: async (proof, readRecord, signal) => {
      if (await serve(signal, () => ledger.isConsumed(proof))) return "already";
      const record = await readRecord();
      return serve(signal, () =>
        ledger.isConsumed(proof) ? "already" : ledger.submitEvidence(proof, record, account),
      );
    },
  };
}

function settleEach(ledger: Ledger, requests: readonly FinalRequest[]): readonly BatchResult[] {
  const open = requests.filter(({ request }) => !stateOf(ledger, request.id).settled);
  const results = open.length === 0 ? [] : ledger.settleAll(open);
  return requests.map((one) => results[open.indexOf(one)] ?? "already");
}

function commitEach(ledger: Ledger, commits: readonly CertifiedDecision[], account: Address): readonly BatchResult[] {
  const isOpen = ({ request, certificate }: CertifiedDecision): boolean =>
    !isCommitted(stateOf(ledger, request.id), certificate.decision.attempt);
  const open = commits.filter(isOpen);
  const results = open.length === 0 ? [] : ledger.commitAll(open, account);
  return commits.map((one) => results[open.indexOf(one)] ?? "already");
}
