import { cidString } from "../../core/encoding/cid.ts";
import { ConclaveError, messageOf } from "../../core/errors.ts";
import { isAttemptOver, isAwaited } from "../../core/request/state.ts";
import { canonicalRanks } from "../../core/seat/order.ts";
import type { AwaitedRound } from "../../core/request/events.ts";
import type { Attempt, Certificate, SeatIndex } from "../../core/types.ts";
import type { CertifiedDecision, ChainReader, ChainWriter, BatchResult, Receipt } from "../../ports/chain.ts";
import { sleep, type Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { RelayEnd } from "../../ports/metrics.ts";
import type { Network } from "../../ports/network.ts";
import { announcementTopic, encodeAnnouncement } from "../announcement.ts";
import type { AgentTiming } from "../config.ts";
import { isPaidRefusal, MOST_PAID_REFUSALS } from "./paid.ts";

/** Brings the certificates of this agent's seats on chain, and announces the transcripts of those that it committed. */
export interface Relayer {
  /** Never rejects: what fails is logged. */
  certified(attempt: Attempt, awaited: AwaitedRound, self: SeatIndex, certificate: Certificate): Promise<void>;
  /**
   * SE27: the chain has replaced blocks whose events were handled. Submits again each of the latest certificates whose attempt waits for
   * its decision. A state that cannot be read is read again by the next call.
   */
  reorganized(): void;
  counts(): Readonly<Record<RelayEnd, number>>;
}

export interface RelayerPorts extends Omit<RelayPorts, "committer" | "onRefused"> {
  readonly writer: ChainWriter;
  readonly network: Pick<Network, "announce">;
}

/** Most certificates that a relayer keeps after their commit, for a reorganization that takes it back. */
const MAX_KEPT = 64;

export function createRelayer(
  ports: RelayerPorts,
  { relayBatchMs, relayStaggerMs }: Pick<AgentTiming, "relayBatchMs" | "relayStaggerMs">,
  lifetime: AbortSignal,
): Relayer {
  const { chain, log, network } = ports;
  const counts: Record<RelayEnd, number> = { committed: 0, already: 0, refused: 0 };
  const relayPorts = {
    ...ports,
    committer: createCommitter(ports, relayBatchMs, lifetime),
    onRefused: () => void counts.refused++,
  };
  /** The latest certificates, the oldest first. */
  const kept = new Set<Certified>();

  const bring = async (one: Certified): Promise<void> => {
    const { attempt, awaited, self, certificate } = one;
    const requestId = attempt.request.id.toString();
    one.busy = true;
    try {
      const receipt = await relay(relayPorts, attempt, awaited, self, certificate, relayStaggerMs, lifetime);
      counts[receipt === "already" ? "already" : "committed"]++;
      // Every agent of the network gets each announcement: one for a decision is enough.
      if (receipt === "already") return;
      log.info({ requestId, transaction: receipt.transactionHash, gas: receipt.gasUsed.toString() }, "committed");
      // Not before the chain has the decision: whoever knows the root can read the decision, and act on it first.
      await network
        .announce(announcementTopic(chain.domain), encodeAnnouncement(attempt, certificate.decision.transcript))
        .catch((error: unknown) => log.debug({ error: messageOf(error) }, "announcement failed"));
    } catch (error) {
      kept.delete(one);
      if (!lifetime.aborted) log.error({ requestId, error: messageOf(error) }, "gave up relaying");
    } finally {
      one.busy = false;
    }
  };

  const bringIfTakenBack = async (one: Certified): Promise<void> => {
    const { request, attempt } = one.attempt;
    one.busy = true;
    const state = await chain.requestState(request.id, lifetime).catch(() => null);
    one.busy = false;
    if (state === null || !isAwaited(state, attempt)) return;
    log.warn(
      { requestId: request.id.toString(), attempt },
      "a reorganization took the decision back; submitting it again",
    );
    await bring(one);
  };

  return {
    async certified(attempt, awaited, self, certificate) {
      const { status, answer, round: ballot, transcript } = certificate.decision;
      const requestId = attempt.request.id.toString();
      log.info({ requestId, status, answer, round: ballot, transcript: cidString(transcript) }, "certified");
      const one = { attempt, awaited, self, certificate, busy: false };
      kept.add(one);
      const [oldest] = kept;
      if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest);
      await bring(one);
    },
    reorganized() {
      for (const one of kept) if (!one.busy) void bringIfTakenBack(one);
    },
    counts: () => ({ ...counts }),
  };
}

interface Certified {
  readonly attempt: Attempt;
  readonly awaited: AwaitedRound;
  readonly self: SeatIndex;
  readonly certificate: Certificate;
  /** True while it is being brought, or its state is being read. */
  busy: boolean;
}

export interface RelayPorts {
  readonly chain: ChainReader;
  readonly committer: Committer;
  readonly clock: Clock;
  readonly log: Log;
  /** Runs after each failed try. */
  readonly onRefused?: () => void;
}

/**
 * SE26: errors of the oracle with which it refuses a certificate for good, on the chain as it is: the period or the seed is over, the
 * round or the draw is another one, or the certificate itself is bad. All others can pass, e.g. while a node is behind.
 */
export const REFUSED_FOR_GOOD: ReadonlySet<unknown> = new Set([
  "DeadlinePassed",
  "SeedExpired",
  "NoBeacon",
  "MalformedHeader",
  "WitnessMismatch",
  "InvalidSignature",
  "InvalidDecision",
  "QuorumNotReached",
]);
/** SE26: turns of a seat in a row in which the oracle has to refuse for good: one node may be on another fork, or behind. */
const REFUSALS_IN_A_ROW = 3;

/**
 * Submits a certificate once, unless the oracle refuses it for good (SE26) or the chain has no such attempt; then it throws why. The seats take turns in
 * canonical order, one stagger apart; a seat whose turn comes first checks whether the attempt has its decision. The chain accepts one
 * decision per attempt, so a lost confirmation or two relayers at once cost at most a reverted transaction.
 */
export async function relay(
  ports: RelayPorts,
  attempt: Attempt,
  awaited: AwaitedRound,
  self: SeatIndex,
  certificate: Certificate,
  staggerMs: number,
  signal: AbortSignal,
): Promise<Receipt | "already"> {
  const { request, committee } = attempt;
  const rank = canonicalRanks(attempt)[self] as number;
  await sleep(ports.clock, rank * staggerMs, signal);
  for (let [refusals, paid] = [0, 0]; ;) {
    signal.throwIfAborted();
    try {
      const state = await ports.chain.requestState(request.id, signal);
      if (isAttemptOver(state, attempt.attempt)) return "already";
      if (!isAwaited(state, attempt.attempt)) throw notShown(attempt);
      return await ports.committer.commit({ request, awaited, certificate });
    } catch (error) {
      signal.throwIfAborted();
      ports.onRefused?.();
      refusals = isRefusal(error) ? refusals + 1 : 0;
      if (isPaidRefusal(error)) paid++;
      if (refusals === REFUSALS_IN_A_ROW || paid === MOST_PAID_REFUSALS) throw error;
      ports.log.warn(
        { requestId: request.id.toString(), error: messageOf(error) },
        "could not commit; trying again in this seat's next turn",
      );
      await sleep(ports.clock, committee.length * staggerMs, signal);
    }
  }
}

function isRefusal(error: unknown): boolean {
  if (!(error instanceof ConclaveError)) return false;
  return error.code === "REQUEST_UNKNOWN" || REFUSED_FOR_GOOD.has(error.data["error"]);
}

function notShown({ request, attempt }: Attempt): ConclaveError {
  const requestId = request.id.toString();
  return new ConclaveError(
    "REQUEST_UNKNOWN",
    `Relay: the node shows no attempt ${attempt} of request ${requestId}: it is behind, or a reorganization took the attempt back`,
    { requestId, attempt },
  );
}

/** Submits the decisions of all requests that are ready at the same time together. */
export interface Committer {
  /** Rejects with the reason why this commit failed, or with the lifetime's reason when that aborts. */
  commit(commit: CertifiedDecision): Promise<Receipt | "already">;
}

interface Waiting {
  readonly commit: CertifiedDecision;
  readonly settle: (result: BatchResult) => void;
  readonly fail: (error: unknown) => void;
}

/**
 * A batch holds the commits that arrived within the wait or while the batch before was being submitted. Under load this
 * delays nothing, since the transactions of one account go one after the other anyway.
 */
export function createCommitter(
  { writer, clock, log }: { readonly writer: ChainWriter; readonly clock: Clock; readonly log: Log },
  waitMs: number,
  lifetime: AbortSignal,
): Committer {
  let waiting: Waiting[] = [];
  let running = false;

  const submit = async (batch: readonly Waiting[]): Promise<void> => {
    const commits = batch.map(({ commit }) => commit);
    const results = await resultsOf(writer, commits, lifetime);
    for (const [index, { settle }] of batch.entries()) settle(results[index] as BatchResult);
    if (batch.length < 2) return;
    const failed = results.filter((result) => result instanceof ConclaveError).length;
    log.info({ commits: batch.length, failed }, "committed several decisions together");
  };
  const run = async (): Promise<void> => {
    running = true;
    let batch: readonly Waiting[] = [];
    try {
      await sleep(clock, waitMs, lifetime);
      while (waiting.length > 0) {
        batch = waiting;
        waiting = [];
        // A failure of the whole transaction fails only the commits of this batch.
        await submit(batch).catch((error: unknown) => batch.forEach(({ fail }) => fail(error)));
      }
    } catch (error) {
      for (const { fail } of waiting) fail(error);
      waiting = [];
    } finally {
      running = false;
    }
  };

  return {
    commit: (commit) =>
      new Promise((resolve, reject) => {
        const settle = (result: BatchResult): void =>
          result instanceof ConclaveError ? reject(result) : resolve(result);
        waiting.push({ commit, settle, fail: reject });
        if (!running) void run();
      }),
  };
}

async function resultsOf(
  writer: ChainWriter,
  commits: readonly CertifiedDecision[],
  signal: AbortSignal,
): Promise<readonly BatchResult[]> {
  const [only, ...others] = commits;
  if (only === undefined || others.length > 0) return writer.commitAll(commits, signal);
  const { request, awaited, certificate } = only;
  return [await writer.commit(request, awaited, certificate, signal)];
}
