// Reads Slither's report as findings, and the suppressions in the contracts.
import { z } from "zod";

import type { Sources } from "./compiler.ts";

export const impacts = ["High", "Medium", "Low", "Informational", "Optimization"] as const;
type Impact = (typeof impacts)[number];

export interface Finding {
  readonly impact: Impact;
  readonly check: string;
  /** Place such as "contracts/A.sol:12". */
  readonly at: string;
  readonly text: string;
}

const reportSchema = z.object({
  success: z.boolean(),
  error: z.string().nullable(),
  results: z.object({
    detectors: z
      .array(
        z.object({
          check: z.string(),
          impact: z.enum(impacts),
          description: z.string(),
          elements: z.array(
            z.object({ source_mapping: z.object({ filename_relative: z.string(), lines: z.array(z.number()) }) }),
          ),
        }),
      )
      .default([]),
  }),
});

/** Returns findings in the order of their impact. Throws Slither's message if it could not analyze. */
export function readFindings(json: string): readonly Finding[] {
  const report = reportSchema.parse(JSON.parse(json));
  if (!report.success) throw new Error(`Slither failed: ${report.error ?? "it gives no reason"}`);
  const findings = report.results.detectors.map(({ check, impact, description, elements }) => {
    const place = elements[0]?.source_mapping;
    const at = place === undefined ? "" : `${place.filename_relative}:${place.lines[0] ?? 1}`;
    return { impact, check, at, text: description.trim() };
  });
  return findings.toSorted((one, other) => impacts.indexOf(one.impact) - impacts.indexOf(other.impact));
}

export interface Suppression {
  readonly at: string;
  readonly checks: string;
  /** The argument for it; empty if none is given. */
  readonly why: string;
}

/**
 * Finds suppressions, `// slither-disable-next-line CHECK: why`; the argument may continue in the comment lines above
 * it.
 */
export function findSuppressions(sources: Sources): readonly Suppression[] {
  return Object.entries(sources).flatMap(([file, source]) =>
    source.split("\n").flatMap((line, index) => {
      const match = /slither-disable-(?:next-line|start)\s+([\w,-]+)(?::\s*(.*))?$/.exec(line);
      if (match === null)
        return line.includes("slither-disable-end") || !line.includes("slither-disable")
          ? []
          : [{ at: `${file}:${index + 1}`, checks: "", why: "" }];
      return [{ at: `${file}:${index + 1}`, checks: match[1]!, why: match[2] ?? "" }];
    }),
  );
}

/** Returns what must be repaired or argued: every high or medium finding, and every suppression without an argument. */
export function problemsIn(findings: readonly Finding[], suppressions: readonly Suppression[]): readonly string[] {
  const serious = findings.filter(({ impact }) => impact === "High" || impact === "Medium");
  const bare = suppressions.filter(({ why }) => why.split(/\s+/).length < 3);
  return [
    ...serious.map(({ impact, check, at, text }) => `${impact} ${check} ${at}\n  ${text.replaceAll("\n", "\n  ")}`),
    ...bare.map(({ at }) => `${at}: a suppression without an argument; write "slither-disable-next-line CHECK: why"`),
  ];
}
