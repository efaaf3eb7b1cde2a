// Makes manifests from seeds.
import { protocols } from "../agents/core/protocols/index.ts";
import { createRandom, type Random } from "../sim/random.ts";
import {
  AGENTS,
  MODEL_FAULTS,
  PERTURBATIONS,
  RPC_FAULTS,
  type Manifest,
  type Perturbation,
  type PerturbationKind,
} from "./manifest.ts";

/** Milliseconds: a committee is known some eight blocks after its request, and then needs a few seconds. */
const START_SPAN_MS = 12_000;
const LEAST_FOR_MS = 1_000;
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
  disk: 2,
  nonce: 1,
};

/** Returns the manifest of a seed. `only`: the kinds of perturbations to draw from. */
export function generateManifest(seed: number, only: readonly PerturbationKind[] | null = null): Manifest {
  const random = createRandom(seed, "chaos");
  const kinds = PERTURBATIONS.filter((kind) => only === null || only.includes(kind));
  const weighted = kinds.flatMap((kind) => Array<PerturbationKind>(KINDS[kind]).fill(kind));
  const requests = Array.from({ length: random.between(1, 4) }, () => ({
    // More than half as most requests are: by mbft.
    protocol: random.chance(500_000) ? "mbft" : random.pick(protocols).id,
    afterMs: random.below(START_SPAN_MS / 2),
  }));
  const perturbations = Array.from({ length: random.between(1, 6) }, () => perturb(random, random.pick(weighted)));
  return { name: `seed ${seed}`, requests, perturbations };
}

function perturb(random: Random, kind: PerturbationKind): Perturbation {
  const when = { afterMs: random.below(START_SPAN_MS), forMs: LEAST_FOR_MS + random.below(SPAN_FOR_MS) };
  const agent = random.below(AGENTS);
  switch (kind) {
    case "rpc":
      return { kind, agent, fault: random.pick(RPC_FAULTS), ...when };
    case "model":
      return { kind, agent, fault: random.pick(MODEL_FAULTS), ...when };
    case "partition": {
      const seats = random.shuffled(Array.from({ length: AGENTS }, (_, index) => index));
      return { kind, side: seats.slice(0, random.between(1, AGENTS - 1)).toSorted((a, b) => a - b), ...when };
    }
    case "oneWay":
      return { kind, from: agent, to: (agent + random.between(1, AGENTS - 1)) % AGENTS, ...when };
    case "delay":
      return { kind, ms: random.between(20, 1_500), ...when };
    default:
      return { kind, agent, ...when };
  }
}
