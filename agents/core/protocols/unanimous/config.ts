import { ConclaveError } from "../../errors.ts";
import { canonicalRanks } from "../../seat/order.ts";
import { ONE_PPM, type Attempt, type Ppm, type SeatIndex } from "../../types.ts";

/** Settings of a deliberation. The protocol's version fixes them; only the evaluation harness varies them. */
export interface UnanimousSettings {
  /** Share of the seats that are told to reason step by step in the initial round (UN3). */
  readonly promptRatio: Ppm;
  /** T: the largest number of reflection turns (UN1). */
  readonly turns: number;
}

export const DEFAULTS: UnanimousSettings = { promptRatio: 750_000 as Ppm, turns: 3 };

/** The paper's cut-off for T. */
export const MAX_TURNS = 10;

const RATIOS: readonly number[] = [0, 250_000, 500_000, 750_000, 1_000_000];

/** UN8: after this many turns an agreement of more than 2/3 decides. */
export const HEARD_TURNS = 3;

/** UN12: theta, the least part that accepts a policy, in parts per million of the seats that count. */
export const THETA_PPM = 500_000;

export function checkSettings({ promptRatio, turns }: UnanimousSettings): void {
  if (!RATIOS.includes(promptRatio))
    throw new ConclaveError("CONFIG_INVALID", `Set promptRatio to one of ${RATIOS.join(", ")} ppm, not ${promptRatio}`);
  if (!Number.isSafeInteger(turns) || turns < 1 || turns > MAX_TURNS)
    throw new ConclaveError("CONFIG_INVALID", `Set turns to 1..${MAX_TURNS}, not ${turns}`);
}

/** UN3: the first ceil(ratio * n) seats of the canonical order reason step by step. */
export function reasonsStepByStep(attempt: Attempt, seat: SeatIndex, promptRatio: Ppm): boolean {
  const group = Math.floor((attempt.committee.length * promptRatio + ONE_PPM - 1) / ONE_PPM);
  return (canonicalRanks(attempt)[seat] as number) < group;
}
