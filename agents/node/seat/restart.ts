import { sha256, utf8 } from "../../core/encoding/bytes.ts";
import { committeeHash, requestHash } from "../../core/encoding/typed-data.ts";
import { ConclaveError } from "../../core/errors.ts";
import type { Effect, Input, Protocol } from "../../core/protocol.ts";
import type { Attempt, SeatIndex } from "../../core/types.ts";

/** The first record of a journal: it names the attempt, so that a journal is never replayed into another one. */
export function openingRecord({ id, version }: Protocol, attempt: Attempt): Uint8Array {
  return utf8(`conclave 4 ${id}@${version} ${nameOf(attempt)}`);
}

/** All that the chain fixes for an attempt. The hashes name neither the chain nor its oracle, whose requests have small numbers. */
export function nameOf({ domain: { chainId, oracle }, request, attempt, committee }: Attempt): string {
  return `${chainId} ${oracle} ${requestHash(request)} ${attempt} ${committeeHash(committee)}`;
}

/** Throws JOURNAL_CONFLICT unless the journal's first record is the expected one. */
export function requireOpening(record: Uint8Array, expected: Uint8Array, { request }: Attempt): void {
  if (sha256(record) === sha256(expected)) return;
  throw new ConclaveError(
    "JOURNAL_CONFLICT",
    "Refused a journal of another request, committee or protocol version; this agent abstains from the attempt",
    { requestId: request.id.toString() },
  );
}

/** True if a journalled input answers the effect, so that a restart need not run the effect again. */
export function isAnswered(input: Input, effect: Effect, self: SeatIndex): boolean {
  switch (effect.kind) {
    case "send":
      return (
        input.kind === "message" &&
        input.message.header.seat === self &&
        input.message.header.phase === effect.phase &&
        input.message.header.round === effect.round
      );
    case "ask":
      return input.kind === "observed" && input.ask === effect.ask;
    case "wait":
      return input.kind === "elapsed" && input.timer === effect.timer;
    case "load":
      return input.kind === "loaded" && input.root === effect.root;
    case "read":
      return input.kind === "read";
    default:
      return false;
  }
}
