// The contracts as the compiler parses them: coverage and mutation start from it.
import { compile, type Sources } from "./compiler.ts";

/** One node of the compiler's tree; src is "first byte:length:file". */
export interface Node {
  readonly nodeType: string;
  readonly src: string;
  readonly [field: string]: unknown;
}

/** The typed trees of `sources`. Throws the compiler's own message. */
export function parse(sources: Sources): ReadonlyMap<string, Node> {
  const output = compile(sources, { "": ["ast"] });
  return new Map(Object.keys(sources).map((file) => [file, output.sources[file]!.ast as Node]));
}

/**
 * Visits every node below `node` in the order of the text, parents first; `above` lists the ancestors, the nearest
 * last.
 */
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

/** Returns a field that holds a node. */
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

/** Returns the range of a statement with its semicolon, which the compiler leaves out. */
export function statementRange(source: string, node: Node): Range {
  const { start, end } = rangeOf(node);
  const semicolon = /^\s*;/.exec(source.slice(end));
  return { start, end: end + (semicolon?.[0].length ?? 0) };
}

export function lineAt(source: string, offset: number): number {
  return source.slice(0, offset).split("\n").length;
}

/** True for a statement: it stands in a list of statements, or alone as the body of an if or a loop. */
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
