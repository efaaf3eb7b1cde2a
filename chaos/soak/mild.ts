// Mild chaos: what happens to an operator in a bad week, now and then, by a seed.
import { createRandom } from "../../sim/random.ts";
import { AGENTS, RPC_FAULTS, type Perturbation } from "../manifest.ts";

/** From one perturbation to the next, in milliseconds. */
const LEAST_GAP_MS = 20_000;
const MOST_GAP_MS = 160_000;
const LEAST_FOR_MS = 1_000;
const MOST_FOR_MS = 10_000;
const KINDS = ["rpc", "rpc", "rpc", "pause", "pause", "kill", "restart"] as const;

/** One after the other, all mended before the end. Agent 0 is never killed or restarted, so that one process lives all the time. */
export function mildChaos(seed: number, milliseconds: number): readonly Perturbation[] {
  const random = createRandom(seed, "soak");
  const perturbations: Perturbation[] = [];
  for (
    let afterMs = random.between(LEAST_GAP_MS, MOST_GAP_MS) / 2;
    ;
    afterMs += random.between(LEAST_GAP_MS, MOST_GAP_MS)
  ) {
    const kind = random.pick(KINDS);
    const when = { afterMs, forMs: random.between(LEAST_FOR_MS, MOST_FOR_MS) };
    const agent = random.below(AGENTS);
    const other = random.between(1, AGENTS - 1);
    const fault = random.pick(RPC_FAULTS);
    if (afterMs + when.forMs >= milliseconds) return perturbations;
    perturbations.push(
      kind === "rpc" ? { kind, agent, fault, ...when } : { kind, agent: kind === "pause" ? agent : other, ...when },
    );
  }
}
