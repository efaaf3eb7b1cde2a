import { decode, encode, isMapOf } from "../../core/encoding/codec.ts";
import { bytesToHex, hexToBytes, sha256 } from "../../core/encoding/bytes.ts";
import { ConclaveError } from "../../core/errors.ts";
import type { Origin } from "../../core/prompts/prompt.ts";
import type { Input, MessageBlock, Observation } from "../../core/protocol.ts";
import { decodeMessage, encodeMessage, messageBlock } from "../../core/encoding/transcript.ts";
import type { Digest, Ppm, Value } from "../../core/types.ts";
import { journalWayOut, maxRecordBytes } from "../../ports/journal.ts";

type Blocks = readonly (Uint8Array | null)[];

/**
 * Returns the journal records of one input. An input is one record, except for `loaded` and `read`: their blocks
 * come first, each in its own record, because a transcript may be longer than a record; the input names them by digest.
 */
export function encodeInput(input: Input): readonly Uint8Array[] {
  switch (input.kind) {
    case "message":
      return [encode({ kind: "message", message: encodeMessage(input.message) })];
    case "elapsed":
      return [encode({ kind: "elapsed", timer: input.timer })];
    case "observed":
      return [encode(observedValue(input))];
    case "loaded":
      return [
        ...blockRecords(bytesOf(input.blocks)),
        encode({ kind: "loaded", root: hexToBytes(input.root), blocks: digestsOf(bytesOf(input.blocks)) }),
      ];
    case "read":
      return [...blockRecords(input.blocks), encode({ kind: "read", blocks: digestsOf(input.blocks) })];
  }
}

function blockRecords(blocks: Blocks): readonly Uint8Array[] {
  return blocks.flatMap((block) => (block === null ? [] : [encode({ kind: "block", block })]));
}

function bytesOf(blocks: readonly (MessageBlock | null)[]): Blocks {
  return blocks.map((block) => block && block.bytes);
}

function digestsOf(blocks: Blocks): Value {
  return blocks.map((block) => (block === null ? null : hexToBytes(sha256(block))));
}

/** Reads records in their order; returns null for a record that belongs to a later input. */
export type InputReader = (record: Uint8Array) => Input | null;

/**
 * Creates a reader. It throws JOURNAL_CORRUPT for a record that is whole (the journal checks that) but not one of ours.
 */
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
        `Read a journal record that no version of this program writes; ${journalWayOut}`,
      );
    if (input.kind === "loaded" || input.kind === "read") blocks.clear();
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
  const isCounted = isMapOf(value, ["kind", "ask", "observation", "tokens"]) && typeof value.tokens === "number";
  if ((isCounted || isMapOf(value, ["kind", "ask", "observation"])) && typeof value.ask === "string") {
    const observation = decodeObservation(value.observation);
    const tokens = isCounted ? { tokens: value.tokens } : {};
    return observation === null ? null : { kind: "observed", ask: value.ask, observation, ...tokens };
  }
  if (isMapOf(value, ["kind", "root", "blocks"]) && value.root instanceof Uint8Array) {
    const found = blocksIn(value.blocks, blocks);
    if (found === null) return null;
    const read = found.map((block) => block && messageBlock(block));
    return { kind: "loaded", root: bytesToHex(value.root) as Digest, blocks: read };
  }
  if (!isMapOf(value, ["kind", "blocks"])) return null;
  const found = blocksIn(value.blocks, blocks);
  return found === null ? null : { kind: "read", blocks: found };
}

function blocksIn(digests: Value, blocks: ReadonlyMap<Digest, Uint8Array>): Blocks | null {
  if (!Array.isArray(digests)) return null;
  const found = (digests as readonly Value[]).map((digest) =>
    digest instanceof Uint8Array ? blocks.get(bytesToHex(digest) as Digest) : digest,
  );
  return found.every((block) => block === null || block instanceof Uint8Array) ? found : null;
}

function observedValue({ ask, observation, tokens }: Extract<Input, { kind: "observed" }>): Value {
  return { kind: "observed", ask, observation: observationValue(observation), ...(tokens !== undefined && { tokens }) };
}

function observationValue(observation: Observation): Value {
  if (observation.kind === "failed") return { kind: "failed", reason: observation.reason };
  const { origin, ...answered } = observation;
  return origin === undefined ? answered : { ...answered, origin: { ...origin } };
}

function decodeObservation(value: Value): Observation | null {
  if (isMapOf(value, ["kind", "reason"]) && typeof value.reason === "string")
    return { kind: "failed", reason: value.reason };
  const isOriginal = isMapOf(value, ["kind", "fields", "confidence", "origin"]);
  if (!isOriginal && !isMapOf(value, ["kind", "fields", "confidence"])) return null;
  return {
    kind: "answered",
    fields: value.fields as Record<string, string>,
    confidence: value.confidence as Ppm | null,
    ...(isOriginal ? { origin: value.origin as unknown as Origin } : {}),
  };
}
