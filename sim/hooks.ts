import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import type * as Memory from "./fast/memo.ts";
import type { Mutant } from "./mutant.ts";

/** Marks an unchanged second copy of a module and its imports. */
export const PRISTINE = "?pristine";
const AGENTS = new URL("../agents/", import.meta.url).href;
const SIMULATOR = new URL("./", import.meta.url).href;
const FAST: Readonly<Record<string, string>> = {
  "#secp256k1": new URL("./fast/secp256k1.ts", import.meta.url).href,
  "@noble/hashes/sha2.js": new URL("./fast/sha2.ts", import.meta.url).href,
  "@noble/hashes/sha3.js": new URL("./fast/sha3.ts", import.meta.url).href,
};

const MEMO_URL = new URL("./fast/memo.ts", import.meta.url).href;
/** Pure functions of the core by file and name, and the key by which their results are remembered (fast/memo.ts). */
const MEMOS: Readonly<Record<string, Readonly<Record<string, keyof typeof Memory>>>> = {
  [new URL("core/encoding/transcript.ts", AGENTS).href]: {
    decodeMessage: "byBytes",
    forgeryIn: "byBoth",
    readRoot: "byThird",
  },
  [new URL("core/encoding/bytes.ts", AGENTS).href]: { sha256: "byIdentity" },
  [new URL("core/encoding/typed-data.ts", AGENTS).href]: {
    messageDigest: "byBoth",
    requestHash: "byIdentity",
    committeeHash: "byIdentity",
  },
  [new URL("node/seat/records.ts", AGENTS).href]: { encodeInput: "byMessage" },
};

/**
 * Changes what this thread loads from now on: simulated signatures replace the curve, native hashes replace noble's,
 * and one planted fault changes one file of the core. Only a worker calls this, before it loads anything else; other threads and the
 * product load the files as they stand.
 */
export function installHooks(options: { readonly realSignatures: boolean; readonly mutant: Mutant | null }): void {
  const { realSignatures, mutant } = options;
  const mutated = mutant === null ? null : new URL(`../${mutant.file}`, import.meta.url).href;
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const fast = realSignatures || !isOurs(context.parentURL) ? undefined : FAST[specifier];
      if (fast !== undefined) return { url: fast, shortCircuit: true };
      const found = nextResolve(specifier, context);
      const isCopy = context.parentURL?.endsWith(PRISTINE) === true && isOurs(found.url);
      return isCopy && !found.url.endsWith(PRISTINE) ? { ...found, url: found.url + PRISTINE } : found;
    },
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      const memos = realSignatures ? undefined : MEMOS[url.replace(PRISTINE, "")];
      if (url !== mutated && memos === undefined) return loaded;
      const source = sourceOf(url, loaded.source);
      const planted = mutant === null || url !== mutated ? source : plant(mutant, source);
      return { ...loaded, source: memos === undefined ? planted : remember(url, planted, memos) };
    },
  });
}

/** True for a module of the product or of the simulator. */
function isOurs(url: string | undefined): boolean {
  return [AGENTS, SIMULATOR].some((folder) => url?.startsWith(folder));
}

function sourceOf(url: string, source: unknown): string {
  if (typeof source === "string") return source;
  if (source instanceof Uint8Array) return Buffer.from(source).toString("utf8");
  throw new Error(`Plant in ${fileURLToPath(url)} failed: no source`);
}

/** Puts a memory around exported functions; throws if one is missing. */
function remember(url: string, source: string, memos: (typeof MEMOS)[string]): string {
  let result = `import * as memory from ${JSON.stringify(MEMO_URL)}; ${source}`;
  for (const [name, kind] of Object.entries(memos)) {
    const parts = result.split(`export function ${name}(`);
    if (parts.length !== 2) throw new Error(`Remember ${name} failed: ${fileURLToPath(url)} exports no such function`);
    result = `${parts.join(`function ${name}Once(`)}\nexport const ${name} = memory.${kind}(${name}Once);\n`;
  }
  return result;
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
