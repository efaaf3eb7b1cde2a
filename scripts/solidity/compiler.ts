import { globSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { messageOf } from "../../agents/core/errors.ts";

/** Text of each file by its name from the project's root. */
export type Sources = Readonly<Record<string, string>>;

interface Solc {
  compile(input: string, callbacks: { import: (name: string) => { contents: string } | { error: string } }): string;
}

export interface AbiParameter {
  readonly type: string;
  readonly name: string;
  readonly components?: readonly AbiParameter[];
  /** Set for the parameters of events. */
  readonly indexed?: boolean;
}

export interface AbiItem {
  readonly type: string;
  readonly name?: string;
  readonly inputs?: readonly AbiParameter[];
  readonly outputs?: readonly AbiParameter[];
  readonly stateMutability?: string;
}

/** What the compiler returns, by file: the parts that were asked for. */
interface Output {
  readonly errors?: readonly { readonly severity: string; readonly formattedMessage: string }[];
  readonly contracts: Readonly<Record<string, Readonly<Record<string, { readonly abi: readonly AbiItem[] }>>>>;
  readonly sources: Readonly<Record<string, { readonly ast: unknown }>>;
}

const root = join(import.meta.dirname, "../..");
export const evmVersion = "osaka";

/** Names of the contracts that are deployed or inherited from, sorted. The mocks are neither. */
export function contractFiles(): readonly string[] {
  return globSync("contracts/**/*.sol", { cwd: root, exclude: ["contracts/mocks/**"] }).toSorted();
}

/** The text of each of these contracts, by its name. */
export function readContracts(): Sources {
  return Object.fromEntries(contractFiles().map((file) => [file, readSource(file)]));
}

/** The text of a contract of ours or of an installed package. */
export function readSource(name: string): string {
  for (const base of [root, join(root, "node_modules")]) {
    try {
      return readFileSync(join(base, name), "utf8");
    } catch {
      // The next place may have it.
    }
  }
  throw new Error(`Cannot find ${name}`);
}

/** Compiles for some outputs, e.g. `{ "*": ["abi"] }`. Throws the compiler's own message. */
export function compile(sources: Sources, outputs: Readonly<Record<string, readonly string[]>>): Output {
  const solc = createRequire(import.meta.url)("solc") as Solc;
  const content = Object.entries(sources).map(([file, text]) => [file, { content: text }]);
  const settings = { evmVersion, outputSelection: { "*": outputs } };
  const input = JSON.stringify({ language: "Solidity", sources: Object.fromEntries(content), settings });
  const output = JSON.parse(solc.compile(input, { import: findImport })) as Output;
  const errors = (output.errors ?? []).filter(({ severity }) => severity === "error");
  if (errors.length > 0) throw new Error(errors.map((error) => error.formattedMessage).join("\n"));
  return output;
}

function findImport(name: string): { contents: string } | { error: string } {
  try {
    return { contents: readSource(name) };
  } catch (error) {
    return { error: messageOf(error) };
  }
}
