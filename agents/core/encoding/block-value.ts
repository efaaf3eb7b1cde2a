import type { Digest } from "../types.ts";

/** An IPLD link (CBOR tag 42) to a dag-cbor block, so that pinning a block pins what it refers to. */
export interface BlockLink {
  readonly link: Digest;
}

/**
 * What a block with links holds. An object whose only key is `link` always is a link: plain data of that shape
 * has no encoding in a block, and bytes that claim one are refused.
 */
export type BlockValue =
  | null
  | boolean
  | number
  | string
  | Uint8Array
  | BlockLink
  | readonly BlockValue[]
  | { readonly [key: string]: BlockValue };

/** Lists and maps inside each other; the outermost value is at depth 0. */
export const MAX_DEPTH = 16;

/** "/" marks links inside the libraries; "__proto__" is not an ordinary property in JavaScript. */
export function isReservedKey(key: string): boolean {
  return key === "/" || key === "__proto__";
}
