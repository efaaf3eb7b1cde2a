// Makes manifests from seeds.
import { protocols } from "../agents/core/protocols/index.ts";
import { createRandom, type Random } from "../sim/random.ts";
import {
  agentsOf,
  FINALITY_DEPTH,
  HARMS,
  KEPT,
  LEAST_BYTES_PER_SECOND,
  MODEL_FAULTS,
  MOST_GWEI,
  MOST_JUMP_SECONDS,
  MOST_LOSS_PERCENT,
  PERTURBATIONS,
  RPC_FAULTS,
  SOURCE_FAULTS,
  SOURCE_PROTOCOLS,
  type Manifest,
  type Perturbation,
  type PerturbationKind,
} from "./manifest.ts";

/** Milliseconds: a committee is known some eight blocks after its request, and then needs a few seconds. */
const START_SPAN_MS = 12_000;
const LEAST_FOR_MS = 1_000;
/** A decision of five seats takes some 100 kB of each. */
const NARROW_BYTES_PER_SECOND = 50_000;
const SPAN_FOR_MS = 9_000;

/** Kinds by how often they are drawn. */
const KINDS: Readonly<Record<PerturbationKind, number>> = {
  kill: 4,
  restart: 2,
  pause: 2,
  tear: 2,
  second: 1,
  rpc: 4,
  model: 3,
  partition: 3,
  oneWay: 2,
  delay: 2,
  bandwidth: 2,
  loss: 2,
  disk: 2,
  readOnly: 1,
  nonce: 1,
  hostile: 3,
  equivocate: 2,
  source: 3,
  reorg: 3,
  clock: 2,
  gas: 2,
};

export interface GenerateOptions {
  /** The kinds of perturbations to draw from. */
  readonly only?: readonly PerturbationKind[];
  readonly appeals?: boolean;
}

/** Returns the manifest of a seed. */
export function generateManifest(seed: number, { only, appeals = false }: GenerateOptions = {}): Manifest {
  const random = createRandom(seed, "chaos");
  const kinds = PERTURBATIONS.filter((kind) => only === undefined || only.includes(kind));
  const weighted = kinds.flatMap((kind) => Array<PerturbationKind>(KINDS[kind]).fill(kind));
  const requests = Array.from({ length: random.between(1, 4) }, () => {
    // More than half as most requests are: by mbft.
    const protocol = random.chance(500_000) ? "mbft" : random.pick(protocols).id;
    const source = SOURCE_PROTOCOLS.includes(protocol) && random.chance(300_000);
    return { protocol, afterMs: random.below(START_SPAN_MS / 2), source };
  });
  const agents = agentsOf(appeals);
  const perturbations = Array.from({ length: random.between(1, 6) }, () =>
    perturb(random, random.pick(weighted), agents),
  );
  return { name: `${appeals ? "appeals " : ""}seed ${seed}`, requests, perturbations, appeals, slashed: [] };
}

function perturb(random: Random, kind: PerturbationKind, agents: number): Perturbation {
  const when = { afterMs: random.below(START_SPAN_MS), forMs: LEAST_FOR_MS + random.below(SPAN_FOR_MS) };
  const agent = random.below(agents);
  switch (kind) {
    case "rpc":
      return { kind, agent, fault: random.pick(RPC_FAULTS), ...when };
    case "model":
      return { kind, agent, fault: random.pick(MODEL_FAULTS), ...when };
    case "partition": {
      const seats = random.shuffled(Array.from({ length: agents }, (_, index) => index));
      return { kind, side: seats.slice(0, random.between(1, agents - 1)).toSorted((a, b) => a - b), ...when };
    }
    case "oneWay":
      return { kind, from: agent, to: (agent + random.between(1, agents - 1)) % agents, ...when };
    case "delay":
      return { kind, ms: random.between(20, 1_500), ...when };
    case "bandwidth":
      return { kind, bytesPerSecond: random.between(LEAST_BYTES_PER_SECOND, NARROW_BYTES_PER_SECOND), ...when };
    case "loss":
      return { kind, percent: random.between(1, MOST_LOSS_PERCENT), ...when };
    case "hostile":
      return { kind, agent, harm: random.pick(HARMS), ...when };
    case "source":
      return { kind, agent, fault: random.pick(SOURCE_FAULTS), ...when };
    case "reorg":
      // What is beyond the finality depth is the operator's to mend (docs/trust.md), so a named manifest tries it.
      return { kind, blocks: random.between(1, FINALITY_DEPTH), kept: random.pick(KEPT), ...when, forMs: 0 };
    case "clock":
      return { kind, seconds: random.between(1, MOST_JUMP_SECONDS), ...when, forMs: 0 };
    case "gas":
      return { kind, gwei: random.between(1, MOST_GWEI), ...when };
    default:
      return { kind, agent, ...when };
  }
}
