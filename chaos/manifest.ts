// A manifest: what is asked, and what is broken when. One file says all that a run needs, beside the code.
import { parse, stringify } from "yaml";
import { z } from "zod";
import { ConclaveError } from "../agents/core/errors.ts";
import { limits } from "../agents/core/limits.ts";
import { protocols } from "../agents/core/protocols/index.ts";
import { agentsNeeded } from "../agents/core/request/rounds.ts";

/** Agents of a world without appeals; each is on every committee. */
export const AGENTS = 5;
/** Seats of a committee, and appeals, in a world with appeals. */
export const APPEAL_TERMS = { committeeSize: limits.minCommittee, appeals: 1 } as const;
/** Agents of a world with appeals: a committee of four, and the nine others that an appeal calls. */
export const APPEAL_AGENTS = agentsNeeded(APPEAL_TERMS);
/** Protocols whose seats read what a question names. */
export const SOURCE_PROTOCOLS: readonly string[] = protocols
  .filter(({ readsSources }) => readsSources)
  .map(({ id }) => id);
/** Latest moment of a perturbation's start and its longest duration, in milliseconds. */
export const MOST_AFTER_MS = 30_000;
export const MOST_FOR_MS = 30_000;

const agent = z.int().min(0);
const when = { afterMs: z.int().min(0).max(MOST_AFTER_MS), forMs: z.int().min(0).max(MOST_FOR_MS) };

/**
 * How an RPC node fails: it refuses with HTTP 503, breaks connections, does not answer, shows an old head, or is two nodes of
 * which either answers, and one is behind.
 */
export const RPC_FAULTS = ["refuse", "reset", "hang", "stale", "disagree"] as const;
/** How a model fails: it does not answer, answers with HTTP 500, with no JSON, or with what is not true. */
export const MODEL_FAULTS = ["hang", "die", "babble", "lie"] as const;

/** What a hostile peer does: it sends as much as others take, old messages again, bytes one by one, or opens a thousand streams. */
export const HARMS = ["flood", "replay", "slow", "streams"] as const;
/** How a source fails: it does not answer, answers with HTTP 500, breaks connections, never ends, or shows another number. */
export const SOURCE_FAULTS = ["hang", "die", "reset", "endless", "lie"] as const;
/** Which transactions of replaced blocks come back: all, or the asker's alone. */
export const KEPT = ["all", "asks"] as const;
/** Agents act on what has so many blocks on top: a reorganization of more undoes what they acted on. */
export const FINALITY_DEPTH = 3;
/** Blocks that a reorganization replaces at most. */
export const MOST_REPLACED = 12;
/** Seconds that the chain's clock jumps at most: a request of the harness has an hour. */
export const MOST_JUMP_SECONDS = 7_200;
/** The narrowest and the widest wire. */
export const LEAST_BYTES_PER_SECOND = 1_000;
export const MOST_BYTES_PER_SECOND = 1_000_000;
export const MOST_LOSS_PERCENT = 50;
/** The highest base fee, in gwei. */
export const MOST_GWEI = 200;

/** One thing that is broken `afterMs` after the start and mended `forMs` later. */
const perturbationSchema = z.discriminatedUnion("kind", [
  /** SIGKILL; started again when it is mended. */
  z.strictObject({ kind: z.literal("kill"), agent, ...when }),
  /** SIGTERM, and started again when it is mended. */
  z.strictObject({ kind: z.literal("restart"), agent, ...when }),
  /** SIGSTOP and SIGCONT. */
  z.strictObject({ kind: z.literal("pause"), agent, ...when }),
  /** SIGKILL, and the newest journal gets the beginning of one more record, as an interrupted write leaves it. */
  z.strictObject({ kind: z.literal("tear"), agent, ...when }),
  /** A second process for the agent's folder, which must end by itself. */
  z.strictObject({ kind: z.literal("second"), agent, ...when }),
  z.strictObject({ kind: z.literal("rpc"), agent, fault: z.enum(RPC_FAULTS), ...when }),
  z.strictObject({ kind: z.literal("model"), agent, fault: z.enum(MODEL_FAULTS), ...when }),
  /** No byte passes between the side and all others, in either direction. */
  z.strictObject({
    kind: z.literal("partition"),
    side: z
      .array(agent)
      .min(1)
      .max(APPEAL_AGENTS - 1),
    ...when,
  }),
  /** No byte passes from the one to the other; the other direction works. */
  z.strictObject({ kind: z.literal("oneWay"), from: agent, to: agent, ...when }),
  /** Everything that agents send to each other takes that much longer. */
  z.strictObject({ kind: z.literal("delay"), ms: z.int().min(1).max(3_000), ...when }),
  /** No more bytes a second pass in one direction of a connection between agents. */
  z.strictObject({
    kind: z.literal("bandwidth"),
    bytesPerSecond: z.int().min(LEAST_BYTES_PER_SECOND).max(MOST_BYTES_PER_SECOND),
    ...when,
  }),
  /** So many of a hundred packets between agents are lost and sent again; those behind them wait. */
  z.strictObject({ kind: z.literal("loss"), percent: z.int().min(1).max(MOST_LOSS_PERCENT), ...when }),
  /** The agent's disk has no room. */
  z.strictObject({ kind: z.literal("disk"), agent, ...when }),
  /** SIGKILL, and the disk is read-only when the agent is started again. */
  z.strictObject({ kind: z.literal("readOnly"), agent, ...when }),
  /** Somebody else uses the next nonce of the agent's account, whenever the agent sends a transaction. */
  z.strictObject({ kind: z.literal("nonce"), agent, ...when }),
  /** SIGKILL, and until it is mended another process harms the others under the agent's key. */
  z.strictObject({ kind: z.literal("hostile"), agent, harm: z.enum(HARMS), ...when }),
  /** SIGKILL, and until it is mended another process serves in its place, which lies and signs two things for one place. */
  z.strictObject({ kind: z.literal("equivocate"), agent, ...when }),
  /** What the agent reads of sources. */
  z.strictObject({ kind: z.literal("source"), agent, fault: z.enum(SOURCE_FAULTS), ...when }),
  /** The newest blocks are replaced when it begins. */
  z.strictObject({
    kind: z.literal("reorg"),
    blocks: z.int().min(1).max(MOST_REPLACED),
    kept: z.enum(KEPT),
    ...when,
  }),
  /** The chain's clock jumps when it begins, and stays ahead of this machine's. */
  z.strictObject({ kind: z.literal("clock"), seconds: z.int().min(1).max(MOST_JUMP_SECONDS), ...when }),
  /** The base fee jumps to so many gwei. */
  z.strictObject({ kind: z.literal("gas"), gwei: z.int().min(1).max(MOST_GWEI), ...when }),
]);

const manifestSchema = z
  .strictObject({
    /** Where it comes from, e.g. `seed 7`. */
    name: z.string().regex(/^[\w -]{1,60}$/, "expected letters, digits, blanks and hyphens"),
    requests: z
      .array(
        z
          .strictObject({
            protocol: z.enum(protocols.map(({ id }) => id)),
            afterMs: when.afterMs,
            /** True if the sum stands at a source, which each agent reads by itself. */
            source: z.boolean().default(false),
          })
          .refine(({ protocol, source }) => !source || SOURCE_PROTOCOLS.includes(protocol), {
            path: ["source"],
            error: `expected a protocol that takes sources: ${SOURCE_PROTOCOLS.join(", ")}`,
          }),
      )
      .min(1)
      .max(16),
    perturbations: z.array(perturbationSchema).max(32),
    /** True if somebody appeals against every decision as soon as it is made. The world has thirteen agents then. */
    appeals: z.boolean().default(false),
    /** Agents that have to be slashed in the end. Whoever equivocates may be, and nobody else. */
    slashed: z.array(agent).default([]),
  })
  .refine(
    ({ perturbations, slashed }) =>
      slashed.every((one) => perturbations.some((other) => other.kind === "equivocate" && other.agent === one)),
    { path: ["slashed"], error: "expected agents that equivocate" },
  )
  .superRefine(({ perturbations, appeals }, context) => {
    const agents = agentsOf(appeals);
    for (const [index, perturbation] of perturbations.entries()) {
      if (perturbation.kind === "oneWay" && perturbation.from === perturbation.to)
        context.addIssue({
          code: "custom",
          path: ["perturbations", index, "to"],
          message: 'expected another agent than "from"',
        });
      for (const [field, value] of Object.entries(perturbation)) {
        if (!["agent", "side", "from", "to"].includes(field)) continue;
        const named: readonly unknown[] = [value].flat();
        const isKnown = named.every((one) => Number(one) < agents);
        // A side of all agents would part nobody.
        if (isKnown && named.length < agents) continue;
        const known = `expected agents from 0 to ${agents - 1}${appeals ? "" : `, or with "appeals: true" to ${APPEAL_AGENTS - 1}`}`;
        const message = isKnown ? `expected at most ${agents - 1} agents` : `${known}, not ${JSON.stringify(value)}`;
        context.addIssue({ code: "custom", path: ["perturbations", index, field], message });
      }
    }
  });

/** Agents of a world with or without appeals. */
export function agentsOf(appeals: boolean): number {
  return appeals ? APPEAL_AGENTS : AGENTS;
}

export type Perturbation = z.infer<typeof perturbationSchema>;
export type PerturbationKind = Perturbation["kind"];
export const PERTURBATIONS: readonly PerturbationKind[] = perturbationSchema.options.map(
  ({ shape }) => shape.kind.value,
);
export type Manifest = z.infer<typeof manifestSchema>;

/** Reads a manifest. Throws USAGE that names the field. */
export function parseManifest(text: string, path: string): Manifest {
  const wrong = (what: string): ConclaveError =>
    new ConclaveError("USAGE", `Correct the manifest ${path}: ${what}`, { field: "manifest", value: path });
  let value: unknown;
  try {
    value = parse(text, { maxAliasCount: 0 });
  } catch (error) {
    throw wrong(`it is no YAML (${error instanceof Error ? error.message.split("\n")[0] : "unknown"})`);
  }
  const parsed = manifestSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw wrong(`${issue?.path.join(".") ?? ""}: ${issue?.message ?? "invalid"}`);
}

export function printManifest(manifest: Manifest): string {
  return stringify(manifest, { collectionStyle: "any" });
}

/** The moment, from the start, at which everything is mended, in milliseconds. */
export function healMs({ perturbations, requests }: Manifest): number {
  const ends = perturbations.map(({ afterMs, forMs }) => afterMs + forMs);
  return Math.max(0, ...ends, ...requests.map(({ afterMs }) => afterMs));
}
