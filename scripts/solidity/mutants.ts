// Mutants of the contracts, and one build that holds many of them. The tests' chain chooses one at run time by the
// number that it gives as block.coinbase, so that trying another mutant compiles nothing.
import { isBody, isNode, isStatement, lineAt, nodeOf, parse, rangeOf, statementRange, walk } from "./ast.ts";
import type { Node, Range } from "./ast.ts";
import type { Sources } from "./compiler.ts";
import { rewrite } from "./rewrite.ts";
import type { Wrap } from "./rewrite.ts";

export interface Mutant extends Range {
  /** Number from 1, in the order of files and places: stable while the contracts do not change. */
  readonly id: number;
  readonly file: string;
  readonly line: number;
  readonly operator: string;
  readonly original: string;
  /** Replacement; empty for a statement that is left out. */
  readonly replacement: string;
  readonly kind: "expression" | "statement";
  /** Type of a number that has none by itself: both sides of ?: must have the same type. */
  readonly cast: string;
  /** True if the statement stands alone as the body of an if or a loop. */
  readonly body: boolean;
}

type Draft = Pick<Mutant, "operator" | "replacement"> & Partial<Pick<Mutant, "kind" | "cast">>;

const binary: Readonly<Record<string, readonly string[]>> = {
  "<": ["<=", ">="],
  "<=": ["<", ">"],
  ">": [">=", "<="],
  ">=": [">", "<"],
  "==": ["!="],
  "!=": ["=="],
  "&&": ["||"],
  "||": ["&&"],
  "+": ["-"],
  "-": ["+"],
  "*": ["/"],
  "/": ["*"],
  "%": ["*"],
  "&": ["|"],
  "|": ["&"],
  "^": ["&"],
  "<<": [">>"],
  ">>": ["<<"],
};
const assignments: Readonly<Record<string, string>> = {
  "+=": "-=",
  "-=": "+=",
  "*=": "/=",
  "/=": "*=",
  "|=": "&=",
  "&=": "|=",
  "<<=": ">>=",
  ">>=": "<<=",
};
const yulFunctions: Readonly<Record<string, string>> = {
  lt: "gt",
  gt: "lt",
  eq: "xor",
  add: "sub",
  sub: "add",
  mul: "div",
  div: "mul",
  and: "or",
  or: "and",
  shl: "shr",
  shr: "shl",
};

/** Returns all mutants of `sources`. A mutation of inline assembly replaces the whole block by a changed copy. */
export function findMutants(sources: Sources): readonly Mutant[] {
  const trees = parse(sources);
  const constants = findConstants([...trees.values()]);
  const mutants: Mutant[] = [];
  for (const [file, tree] of trees) {
    const source = sources[file]!;
    const add = (range: Range, body: boolean, drafts: readonly Draft[]): void => {
      for (const draft of drafts) {
        const place = { ...range, file, line: lineAt(source, range.start), body };
        const original = source.slice(range.start, range.end);
        mutants.push({ id: mutants.length + 1, ...place, original, kind: "expression", cast: "", ...draft });
      }
    };
    walk(tree, (node, above) => {
      const parent = above.at(-1);
      if (above.some(({ nodeType }) => nodeType === "InlineAssembly")) return;
      if (node.nodeType === "InlineAssembly") {
        for (const changed of mutateAssembly(source, node)) {
          const draft = { operator: changed.operator, replacement: changed.block, kind: "statement" as const };
          add(rangeOf(node), false, [draft]);
          Object.assign(mutants.at(-1)!, { line: lineAt(source, changed.at.start) });
        }
        return;
      }
      if (isStatement(node, parent)) {
        add(statementRange(source, node), isBody(node, parent), mutateStatement(source, node, above));
      }
      if (isInBody(above)) add(rangeOf(node), false, mutateExpression(source, node, parent, constants));
    });
  }
  return mutants;
}

function isInBody(above: readonly Node[]): boolean {
  const at = above.findLastIndex(
    ({ nodeType }) => nodeType === "FunctionDefinition" || nodeType === "ModifierDefinition",
  );
  // A body is a block; parameters, array lengths and modifiers' names are not.
  return at >= 0 && above[at + 1]?.nodeType === "Block" && !above.some(({ nodeType }) => nodeType === "ArrayTypeName");
}

function findConstants(trees: readonly Node[]): ReadonlySet<unknown> {
  const ids = new Set<unknown>();
  for (const tree of trees) {
    walk(tree, (node) => {
      if (node.nodeType === "VariableDeclaration" && node["mutability"] === "constant") ids.add(node["id"]);
    });
  }
  return ids;
}

function typeOf(node: Node): string {
  const descriptions = (node["typeDescriptions"] ?? node["commonType"]) as { typeString?: string } | undefined;
  return descriptions?.typeString ?? "";
}

const isInteger = (type: string): boolean => /^u?int\d*$/.test(type);

function mutateStatement(source: string, node: Node, above: readonly Node[]): readonly Draft[] {
  const drop: Draft = { operator: "drop", replacement: "", kind: "statement" };
  switch (node.nodeType) {
    case "EmitStatement":
    case "RevertStatement":
      return [drop];
    case "Return":
      return canDropReturn(node, above) ? [drop] : [];
    case "ExpressionStatement": {
      const expression = nodeOf(node, "expression");
      const swapped = expression.nodeType === "Assignment" ? assignments[String(expression["operator"])] : undefined;
      if (swapped === undefined) return [drop];
      const [left, right] = ["leftHandSide", "rightHandSide"].map((field) => textOf(source, nodeOf(expression, field)));
      return [drop, { operator: "assign", replacement: `${left} ${swapped} ${right};`, kind: "statement" }];
    }
    default:
      return [];
  }
}

/** The compiler refuses a function that never sets a storage or calldata reference which it returns. */
function canDropReturn(node: Node, above: readonly Node[]): boolean {
  const owner = above.findLast(({ nodeType }) => nodeType === "FunctionDefinition");
  if (owner === undefined || !isNode(node["expression"])) return owner !== undefined;
  const results = nodeOf(owner, "returnParameters")["parameters"] as readonly Node[];
  return results.every((result) => !["storage", "calldata"].includes(String(result["storageLocation"])));
}

function mutateExpression(
  source: string,
  node: Node,
  parent: Node | undefined,
  constants: ReadonlySet<unknown>,
): readonly Draft[] {
  const text = textOf(source, node);
  const drafts: Draft[] = [];
  if (node.nodeType === "BinaryOperation" && !typeOf(node).startsWith("int_const")) {
    drafts.push(...mutateBinary(source, node));
  } else if (isConditionOf(node, parent) && node["operator"] !== "!") {
    drafts.push({ operator: "negate", replacement: `!(${text})` });
  }
  if (node.nodeType === "UnaryOperation" && node["operator"] === "!") {
    drafts.push({ operator: "negate", replacement: textOf(source, nodeOf(node, "subExpression")) });
  }
  if (constants.has(node["referencedDeclaration"]) && isInteger(typeOf(node)) && isValue(node)) {
    drafts.push({ operator: "constant", replacement: `${text} + 1` });
  }
  const type = node.nodeType === "Literal" ? literalType(node, parent) : undefined;
  if (type !== undefined) {
    const value = BigInt(String(node["value"]).replaceAll("_", ""));
    for (const other of value === 0n ? [1n] : [value + 1n, value - 1n]) {
      drafts.push({ operator: "literal", replacement: String(other), cast: type });
    }
  }
  return drafts;
}

const isValue = (node: Node): boolean => node.nodeType === "Identifier" || node.nodeType === "MemberAccess";

function mutateBinary(source: string, node: Node): readonly Draft[] {
  const [left, right] = ["leftExpression", "rightExpression"].map((field) => textOf(source, nodeOf(node, field)));
  const operator = String(node["operator"]);
  // A type's own operator may have no counterpart.
  const others = node["function"] === undefined ? (binary[operator] ?? []) : [];
  const swapped = others.map((other) => ({ operator: "binary", replacement: `${left} ${other} ${right}` }));
  const sides = operator === "&&" || operator === "||" ? [left, right] : [];
  return [...swapped, ...sides.map((side) => ({ operator: "side", replacement: side! }))];
}

/** True for plain conditions; comparisons and && have mutants of their own. */
function isConditionOf(node: Node, parent: Node | undefined): boolean {
  if (parent === undefined || typeOf(node) !== "bool") return false;
  if (parent["condition"] === node) return true;
  const callee = parent.nodeType === "FunctionCall" ? nodeOf(parent, "expression") : undefined;
  return callee?.["name"] === "require" && (parent["arguments"] as readonly Node[])[0] === node;
}

/** Returns the type of a number beside a typed operand; none for a number that the compiler computes with others. */
function literalType(node: Node, parent: Node | undefined): string | undefined {
  if (parent?.nodeType !== "BinaryOperation" || node["kind"] !== "number" || isNode(node["subdenomination"]))
    return undefined;
  if (typeof node["subdenomination"] === "string" || !/^(0x[0-9a-fA-F_]+|[0-9_]+)$/.test(String(node["value"])))
    return undefined;
  const isShift = ["<<", ">>", "**"].includes(String(parent["operator"]));
  if (isShift) return parent["rightExpression"] === node ? "uint8" : undefined;
  const common = (parent["commonType"] as { typeString?: string } | undefined)?.typeString ?? "";
  return isInteger(common) ? common : undefined;
}

interface ChangedBlock {
  readonly operator: string;
  readonly block: string;
  readonly at: Range;
}

function mutateAssembly(source: string, assembly: Node): readonly ChangedBlock[] {
  const whole = rangeOf(assembly);
  const changes: ChangedBlock[] = [];
  const change = (operator: string, node: Node, text: string): void => {
    const at = rangeOf(node);
    changes.push({ operator, block: source.slice(whole.start, at.start) + text + source.slice(at.end, whole.end), at });
  };
  walk(nodeOf(assembly, "AST"), (node, above) => {
    const parent = above.at(-1);
    if (node.nodeType === "YulFunctionCall") {
      const name = nodeOf(node, "functionName");
      const other = yulFunctions[String(name["name"])];
      if (other !== undefined) change("yul-call", name, other);
      if (name["name"] === "iszero") change("yul-negate", node, `iszero(${textOf(source, node)})`);
    } else if (node.nodeType === "YulLiteral" && node["kind"] === "number" && parent?.nodeType !== "YulCase") {
      change("yul-literal", node, String(BigInt(String(node["value"])) + 1n));
    } else if (node.nodeType === "YulExpressionStatement" || node.nodeType === "YulAssignment") {
      change("yul-drop", node, "");
    }
  });
  return changes;
}

function textOf(source: string, node: Node): string {
  const { start, end } = rangeOf(node);
  return source.slice(start, end);
}

export const switchLibrary = { file: "__ConclaveMutant.sol", name: "__ConclaveMutant" } as const;

/** Number that switches no mutant on, and makes coverage count every switch that is read (see probes.ts). */
export const countReads = 2 ** 32;

/** Source of the switch. Reading the block's coinbase is a view; the cast lets pure functions read it. */
export const switchSource = `// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;
library ${switchLibrary.name} {
    function on(uint256 id) internal pure returns (bool) { return _pure(_on)(id); }
    function _on(uint256 id) private view returns (bool) {
        uint256 active = uint160(address(block.coinbase));
        if (active == ${countReads}) {
            assembly ("memory-safe") {
                mstore(0, id)
                pop(staticcall(gas(), 0xc0bEc0BEc0BeC0bEC0beC0bEC0bEC0beC0beC0BE, 0, 32, 0, 0))
            }
        }
        return active == id;
    }
    function _pure(function(uint256) view returns (bool) from) private pure returns (function(uint256) pure returns (bool) to) {
        assembly { to := from }
    }
}
`;

/**
 * Returns the contracts with each of `mutants` behind its switch. With no mutant switched on they behave as they are.
 */
export function plant(sources: Sources, mutants: readonly Mutant[]): Sources {
  const planted: Record<string, string> = {};
  for (const [file, own] of Map.groupBy(mutants, (mutant) => mutant.file)) {
    const places = Map.groupBy(own, ({ start, end, kind }) => `${start}:${end}:${kind}`);
    // If a statement and an expression have the same range, the statement is outside.
    const ordered = [...places.values()].toSorted((one, other) => other[0]!.kind.localeCompare(one[0]!.kind));
    const text = rewrite(sources[file]!, ordered.map(wrapPlace));
    planted[file] = `${text} import "${switchLibrary.file}";`;
  }
  return planted;
}

function wrapPlace(mutants: readonly Mutant[]): Wrap {
  const { start, end, kind, body } = mutants[0]!;
  const on = ({ id }: Mutant): string => `${switchLibrary.name}.on(${id})`;
  if (kind === "expression") {
    const choices = mutants.map((mutant) => `${on(mutant)} ? ${mutant.cast}(${mutant.replacement}) : `).join("");
    return { start, end, wrap: (inner) => `(${choices}${mutants[0]!.cast}(${inner}))` };
  }
  const choices = mutants.map((mutant) => `if (${on(mutant)}) { ${mutant.replacement} } else `).join("");
  return { start, end, wrap: (inner) => (body ? `{ ${choices}{ ${inner} } }` : `${choices}{ ${inner} }`) };
}

/** Returns the change as two lines; for an assembly block only the part that differs. */
export function diff(source: string, mutant: Mutant): string {
  const before = source.slice(0, mutant.start) + mutant.original + source.slice(mutant.end);
  const after = source.slice(0, mutant.start) + mutant.replacement + source.slice(mutant.end);
  let first = 0;
  while (first < before.length && before[first] === after[first]) first++;
  let last = 0;
  while (last < before.length - first && before.at(-1 - last) === after.at(-1 - last)) last++;
  const lines = (text: string): string => {
    const from = text.lastIndexOf("\n", first - 1) + 1;
    const to = text.indexOf("\n", text.length - last);
    return text
      .slice(from, to < 0 ? text.length : to)
      .replace(/\s+/g, " ")
      .trim();
  };
  return `- ${lines(before)}\n+ ${lines(after)}`;
}

/** Returns `count` items of a list, in its order; the same seed gives the same items. */
export function sample<Item>(items: readonly Item[], count: number, seed: number): readonly Item[] {
  let state = seed >>> 0;
  const random = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
  const drawn = items.map((item, index) => ({ item, index, order: random() }));
  const chosen = drawn.toSorted((one, other) => one.order - other.order).slice(0, count);
  return chosen.toSorted((one, other) => one.index - other.index).map(({ item }) => item);
}
