import type { MockAgent, ReferenceScenario } from "../../references/mbft.ts";
import { mbft } from "../../../agents/core/protocols/mbft/index.ts";
import type { Ppm } from "../../../agents/core/types.ts";
import { attemptFor, type SeatActs } from "../../../test/support/message-set.ts";
import { signedBy, type Goal, type StepOptions } from "../../../sim/step-decision.ts";

/** One situation for every engine: ten seats, `liars` of them liars. */
export interface Workload {
  readonly id: "unanimous" | "contested";
  readonly title: string;
  readonly liars: number;
}

export const SEATS = 10;
const TAU = 0.9;
const TIER = 900_000;

export const workloads: readonly Workload[] = [
  { id: "unanimous", title: "ten that agree", liars: 0 },
  { id: "contested", title: "three liars that counter, seven that agree", liars: 3 },
];

export const RIGHT = "yes";
export const WRONG = "no";

/** theta = .6 n tau, and the published engine's defaults. */
export function referenceScenario({ liars }: Workload): ReferenceScenario {
  const agents = Array.from({ length: SEATS }, (_, seat): MockAgent => {
    return { id: `a${seat}`, answer: seat < liars ? WRONG : RIGHT, tau: TAU, byzantine: false, accept: null, rho0: 1 };
  });
  return { agents, theta: 0.6 * SEATS * TAU, sigma: 0.5, maxRounds: 4 };
}

/** Every seat verifies and judges wherever the rules let it. */
export function soundActs({ liars }: Workload): readonly SeatActs[] {
  const isLiar = (seat: number): boolean => seat < liars;
  const classes = liars === 0 ? [] : [0, liars];
  const all = Array.from({ length: SEATS }, (_, seat) => seat);
  const votes = all.map((seat) =>
    classes
      .filter((accused) => isLiar(accused) !== isLiar(seat))
      .map((accused) => ({ accused, verdict: "reject" as const, tier: TIER })),
  );
  const counterProofs = votes.flatMap((list, author) => list.map(({ accused }) => ({ author, accused })));
  return all.map((seat) => ({
    answer: isLiar(seat) ? WRONG : RIGHT,
    tier: TIER,
    votes: votes[seat] as SeatActs["votes"],
    judgements: counterProofs
      .filter(({ author }) => author !== seat)
      .map(({ author, accused }) => ({
        author,
        accused,
        verdict: isLiar(accused) === isLiar(seat) ? ("refute" as const) : ("uphold" as const),
      })),
  }));
}

/**
 * The same situation as minds: each seat rejects the other side's answer and upholds every counter-proof against it.
 */
export function steppedWorkload({ liars }: Workload, goal: Goal, verify: boolean): StepOptions {
  const minds = Array.from({ length: SEATS }, (_, seat) => {
    const answer = seat < liars ? WRONG : RIGHT;
    return { answer, approves: (other: string) => other === answer, confidence: TIER as Ppm };
  });
  return { protocol: mbft, attempt: signedBy(attemptFor(mbft.code, SEATS, "normal")), minds, goal, verify };
}
