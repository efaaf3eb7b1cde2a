import { CID } from "multiformats/cid";
import { otherKind } from "../../adapters/ipfs/block.ts";
import { cidString, digestFromCid } from "../../core/encoding/cid.ts";
import type { Digest } from "../../core/types.ts";
import { usage } from "../shared/arguments.ts";

/** Longest text that is read as a CID. */
const MAX_TEXT = 256;

/**
 * Returns the root that a CID names. Throws USAGE: for a CID of another kind it says what that is, for other texts it
 * says `way`.
 */
export function parseCid(text: string, option: string, way: string): Digest {
  const digest = digestFromCid(text);
  if (digest !== null) return digest;
  const cid = cidOfText(text);
  if (cid === null) throw usage(option, text, way);
  const kind = otherKind(cid);
  if ("differs" in kind) throw usage(option, text, `it is a CID with ${kind.differs}`);
  throw usage(option, text, `write this CID as ${cidString(kind.digest)}`);
}

function cidOfText(text: string): CID | null {
  if (text.length > MAX_TEXT) return null;
  try {
    return CID.parse(text);
  } catch {
    return null;
  }
}
