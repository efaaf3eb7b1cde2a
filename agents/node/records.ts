import { decode, encode, isMapOf } from "../core/codec.ts";
import { bytesToHex, hexToBytes, sha256 } from "../core/digest.ts";
import { ConclaveError } from "../core/errors.ts";
import type { Input, Observation } from "../core/protocol.ts";
import { decodeMessage, encodeMessage } from "../core/transcript.ts";
import type { Digest, Ppm, Value } from "../core/types.ts";
import { maxRecordBytes } from "../ports/journal.ts";

/**
 * The journal records of one input of a session: one, except for `loaded`: its blocks come first, each in a record of
 * its own, because a transcript may be longer than a record; the input itself names them by digest.
 */
export function encodeInput(input: Input): readonly Uint8Array[] {
  switch (input.kind) {
    case "message":
      return [encode({ kind: "message", message: encodeMessage(input.message) })];
    case "elapsed":
      return [encode({ kind: "elapsed", timer: input.timer })];
    case "observed":
      return [encode({ kind: "observed", ask: input.ask, observation: observationValue(input.observation) })];
    case "loaded": {
      const blocks = input.blocks.flatMap((block) => (block === null ? [] : [encode({ kind: "block", block })]));
      const digests = input.blocks.map((block) => (block === null ? null : hexToBytes(sha256(block))));
      return [...blocks, encode({ kind: "loaded", root: hexToBytes(input.root), blocks: digests })];
    }
  }
}

/** Reads records in their order; null for one that only prepares a later one. */
export type InputReader = (record: Uint8Array) => Input | null;

/** The reader throws JOURNAL_CORRUPT: the record is whole (the journal checks that) but not one of ours. */
export function createInputReader(): InputReader {
  const blocks = new Map<Digest, Uint8Array>();
  return (record) => {
    const value = decode(record, maxRecordBytes);
    if (isMapOf(value, ["kind", "block"]) && value.block instanceof Uint8Array) {
      blocks.set(sha256(value.block), value.block);
      return null;
    }
    const input = decodeInput(value, blocks);
    if (input === null)
      throw new ConclaveError(
        "JOURNAL_CORRUPT",
        "Read a journal record that no version of this program writes; move the journal away to abstain from its attempt",
      );
    if (input.kind === "loaded") blocks.clear();
    return input;
  };
}

function decodeInput(value: Value, blocks: ReadonlyMap<Digest, Uint8Array>): Input | null {
  if (isMapOf(value, ["kind", "message"]) && value.message instanceof Uint8Array) {
    const message = decodeMessage(value.message);
    return message === null ? null : { kind: "message", message };
  }
  if (isMapOf(value, ["kind", "timer"]) && typeof value.timer === "string")
    return { kind: "elapsed", timer: value.timer };
  if (isMapOf(value, ["kind", "ask", "observation"]) && typeof value.ask === "string") {
    const observation = decodeObservation(value.observation);
    return observation === null ? null : { kind: "observed", ask: value.ask, observation };
  }
  if (!isMapOf(value, ["kind", "root", "blocks"]) || !(value.root instanceof Uint8Array)) return null;
  if (!Array.isArray(value.blocks)) return null;
  const found = (value.blocks as readonly Value[]).map((digest) =>
    digest instanceof Uint8Array ? blocks.get(bytesToHex(digest) as Digest) : digest,
  );
  if (!found.every((block) => block === null || block instanceof Uint8Array)) return null;
  return { kind: "loaded", root: bytesToHex(value.root) as Digest, blocks: found };
}

function observationValue(observation: Observation): Value {
  return observation.kind === "failed"
    ? { kind: "failed", reason: observation.reason }
    : { kind: "answered", fields: observation.fields, confidence: observation.confidence };
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
