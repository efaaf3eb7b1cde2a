import { committeeHash, hashedRequest, requestHashOf } from "../core/digest.ts";
import { ConclaveError } from "../core/errors.ts";
import { canonicalRanks } from "../core/order.ts";
import type { Attempt, Evidence, Message, SeatIndex } from "../core/types.ts";
import type { ChainWriter, EquivocationProof, SignedPayload } from "../ports/chain.ts";
import type { Clock } from "../ports/clock.ts";
import { faultOf, type EvidenceStore } from "../ports/evidence.ts";
import type { Log } from "../ports/log.ts";
import { sleep } from "../relayer/relayer.ts";
import { textOf } from "./effects.ts";

export interface EvidencePorts {
  readonly writer: ChainWriter;
  readonly evidence: EvidenceStore;
  readonly clock: Clock;
  readonly log: Log;
}

/** Keeps proofs of equivocation and brings them to the chain. */
export interface EvidenceKeeper {
  /**
   * A seat signed two messages for one slot. Kept first, then submitted at once, not when the request is settled: the stake
   * may already be on its way out, and a request may never settle. The seats take turns as they do with certificates, so that one pays.
   */
  found(attempt: Attempt, self: SeatIndex, evidence: Evidence): void;
  /** Submits what an earlier run kept; what the chain knows already costs nothing. */
  resume(): Promise<void>;
}

const ATTEMPTS = 5;

export function createEvidenceKeeper(ports: EvidencePorts, staggerMs: number, lifetime: AbortSignal): EvidenceKeeper {
  const { evidence, clock, log } = ports;
  const known = new Set<string>();

  /** Gives up after a few turns; the proof stays for the next start, or for `conclave evidence submit`. */
  const bring = async (proof: EquivocationProof, firstDelayMs: number, turnMs: number): Promise<void> => {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      await sleep(clock, attempt === 0 ? firstDelayMs : turnMs, lifetime);
      if (await submit(ports, proof, lifetime)) return;
    }
  };
  const take = async (attempt: Attempt, self: SeatIndex, proof: EquivocationProof): Promise<void> => {
    if (!(await evidence.keep(proof))) return;
    const rank = canonicalRanks(attempt)[self] as number;
    await bring(proof, rank * staggerMs, attempt.committee.length * staggerMs);
  };
  const guarded = (work: Promise<void>): Promise<void> =>
    work.catch((error: unknown) => {
      if (!lifetime.aborted) log.error({ error: textOf(error) }, "could not keep or submit evidence");
    });

  return {
    found(attempt, self, pair) {
      const proof = proofOf(attempt, pair);
      if (proof === null || proof.slot.seat === self || known.has(faultOf(proof))) return;
      known.add(faultOf(proof));
      log.warn(
        { requestId: String(proof.request.id), agentId: proof.agentId, seat: proof.slot.seat, phase: proof.slot.phase },
        "a seat signed two messages for one slot",
      );
      void guarded(take(attempt, self, proof));
    },
    resume: () =>
      guarded(
        (async () => {
          for (const proof of await evidence.list()) {
            known.add(faultOf(proof));
            await submit(ports, proof, lifetime);
          }
        })(),
      ),
  };
}

/** Null for a seat that does not exist, which no verified message names. */
export function proofOf(attempt: Attempt, { first, second }: Evidence): EquivocationProof | null {
  const { protocol, phase, round, seat } = first.header;
  const agentId = attempt.committee[seat]?.agentId;
  if (agentId === undefined) return null;
  const request = hashedRequest(attempt.request);
  const hashes = { requestHash: requestHashOf(request), committeeHash: committeeHash(attempt.committee) };
  return {
    request,
    agentId,
    slot: { ...hashes, attempt: attempt.attempt, protocol, phase, round, seat },
    first: signedPayload(first),
    second: signedPayload(second),
  };
}

function signedPayload({ header, signature }: Message): SignedPayload {
  return { payloadDigest: header.payloadDigest, signature };
}

/** True when nothing is left to do. */
async function submit({ writer, log }: EvidencePorts, proof: EquivocationProof, signal: AbortSignal): Promise<boolean> {
  const about = { requestId: String(proof.request.id), agentId: proof.agentId };
  try {
    const receipt = await writer.submitEvidence(proof, signal);
    if (receipt !== "already")
      log.info(
        { ...about, transaction: receipt.transactionHash, gas: String(receipt.gasUsed) },
        "slashed an equivocator",
      );
    return true;
  } catch (error) {
    signal.throwIfAborted();
    log.warn({ ...about, error: textOf(error) }, "could not submit evidence");
    // Another try would be refused as well; the stake may come back, so the proof is kept.
    return error instanceof ConclaveError && error.data["error"] === "NothingToSlash";
  }
}
