import { ConclaveError, messageOf } from "../../core/errors.ts";
import { canonicalRanks } from "../../core/seat/order.ts";
import type { Attempt, DecisionConflict, Evidence, SeatIndex } from "../../core/types.ts";
import type { ChainReader, ChainWriter, EquivocationProof, TransactionReader } from "../../ports/chain.ts";
import { type Clock, sleep } from "../../ports/clock.ts";
import { faultOf, type EvidenceStore } from "../../ports/evidence.ts";
import type { Log } from "../../ports/log.ts";
import { persistently } from "../persist.ts";
import { type CommittedDecision } from "../../core/request/events.ts";
import { recordOf } from "../../core/request/progress.ts";
import { isAttemptOver } from "../../core/request/state.ts";
import { conflictsOnChain, decisionProof, messageProof } from "./proofs.ts";
import type { SignedBySeat } from "../seat/session.ts";

/** Reasons of the chain that another try does not change. */
const FUTILE: ReadonlySet<string> = new Set(["NothingToSlash", "KeyHasEnded"]);

export interface EvidencePorts {
  readonly chain: Pick<ChainReader, "requestState" | "requestEvents">;
  readonly writer: ChainWriter;
  readonly transactions: Pick<TransactionReader, "certificate">;
  readonly evidence: EvidenceStore;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Keeps one proof of equivocation per agent and attempt, and brings it to the chain. It submits the proof as soon as the
 * attempt is over, and not when the request is settled: the stake may be unbonding, and a request may never settle. The
 * chain takes it if the attempt has a decision (ST10), also while a later committee is at work. The seats take turns as
 * with certificates, so that only one pays.
 */
export interface EvidenceKeeper {
  /** Takes two messages that a seat signed for one slot. */
  found(attempt: Attempt, self: SeatIndex, evidence: Evidence): void;
  /** Takes two decisions that a seat signed in one ballot. */
  conflicting(attempt: Attempt, self: SeatIndex, conflict: DecisionConflict): void;
  /** Finds the seats that signed the decision on chain and another one held from the same ballot. */
  compare(attempt: Attempt, self: SeatIndex, held: readonly SignedBySeat[], committed: CommittedDecision): void;
  /** Submits the proofs that an earlier run kept; a proof that the chain knows already costs nothing. */
  resume(): Promise<void>;
}

const MOST_TRIES = 5;

export function createEvidenceKeeper(ports: EvidencePorts, staggerMs: number, lifetime: AbortSignal): EvidenceKeeper {
  const { chain, evidence, clock, log } = ports;
  const known = new Set<string>();

  /** Waits until the attempt is over: then it has its decision, or will never have one. Keepers end each attempt by its deadline. */
  const untilOver = async ({ request, slot }: EquivocationProof, turnMs: number): Promise<void> => {
    let isOver = false;
    const look = async (): Promise<void> => {
      isOver = isAttemptOver(await chain.requestState(request.id, lifetime), slot.attempt);
    };
    for (;;) {
      await persistently(ports, lifetime, look);
      if (isOver) return;
      await sleep(clock, turnMs, lifetime);
    }
  };

  /** Waits while gas is too dear, which is no try: whoever makes it dear must not save anybody's stake. */
  const submitted = async (proof: EquivocationProof): Promise<boolean> => {
    let isDone = false;
    await persistently(ports, lifetime, async () => {
      isDone = await submit(ports, proof, lifetime);
    });
    return isDone;
  };

  /** Submits the proof, and gives up after a few turns; the next start or `conclave evidence submit` tries again. */
  const bring = async (proof: EquivocationProof, firstDelayMs: number, turnMs: number): Promise<void> => {
    await untilOver(proof, turnMs);
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      await sleep(clock, tries === 0 ? firstDelayMs : turnMs, lifetime);
      if (await submitted(proof)) return;
    }
  };
  /** False if a proof of the same fault is kept already. A disk that takes nothing must not save anybody's stake. */
  const keep = (proof: EquivocationProof): Promise<boolean> =>
    evidence.keep(proof).catch((error: unknown) => {
      log.error({ error: messageOf(error) }, "could not keep evidence; submitting it all the same");
      return true;
    });
  const take = async (attempt: Attempt, self: SeatIndex, proof: EquivocationProof): Promise<void> => {
    if (!(await keep(proof))) return;
    const rank = canonicalRanks(attempt)[self] as number;
    await bring(proof, rank * staggerMs, attempt.committee.length * staggerMs);
  };
  const guarded = (work: Promise<void>): Promise<void> =>
    work.catch((error: unknown) => {
      if (!lifetime.aborted) log.error({ error: messageOf(error) }, "could not keep or submit evidence");
    });

  const accuse = (attempt: Attempt, self: SeatIndex, proof: EquivocationProof | null): void => {
    if (proof === null || proof.agentId === attempt.committee[self]?.agentId || known.has(faultOf(proof))) return;
    known.add(faultOf(proof));
    const { kind, agentId, slot } = proof;
    log.warn({ requestId: String(proof.request.id), agentId, kind, slot }, "a seat signed twice for one slot");
    void guarded(take(attempt, self, proof));
  };
  const conflicting: EvidenceKeeper["conflicting"] = (attempt, self, conflict) =>
    accuse(attempt, self, decisionProof(attempt, conflict));

  return {
    found: (attempt, self, pair) => accuse(attempt, self, messageProof(attempt, pair)),
    conflicting,
    compare(attempt, self, held, committed) {
      const look = async (): Promise<void> => {
        const conflicts = await conflictsOnChain(attempt, held, committed, ports.transactions, lifetime);
        for (const conflict of conflicts) conflicting(attempt, self, conflict);
      };
      void guarded(persistently(ports, lifetime, look));
    },
    resume: () =>
      guarded(
        (async () => {
          const { proofs, unreadable } = await evidence.list();
          for (const { path } of unreadable) log.error({ path }, "cannot read evidence: restore it, or move it away");
          for (const proof of proofs) known.add(faultOf(proof));
          const bringOnce = async (proof: EquivocationProof): Promise<void> => {
            await untilOver(proof, staggerMs);
            await submitted(proof);
          };
          await Promise.all(proofs.map((proof) => guarded(bringOnce(proof))));
        })(),
      ),
  };
}

/** Returns true if nothing is left to do. */
async function submit(
  { chain, writer, log }: EvidencePorts,
  proof: EquivocationProof,
  signal: AbortSignal,
): Promise<boolean> {
  const about = { requestId: String(proof.request.id), agentId: proof.agentId };
  try {
    const readRecord = async () => recordOf(await chain.requestEvents(proof.request.id, signal));
    const receipt = await writer.submitEvidence(proof, readRecord, signal);
    if (receipt !== "already")
      log.info(
        { ...about, transaction: receipt.transactionHash, gas: String(receipt.gasUsed) },
        "slashed an equivocator",
      );
    return true;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ConclaveError && error.code === "GAS_TOO_DEAR") throw error;
    log.warn({ ...about, error: messageOf(error) }, "could not submit evidence");
    // Another try would fail as well. The proof is kept, since the stake may come back.
    return error instanceof ConclaveError && FUTILE.has(String(error.data["error"]));
  }
}
