import { messageOf } from "../../agents/core/errors.ts";
import { z } from "zod";
import { runBayesianReference, type BayesianResult, type BayesianScenario } from "../references/mbft-bayesian.ts";
import {
  runReference,
  runReferenceSequence,
  type ReferenceResult,
  type ReferenceScenario,
} from "../references/mbft.ts";
import { compareValues, type Difference, type FieldDifference, type Tolerance } from "./compare.ts";
import { compareHashgraph, hashgraphFile } from "./hashgraph.ts";

export interface CaseResult {
  readonly scenario: string;
  readonly differences: readonly Difference[];
}

export type VectorFile =
  | { readonly format: "mbft-reference"; readonly content: z.infer<typeof mbftFile> }
  | { readonly format: "mbft-bayesian-reference"; readonly content: z.infer<typeof bayesianFile> }
  | { readonly format: "hashgraph"; readonly content: z.infer<typeof hashgraphFile> };

export type Parsed = { readonly ok: true; readonly file: VectorFile } | { readonly ok: false; readonly reason: string };

/**
 * Tolerances. The reference sums its hypotheses in the order of an unordered set, so sums of three or more may differ
 * in their last bits: relative for posteriors, absolute for the log Bayes factor, the difference of two logarithms.
 * Everything else is compared bit for bit.
 */
const POSTERIOR_TOLERANCE = 2 ** -50;
const LOG_TOLERANCE = 2 ** -48;
/** Most orders that are tried: 6! for six tied hypotheses. */
const MAX_ORDERS = 720;

const proposals = z.array(z.tuple([z.string(), z.number()])).min(1);
const reputation = z.record(z.string(), z.number());
const rounds = z.int().min(0).max(10_000);
const id = z.string();

const mockAgent = z.strictObject({
  id,
  answer: z.string(),
  tau: z.number(),
  byzantine: z.boolean(),
  accept: z.array(z.string()).nullable(),
  rho0: z.number(),
});
const scriptedAgent = z.strictObject({ id, props: proposals, votes: z.array(z.number()).min(1), rho0: z.number() });
/** Remarks about a case, without effect. */
const remarks = {
  kind: z.string().optional(),
  tier: z.string().optional(),
  note: z.string().optional(),
};
const hasAllAgents = {
  holds: ({ n, agents }: { readonly n?: number | undefined; readonly agents: readonly unknown[] }) =>
    n === undefined || n === agents.length,
  issue: { message: "must be the number of agents", path: ["n"] },
};
const mbftSetting = z.strictObject({
  id,
  ...remarks,
  n: z.int().optional(),
  agents: z.array(z.union([scriptedAgent, mockAgent])).min(1),
  theta: z.number(),
  sigma: z.number(),
  maxRounds: rounds,
});
const mbftOutcome = z.strictObject({
  committed: z.boolean(),
  value: z.string().nullable(),
  leader: z.string().nullable(),
  rounds,
});
const mbftRound = z.strictObject({
  round: rounds,
  leader: z.string(),
  aggregate: z.number(),
  committed: z.string().nullable(),
  slashed: z.array(z.string()),
  votes: z.array(z.tuple([z.string(), z.number()])),
});
const mbftCase = mbftSetting
  .extend({ expect: mbftOutcome.extend({ finalReputation: reputation, history: z.array(mbftRound) }) })
  .refine(hasAllAgents.holds, hasAllAgents.issue);
const mbftSequence = mbftSetting
  .extend({ tasks: z.array(mbftOutcome.extend({ reputation })) })
  .refine(hasAllAgents.holds, hasAllAgents.issue);
const mbftFile = z.strictObject({
  meta: z.unknown(),
  scenarios: z.array(mbftCase),
  edges: z.array(mbftCase).default([]),
  sequences: z.array(mbftSequence).default([]),
});

const bayesianRound = z.strictObject({
  round: rounds,
  posterior: reputation,
  logBf: z.number(),
  committed: z.string().nullable(),
});
const bayesianCase = z
  .strictObject({
    id,
    ...remarks,
    n: z.int().optional(),
    k: z.int().optional(),
    dynamic: z.boolean().optional(),
    agents: z.array(z.strictObject({ id, props: proposals, rho0: z.number() })).min(1),
    thetaPost: z.number(),
    logBfMin: z.number(),
    sigma: z.number(),
    maxRounds: rounds,
    hashSeedDependent: z.boolean().default(false),
    expect: z.strictObject({
      committed: z.boolean(),
      value: z.string().nullable(),
      rounds,
      logBayesFactor: z.number(),
      posterior: reputation,
      finalReputation: reputation,
      history: z.array(bayesianRound),
    }),
  })
  .refine(hasAllAgents.holds, hasAllAgents.issue);
const bayesianFile = z.strictObject({
  meta: z.unknown(),
  scenarios: z.array(bayesianCase),
  edges: z.array(bayesianCase).default([]),
  sequences: z.array(z.unknown()).max(0, "must be empty: only mbft-reference files have sequences").default([]),
});

const anyFile = z.object({
  scenarios: z.array(z.record(z.string(), z.unknown())),
  edges: z.array(z.record(z.string(), z.unknown())).default([]),
  sequences: z.array(z.record(z.string(), z.unknown())).default([]),
});

/** Recognizes the format of a vector file and checks every field that is read from it. */
export function parseVectors(text: string): Parsed {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    return { ok: false, reason: `is not JSON: ${messageOf(error)}` };
  }
  if (typeof json === "object" && json !== null && "cases" in json) {
    const parsed = hashgraphFile.safeParse(json);
    if (!parsed.success) return { ok: false, reason: `is not a valid hashgraph file: ${describe(parsed.error)}` };
    return { ok: true, file: { format: "hashgraph", content: parsed.data } };
  }
  const any = anyFile.safeParse(json);
  if (!any.success) return { ok: false, reason: `has an unknown format: ${describe(any.error)}` };
  const first = [...any.data.scenarios, ...any.data.edges, ...any.data.sequences][0];
  if (first === undefined)
    return { ok: false, reason: "has an unknown format: scenarios, edges and sequences are empty" };
  if ("thetaPost" in first) {
    const parsed = bayesianFile.safeParse(json);
    if (!parsed.success)
      return { ok: false, reason: `is not a valid mbft-bayesian-reference file: ${describe(parsed.error)}` };
    return { ok: true, file: { format: "mbft-bayesian-reference", content: parsed.data } };
  }
  if ("theta" in first) {
    const parsed = mbftFile.safeParse(json);
    if (!parsed.success) return { ok: false, reason: `is not a valid mbft-reference file: ${describe(parsed.error)}` };
    return { ok: true, file: { format: "mbft-reference", content: parsed.data } };
  }
  return {
    ok: false,
    reason: `has an unknown format: its first case, with the id ${JSON.stringify(first["id"] ?? null)}, has neither theta (mbft-reference) nor thetaPost (mbft-bayesian-reference)`,
  };
}

/** Runs every case of a file. */
export function checkVectors(file: VectorFile): readonly CaseResult[] {
  switch (file.format) {
    case "mbft-reference": {
      const { scenarios, edges, sequences } = file.content;
      const cases = [...scenarios, ...edges].map((entry) =>
        caseResult(entry.id, compareMbft(runReference(entry), entry.expect)),
      );
      return [...cases, ...sequences.map((entry) => caseResult(entry.id, compareSequence(entry)))];
    }
    case "mbft-bayesian-reference":
      return [...file.content.scenarios, ...file.content.edges].map((entry) =>
        caseResult(entry.id, compareBayesianCase(entry)),
      );
    case "hashgraph":
      return file.content.cases.map((entry) => caseResult(entry.name, compareHashgraph(entry)));
  }
}

function caseResult(scenario: string, differences: readonly FieldDifference[]): CaseResult {
  return { scenario, differences: differences.map((difference) => ({ scenario, ...difference })) };
}

function compareMbft(got: ReferenceResult, expected: z.infer<typeof mbftCase>["expect"]): readonly FieldDifference[] {
  return compareValues("", expected, got);
}

function compareSequence(entry: z.infer<typeof mbftSequence>): readonly FieldDifference[] {
  const scenario: ReferenceScenario = entry;
  const got = runReferenceSequence(scenario, entry.tasks.length).map(
    ({ committed, value, leader, rounds: count, finalReputation }) => ({
      committed,
      value,
      leader,
      rounds: count,
      reputation: finalReputation,
    }),
  );
  return compareValues("tasks", entry.tasks, got);
}

/**
 * The reference keeps its hypotheses in an unordered set. A scenario whose result depends on that order (hypotheses
 * tie, or its author flagged it) matches if some order of the hypotheses gives the expected result.
 */
function compareBayesianCase(entry: z.infer<typeof bayesianCase>): readonly FieldDifference[] {
  const scenario: BayesianScenario = entry;
  const result = runBayesianReference(scenario);
  const differences = compareBayesian(result, entry.expect);
  if (differences.length === 0 || !(result.tied || entry.hashSeedDependent)) return differences;
  const hypotheses = [...new Set(entry.agents.flatMap(({ props }) => props.map(([answer]) => answer)))];
  let tried = 0;
  for (const order of permutations(hypotheses)) {
    if (compareBayesian(runBayesianReference(scenario, order), entry.expect).length === 0) return [];
    tried += 1;
    if (tried === MAX_ORDERS) break;
  }
  return differences;
}

function compareBayesian(
  got: BayesianResult,
  expected: z.infer<typeof bayesianCase>["expect"],
): readonly FieldDifference[] {
  const { tied: _, ...comparable } = got;
  return compareValues("", expected, comparable, lastBits);
}

const lastBits: Tolerance = (field, expected, got) => {
  const distance = Math.abs(expected - got);
  if (/(?:^|\.)posterior\./.test(field))
    return distance <= POSTERIOR_TOLERANCE * Math.max(Math.abs(expected), Math.abs(got));
  return /(?:^|\.)(?:logBf|logBayesFactor)$/.test(field) && distance <= LOG_TOLERANCE;
};

function* permutations(items: readonly string[]): Generator<readonly string[]> {
  if (items.length === 0) yield [];
  for (const [index, item] of items.entries()) {
    for (const rest of permutations(items.toSpliced(index, 1))) yield [item, ...rest];
  }
}

/** Returns path and message of the first issue; of a union, those of the branch with the fewest issues. */
function describe(error: z.ZodError): string {
  const path: PropertyKey[] = [];
  let issue = error.issues[0];
  for (let inner = issue; inner !== undefined;) {
    issue = inner;
    path.push(...inner.path);
    inner = inner.code === "invalid_union" ? inner.errors.toSorted((a, b) => a.length - b.length)[0]?.[0] : undefined;
  }
  return `${formatPath(path)}: ${inPlainWords(issue?.message ?? error.message)}`;
}

/** Zod's message about a type, as what is there and what is needed. */
function inPlainWords(message: string): string {
  return message.replace(/^Invalid input: expected (.+), received (.+)$/, "it is of type $2, but must be of type $1");
}

function formatPath(path: readonly PropertyKey[]): string {
  const parts = path.map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`));
  return parts.length === 0 ? "top level" : parts.join("").replace(/^\./, "");
}
