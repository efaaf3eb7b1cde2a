// Coverage by probes of our own, because Hardhat reports statements but no branches: a call before every statement, and one
// for each result of every condition. EDR only collects the hits. Lines stay where they are.
import { isBody, isNode, isStatement, lineAt, nodeOf, parse, rangeOf, statementRange, walk } from "./ast.ts";
import type { Node } from "./ast.ts";
import type { Sources } from "./compiler.ts";
import { rewrite } from "./rewrite.ts";
import type { Wrap } from "./rewrite.ts";

export interface Probe {
  readonly id: number;
  readonly file: string;
  readonly line: number;
  /** A branch is one result of one condition. */
  readonly kind: "statement" | "true" | "false";
  readonly text: string;
}

interface Probed {
  readonly sources: Sources;
  readonly probes: readonly Probe[];
}

export const probeLibrary = { file: "__ConclaveProbe.sol", name: "__ConclaveProbe" } as const;

/** Inline assembly counts as one statement: what happens inside is not measured. */
export function addProbes(sources: Sources): Probed {
  const probes: Probe[] = [];
  const rewritten: Record<string, string> = {};
  for (const [file, tree] of parse(sources)) {
    const source = sources[file]!;
    const wraps: Wrap[] = [];
    const add = (node: Node, kind: Probe["kind"]): string => {
      const { start, end } = rangeOf(node);
      const text = source.slice(start, end).replace(/\s+/g, " ").slice(0, 80);
      probes.push({ id: probes.length + 1, file, line: lineAt(source, start), kind, text });
      return `${probeLibrary.name}.hit(${probes.length})`;
    };
    walk(tree, (node, above) => {
      const parent = above.at(-1);
      if (isStatement(node, parent)) {
        const hit = add(node, "statement");
        const braces = isBody(node, parent);
        const wrap = (inner: string): string => (braces ? `{ ${hit}; ${inner} }` : `${hit}; ${inner}`);
        wraps.push({ ...statementRange(source, node), wrap });
      }
      for (const condition of conditionsOf(node)) {
        const [yes, no] = [add(condition, "true"), add(condition, "false")];
        wraps.push({ ...rangeOf(condition), wrap: (inner) => `((${inner}) ? ${yes} : !${no})` });
      }
    });
    rewritten[file] = `${rewrite(source, wraps)} import "${probeLibrary.file}";`;
  }
  return { sources: rewritten, probes };
}

/**
 * Returns the conditions of if, loops, require, assert and ?:, and the left side of && and ||, which decides whether
 * the right one runs.
 */
function conditionsOf(node: Node): readonly Node[] {
  switch (node.nodeType) {
    case "IfStatement":
    case "WhileStatement":
    case "DoWhileStatement":
    case "ForStatement":
    case "Conditional":
      return isNode(node["condition"]) ? [node["condition"]] : [];
    case "BinaryOperation":
      return ["&&", "||"].includes(String(node["operator"])) ? [nodeOf(node, "leftExpression")] : [];
    case "FunctionCall": {
      const callee = nodeOf(node, "expression");
      const isCheck = callee.nodeType === "Identifier" && ["require", "assert"].includes(String(callee["name"]));
      return isCheck ? (node["arguments"] as Node[]).slice(0, 1) : [];
    }
    default:
      return [];
  }
}

/** EDR reports every call of this address as a hit; the cast lets pure functions make it. */
export const probeSource = `// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;
library ${probeLibrary.name} {
    function hit(uint256 id) internal pure returns (bool) { return _pure(_hit)(id); }
    function _hit(uint256 id) private view returns (bool) {
        assembly ("memory-safe") {
            mstore(0, id)
            pop(staticcall(gas(), 0xc0bEc0BEc0BeC0bEC0beC0bEC0bEC0beC0beC0BE, 0, 32, 0, 0))
        }
        return true;
    }
    function _pure(function(uint256) view returns (bool) from) private pure returns (function(uint256) pure returns (bool) to) {
        assembly { to := from }
    }
}
`;

export interface FileCoverage {
  readonly file: string;
  readonly lines: Part;
  readonly branches: Part;
  readonly uncovered: readonly string[];
}

export interface Part {
  readonly covered: number;
  readonly total: number;
}

/**
 * Summarizes lines and branches. A line counts if a statement begins on it, and is covered if every such statement
 * ran.
 */
export function summarize(probes: readonly Probe[], hits: ReadonlySet<number>): readonly FileCoverage[] {
  return [...Map.groupBy(probes, ({ file }) => file)].map(([file, own]) => {
    const lines = [
      ...Map.groupBy(
        own.filter(({ kind }) => kind === "statement"),
        ({ line }) => line,
      ),
    ];
    const branches = own.filter(({ kind }) => kind !== "statement");
    const missed = own.filter(({ id }) => !hits.has(id));
    return {
      file,
      lines: { covered: lines.filter(([, all]) => all.every(({ id }) => hits.has(id))).length, total: lines.length },
      branches: { covered: branches.filter(({ id }) => hits.has(id)).length, total: branches.length },
      uncovered: missed.map(
        ({ line, kind, text }) => `${file}:${line} ${kind === "statement" ? "" : `never ${kind}: `}${text}`,
      ),
    };
  });
}

export function sum(parts: readonly Part[]): Part {
  return parts.reduce((total, part) => ({ covered: total.covered + part.covered, total: total.total + part.total }), {
    covered: 0,
    total: 0,
  });
}

/** Returns the covered percentage; 100 if there is nothing to cover. */
export function percent({ covered, total }: Part): number {
  return total === 0 ? 100 : (100 * covered) / total;
}
