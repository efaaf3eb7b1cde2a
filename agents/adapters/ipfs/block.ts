import * as dagCbor from "@ipld/dag-cbor";
import type { CID } from "multiformats/cid";
import { createUnsafe } from "multiformats/block";
import type { BlockView } from "multiformats";
import { bytesToHex, sha256 } from "../../core/digest.ts";
import { cidOf, cidString } from "../../core/codec.ts";
import { ConclaveError } from "../../core/errors.ts";
import { limits } from "../../core/limits.ts";
import type { Digest } from "../../core/types.ts";

export { cidOf } from "../../core/codec.ts";

export const SHA2_256_CODE = 0x12;

/** The root of a transcript is the largest block there is. */
export const MAX_BLOCK_BYTES: number = limits.rootBytes;

/** Blocks of one pinned DAG: every message, its payload, and as much again to spare. */
export const MAX_PINNED_BLOCKS: number = 4 * limits.messagesPerTranscript;

/** Bytes of one pinned DAG: no transcript has more (TR4). */
export const MAX_PINNED_BYTES: number = limits.rootBytes + limits.messagesPerTranscript * limits.messageBytes;

export type Block = BlockView<unknown, number, number, 0 | 1>;

/** The digest of a block about to be stored. Throws BLOCK_INVALID when it is too long to be fetched by others. */
export function digestOfBlock(bytes: Uint8Array): Digest {
  const digest = sha256(bytes);
  if (bytes.length > MAX_BLOCK_BYTES) throw tooLong(digest, bytes.length);
  return digest;
}

/** The bytes themselves, proven to be the ones asked for. Throws BLOCK_INVALID. */
export function verifiedBlock(digest: Digest, bytes: Uint8Array): Uint8Array {
  if (bytes.length > MAX_BLOCK_BYTES) throw tooLong(digest, bytes.length);
  const actual = sha256(bytes);
  if (actual !== digest) {
    throw new ConclaveError("BLOCK_INVALID", `Restore block ${cidString(digest)}: its bytes have another hash`, {
      cid: cidString(digest),
      actualCid: cidString(actual),
    });
  }
  return bytes;
}

/** Decodes a block for its links. Throws BLOCK_INVALID when it is no dag-cbor or links to other kinds of blocks. */
export function decodeLinks(
  digest: Digest,
  bytes: Uint8Array,
): { readonly block: Block; readonly links: readonly Digest[] } {
  const cid = cidOf(digest);
  let block: Block;
  let targets: CID[];
  try {
    block = createUnsafe({ bytes, cid, codec: dagCbor });
    targets = [...block.links()].map(([, target]) => target);
  } catch (cause) {
    throw new ConclaveError(
      "BLOCK_INVALID",
      `Replace block ${cid.toString()}: it is no dag-cbor`,
      { cid: cid.toString() },
      cause,
    );
  }
  return { block, links: targets.map((target) => digestOfLink(cid, target)) };
}

/** `timeoutMs`: how long was waited; 0 where the source said at once that it has none. */
export function blockMissing(digest: Digest, timeoutMs: number, cause?: unknown): ConclaveError {
  const cid = cidString(digest);
  const message =
    timeoutMs === 0
      ? `Name a source that holds block ${cid}: this one does not`
      : `Connect a node that holds block ${cid}: nobody delivered it within ${timeoutMs} ms`;
  return new ConclaveError("BLOCK_MISSING", message, { cid, timeoutMs }, cause);
}

/** The digest inside a CID of the only kind in use; null for any other CID. */
export function digestOfCid(cid: CID): Digest | null {
  const fits = cid.version === 1 && cid.code === dagCbor.code && cid.multihash.code === SHA2_256_CODE;
  return fits && cid.multihash.digest.length === 32 ? (bytesToHex(cid.multihash.digest) as Digest) : null;
}

function digestOfLink(parent: CID, target: CID): Digest {
  const digest = digestOfCid(target);
  if (digest !== null) return digest;
  throw new ConclaveError(
    "BLOCK_INVALID",
    `Replace block ${parent.toString()}: it links to ${target.toString()}, which is no dag-cbor block`,
    {
      cid: parent.toString(),
      link: target.toString(),
    },
  );
}

function tooLong(digest: Digest, bytes: number): ConclaveError {
  const cid = cidString(digest);
  return new ConclaveError("BLOCK_INVALID", `Split block ${cid}: ${bytes} bytes exceed ${MAX_BLOCK_BYTES}`, {
    cid,
    bytes,
    maxBytes: MAX_BLOCK_BYTES,
  });
}
