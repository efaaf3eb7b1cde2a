import { sha256 } from "#sha256";
import * as dagCbor from "@ipld/dag-cbor";
import type { CID } from "multiformats/cid";
import { createUnsafe } from "multiformats/block";
import type { BlockView } from "multiformats";
import { bytesToHex } from "../../core/encoding/bytes.ts";
import { cidString } from "../../core/encoding/cid.ts";
import { cidOf } from "../../core/encoding/codec.ts";
import { ConclaveError } from "../../core/errors.ts";
import { limits } from "../../core/limits.ts";
import type { Digest } from "../../core/types.ts";

export { cidOf } from "../../core/encoding/codec.ts";

export const SHA2_256_CODE = 0x12;

/** Largest block: the root of a transcript. */
export const MAX_BLOCK_BYTES: number = limits.rootBytes;

/** Blocks of one pinned DAG: every message, its payload, and as much again to spare. */
export const MAX_PINNED_BLOCKS: number = 4 * limits.messagesPerTranscript;

/** Bytes of one pinned DAG, since no transcript has more (TR4). */
export const MAX_PINNED_BYTES: number = limits.rootBytes + limits.messagesPerTranscript * limits.messageBytes;

export type Block = BlockView<unknown, number, number, 0 | 1>;

/** Returns the digest of a block to be stored. Throws BLOCK_INVALID if it is too long for others to fetch. */
export function digestOfBlock(bytes: Uint8Array): Digest {
  const digest = sha256(bytes);
  if (bytes.length > MAX_BLOCK_BYTES) throw tooLong(digest, bytes.length);
  return digest;
}

/** Returns the bytes after a check of their hash. Throws BLOCK_INVALID. */
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

/** Decodes a block for its links. Throws BLOCK_INVALID if it is no dag-cbor or links to other kinds of blocks. */
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

/** The error of a missing block. `timeoutMs`: how long was waited; 0 if the source answered at once. */
export function blockMissing(digest: Digest, timeoutMs: number, cause?: unknown): ConclaveError {
  const cid = cidString(digest);
  const message =
    timeoutMs === 0
      ? `Name a source that holds block ${cid}: this one does not`
      : `Connect a node that holds block ${cid}: nobody delivered it within ${timeoutMs} ms`;
  return new ConclaveError("BLOCK_MISSING", message, { cid, timeoutMs }, cause);
}

/** Codecs that occur; others are named by their number. */
const CODECS: ReadonlyMap<number, string> = new Map([
  [0x51, "cbor"],
  [0x55, "raw"],
  [0x70, "dag-pb"],
  [0x71, "dag-cbor"],
  [0x72, "libp2p-key"],
  [0x01_29, "dag-json"],
  [0x02_00, "json"],
  [0x02_02, "car"],
]);
const HASHES: ReadonlyMap<number, string> = new Map([
  [0x00, "identity"],
  [0x11, "sha1"],
  [SHA2_256_CODE, "sha2-256"],
  [0x13, "sha2-512"],
  [0x14, "sha3-512"],
  [0x16, "sha3-256"],
  [0x1b, "keccak-256"],
  [0x1e, "blake3"],
  [0xb2_20, "blake2b-256"],
]);

/** Says how a CID differs from the only kind in use, and what it would have to be. */
export function otherKind({
  version,
  code,
  multihash,
}: CID): { readonly digest: Digest } | { readonly differs: string } {
  const named = (names: ReadonlyMap<number, string>, number: number): string =>
    names.get(number) ?? `0x${number.toString(16)}`;
  const { length } = multihash.digest;
  const isOurHash = multihash.code === SHA2_256_CODE;
  const differing = [
    ...(version === 1 ? [] : [`version ${version}`]),
    ...(code === dagCbor.code ? [] : [`codec ${named(CODECS, code)}`]),
    ...(isOurHash ? [] : [`hash function ${named(HASHES, multihash.code)}`]),
    ...(isOurHash && length !== 32 ? [`a digest of ${length} bytes`] : []),
  ];
  if (differing.length === 0) return { digest: bytesToHex(multihash.digest) as Digest };
  const needed = "version 1, codec dag-cbor, hash function sha2-256 and a digest of 32 bytes";
  return { differs: `${differing.join(", ")}, where a transcript's has ${needed}` };
}

/** Returns the digest of a CID of the only kind in use; null for any other CID. */
export function digestOfCid(cid: CID): Digest | null {
  const kind = otherKind(cid);
  return "digest" in kind ? kind.digest : null;
}

function digestOfLink(parent: CID, target: CID): Digest {
  const kind = otherKind(target);
  if ("digest" in kind) return kind.digest;
  throw new ConclaveError(
    "BLOCK_INVALID",
    `Replace block ${parent.toString()}: it links to ${target.toString()}, a CID with ${kind.differs}`,
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
