import { decode, encode, isMapOf } from "../core/codec.ts";
import { bytesToHex, hexToBytes } from "../core/digest.ts";
import { ConclaveError } from "../core/errors.ts";
import type { Input, Observation } from "../core/protocol.ts";
import { decodeMessage, encodeMessage } from "../core/transcript.ts";
import type { Digest, Ppm, Value } from "../core/types.ts";

/** A journal record is one input of a session. Large enough for the blocks of a whole transcript. */
const RECORD_BYTES = 64 * 1024 * 1024;

export function encodeInput(input: Input): Uint8Array {
  switch (input.kind) {
    case "message":
      return encode({ kind: "message", message: encodeMessage(input.message) });
    case "elapsed":
      return encode({ kind: "elapsed", timer: input.timer });
    case "observed":
      return encode({ kind: "observed", ask: input.ask, observation: observationValue(input.observation) });
    case "loaded":
      return encode({ kind: "loaded", root: hexToBytes(input.root), blocks: input.blocks });
  }
}

function observationValue(observation: Observation): Value {
  return observation.kind === "failed"
    ? { kind: "failed", reason: observation.reason }
    : { kind: "answered", fields: observation.fields, confidence: observation.confidence };
}

/** Throws JOURNAL_CORRUPT: the record is whole (the journal checks that) but not one of ours. */
export function decodeInput(bytes: Uint8Array): Input {
  const value = decode(bytes, RECORD_BYTES);
  if (isMapOf(value, ["kind", "message"]) && value.message instanceof Uint8Array) {
    const message = decodeMessage(value.message);
    if (message !== null) return { kind: "message", message };
  }
  if (isMapOf(value, ["kind", "timer"]) && typeof value.timer === "string")
    return { kind: "elapsed", timer: value.timer };
  if (isMapOf(value, ["kind", "ask", "observation"]) && typeof value.ask === "string") {
    const observation = decodeObservation(value.observation);
    if (observation !== null) return { kind: "observed", ask: value.ask, observation };
  }
  if (isMapOf(value, ["kind", "root", "blocks"]) && value.root instanceof Uint8Array && Array.isArray(value.blocks)) {
    const blocks = (value.blocks as readonly Value[]).map((block) => (block instanceof Uint8Array ? block : null));
    return { kind: "loaded", root: bytesToHex(value.root) as Digest, blocks };
  }
  throw new ConclaveError(
    "JOURNAL_CORRUPT",
    "Read a journal record that no version of this program writes; move the journal away to abstain from its attempt",
  );
}

function decodeObservation(value: Value): Observation | null {
  if (isMapOf(value, ["kind", "reason"]) && typeof value.reason === "string")
    return { kind: "failed", reason: value.reason };
  if (!isMapOf(value, ["kind", "fields", "confidence"])) return null;
  return {
    kind: "answered",
    fields: value.fields as Record<string, string>,
    confidence: value.confidence as Ppm | null,
  };
}
