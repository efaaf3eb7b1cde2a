import { decodeRequestId, sha256 } from "../../core/encoding/bytes.ts";
import { decodeBlock, encodeBlock } from "../../core/encoding/codec.ts";
import type { BlockValue } from "../../core/encoding/block-value.ts";
import { buildTranscript, readRoot } from "../../core/encoding/transcript.ts";
import { limits } from "../../core/limits.ts";
import type { Protocol } from "../../core/protocol.ts";
import { emptyTally } from "../../core/seat/tally.ts";
import type { Attempt, Digest } from "../../core/types.ts";
import { fetchBlock, requireBlock } from "./blocks.ts";
import { Failed, type Audit } from "./report.ts";

export async function checkRoot(
  audit: Audit,
  attempt: Attempt,
  protocol: Protocol,
  root: Digest,
): Promise<readonly Digest[]> {
  const fetched = await fetchBlock(audit.options, root, audit.options.signal);
  const bytes = requireBlock("root", root, fetched);
  audit.blocks = 1;
  const read = readRoot(attempt, protocol, bytes);
  if ("refused" in read) throw new Failed("root", explainRoot(attempt, protocol, bytes) ?? read.refused, root);
  audit.messages = read.messages.length;
  audit.options.onProgress?.("root", 1, 1);
  return read.messages;
}

/** Names the fields in which the root differs from the chain; null if they agree. */
function explainRoot(attempt: Attempt, protocol: Protocol, bytes: Uint8Array): string | null {
  const found = decodeBlock(bytes, limits.rootBytes);
  const expected = decodeBlock(
    buildTranscript(attempt, protocol, emptyTally, { round: 0, phase: 0 }).rootBlock,
    limits.rootBytes,
  );
  const others = ["version", "protocol", "protocolVersion"].flatMap((name) =>
    compareField(name, field(found, name), field(expected, name)),
  );
  const [theirs, ours] = [field(found, "attempt"), field(expected, "attempt")];
  const names = typeof ours === "object" && ours !== null ? Object.keys(ours) : [];
  const differing = [...others, ...names.flatMap((name) => compareField(name, field(theirs, name), field(ours, name)))];
  return differing.length === 0 ? null : `it is the transcript of something else: ${differing.join(", ")}`;
}

function compareField(
  name: string,
  found: BlockValue | undefined,
  expected: BlockValue | undefined,
): readonly string[] {
  if (found === undefined || expected === undefined) return found === expected ? [] : [`no ${name}`];
  if (sha256(encodeBlock([found])) === sha256(encodeBlock([expected]))) return [];
  const [theirs, ours] = [found, expected].map((value) =>
    name === "requestId" ? decodeRequestId(value) : typeof value === "number" ? value : null,
  );
  return theirs === null || ours === null ? [`another ${name}`] : [`${name} ${theirs}, not ${ours}`];
}

function field(value: BlockValue | undefined, name: string): BlockValue | undefined {
  if (value === null || typeof value !== "object" || Array.isArray(value) || value instanceof Uint8Array)
    return undefined;
  return (value as Readonly<Record<string, BlockValue>>)[name];
}
