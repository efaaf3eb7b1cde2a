// The contracts as the compiler parses them: what coverage, mutation and static analysis start from.
import { globSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

/** Text of each file by its name from the project's root. */
export type Sources = Readonly<Record<string, string>>;

/** One node of the compiler's tree; src is "first byte:length:file". */
export interface Node {
  readonly nodeType: string;
  readonly src: string;
  readonly [field: string]: unknown;
}

interface CompilerOutput {
  readonly errors?: readonly { readonly severity: string; readonly formattedMessage: string }[];
  readonly sources: Readonly<Record<string, { readonly ast: Node }>>;
}

interface Compiler {
  compile(input: string, callbacks: { import: (name: string) => { contents: string } | { error: string } }): string;
}

const root = join(import.meta.dirname, "../..");
export const evmVersion = "osaka";

/** Every contract that is deployed or inherited from: all but the mocks. */
export function readContracts(): Sources {
  const files = globSync("contracts/**/*.sol", { cwd: root, exclude: ["contracts/mocks/**"] }).toSorted();
  return Object.fromEntries(files.map((file) => [file, readFileSync(join(root, file), "utf8")]));
}

/** The typed trees of `sources`. Throws the compiler's own message. */
export function parse(sources: Sources): ReadonlyMap<string, Node> {
  const solc = createRequire(import.meta.url)("solc") as Compiler;
  const content = Object.entries(sources).map(([file, text]) => [file, { content: text }]);
  const settings = { evmVersion, outputSelection: { "*": { "": ["ast"] } } };
  const input = JSON.stringify({ language: "Solidity", sources: Object.fromEntries(content), settings });
  const output = JSON.parse(solc.compile(input, { import: findImport })) as CompilerOutput;
  const errors = (output.errors ?? []).filter(({ severity }) => severity === "error");
  if (errors.length > 0) throw new Error(errors.map((error) => error.formattedMessage).join("\n"));
  return new Map(Object.keys(sources).map((file) => [file, output.sources[file]!.ast]));
}

function findImport(name: string): { contents: string } | { error: string } {
  for (const base of [root, join(root, "node_modules")]) {
    try {
      return { contents: readFileSync(join(base, name), "utf8") };
    } catch {
      // The next place may have it.
    }
  }
  return { error: `Cannot find ${name}` };
}

/** Visits every node below `node` in the order of the text, parents first; `above` lists the ancestors, nearest last. */
export function walk(
  node: Node,
  visit: (node: Node, above: readonly Node[]) => void,
  above: readonly Node[] = [],
): void {
  visit(node, above);
  const below = [...above, node];
  const children = Object.values(node).flat().filter(isNode);
  const ordered = children.toSorted((one, other) => rangeOf(one).start - rangeOf(other).start);
  for (const child of ordered) walk(child, visit, below);
}

export function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "nodeType" in value && "src" in value;
}

/** A field that holds a node. */
export function nodeOf(node: Node, field: string): Node {
  const value = node[field];
  if (!isNode(value)) throw new Error(`Cannot read ${field} of ${node.nodeType}`);
  return value;
}

export interface Range {
  readonly start: number;
  readonly end: number;
}

export function rangeOf(node: Node): Range {
  const [start, length] = node.src.split(":").map(Number);
  return { start: start!, end: start! + length! };
}

/** A statement with its semicolon, which the compiler leaves out. */
export function statementRange(source: string, node: Node): Range {
  const { start, end } = rangeOf(node);
  const semicolon = /^\s*;/.exec(source.slice(end));
  return { start, end: end + (semicolon?.[0].length ?? 0) };
}

export function lineAt(source: string, offset: number): number {
  return source.slice(0, offset).split("\n").length;
}

/** A statement stands in a list of statements, or alone as the body of an if or a loop. */
export function isStatement(node: Node, parent: Node | undefined): boolean {
  if (parent === undefined || node.nodeType === "PlaceholderStatement" || node.nodeType === "Block") return false;
  const list = parent["statements"];
  if (Array.isArray(list)) return list.includes(node) && parent.nodeType !== "YulBlock";
  return isBody(node, parent);
}

export function isBody(node: Node, parent: Node | undefined): boolean {
  if (parent === undefined || node.nodeType === "Block") return false;
  return (
    ["trueBody", "falseBody", "body"].some((field) => parent[field] === node) && !parent.nodeType.startsWith("Yul")
  );
}
