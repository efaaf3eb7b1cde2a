import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import type { Mutant } from "./mutant.ts";

const AGENTS = new URL("../", import.meta.url).href;
const FAST: Readonly<Record<string, string>> = {
  "@noble/curves/secp256k1.js": new URL("fast/secp256k1.ts", import.meta.url).href,
  "@noble/hashes/sha2.js": new URL("fast/sha2.ts", import.meta.url).href,
  "@noble/hashes/sha3.js": new URL("fast/sha3.ts", import.meta.url).href,
};

/**
 * Changes what this thread loads from now on: simulated signatures and native hashes in the place of noble's, and one planted
 * bug in one file of the core. Only a worker calls this, before it loads anything else; other threads and the product load
 * the files as they stand.
 */
export function installHooks(options: { readonly realSignatures: boolean; readonly mutant: Mutant | null }): void {
  const { realSignatures, mutant } = options;
  const mutated = mutant === null ? null : new URL(`../../${mutant.file}`, import.meta.url).href;
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const fast = realSignatures || context.parentURL?.startsWith(AGENTS) !== true ? undefined : FAST[specifier];
      return fast === undefined ? nextResolve(specifier, context) : { url: fast, shortCircuit: true };
    },
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      if (mutant === null || url !== mutated) return loaded;
      return { ...loaded, source: plant(mutant, sourceOf(url, loaded.source)) };
    },
  });
}

function sourceOf(url: string, source: unknown): string {
  if (typeof source === "string") return source;
  if (source instanceof Uint8Array) return Buffer.from(source).toString("utf8");
  throw new Error(`Plant in ${fileURLToPath(url)} failed: no source`);
}

/** Throws unless the text to replace occurs exactly once: a mutant that changes nothing, or something else, proves nothing. */
export function plant(mutant: Mutant, source: string): string {
  const parts = source.split(mutant.find);
  if (parts.length !== 2)
    throw new Error(
      `Plant ${mutant.id} failed: its text occurs ${parts.length - 1} times in ${mutant.file}, not once; adapt "find"`,
    );
  return parts.join(mutant.replace);
}
