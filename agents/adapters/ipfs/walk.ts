import { ConclaveError } from "../../core/errors.ts";
import type { Digest } from "../../core/types.ts";
import { type Block, cidOf, decodeLinks, MAX_PINNED_BLOCKS, MAX_PINNED_BYTES } from "./block.ts";

/** Blocks fetched at once. */
const CONCURRENCY = 16;

export interface WalkedBlock {
  readonly digest: Digest;
  readonly block: Block;
  readonly depth: number;
}

/**
 * Visits every block below a root once, parents first. A DAG may be hostile: shared children are not walked again and
 * blocks and bytes are bounded. Throws BLOCK_INVALID, and whatever `get` throws.
 */
export async function* walkDag(
  root: Digest,
  get: (digest: Digest) => Promise<Uint8Array>,
): AsyncGenerator<WalkedBlock> {
  const seen = new Set<Digest>([root]);
  let bytes = 0;
  let row: Digest[] = [root];
  for (let depth = 0; row.length > 0; depth++) {
    const next: Digest[] = [];
    for (let start = 0; start < row.length; start += CONCURRENCY) {
      const batch = row.slice(start, start + CONCURRENCY);
      const blocks = await Promise.all(
        batch.map(async (digest) => ({ digest, ...decodeLinks(digest, await get(digest)) })),
      );
      for (const { digest, block, links } of blocks) {
        bytes += block.bytes.length;
        if (bytes > MAX_PINNED_BYTES) throw tooMuch(root, `${MAX_PINNED_BYTES} bytes`);
        yield { digest, block, depth };
        for (const link of links) {
          if (seen.has(link)) continue;
          seen.add(link);
          next.push(link);
        }
      }
      if (seen.size > MAX_PINNED_BLOCKS) throw tooMuch(root, `${MAX_PINNED_BLOCKS} blocks`);
    }
    row = next;
  }
}

function tooMuch(root: Digest, most: string): ConclaveError {
  const cid = cidOf(root).toString();
  return new ConclaveError("BLOCK_INVALID", `Refuse the DAG of ${cid}: it has more than ${most}`, { cid });
}
