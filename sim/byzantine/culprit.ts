import type { SeatIndex } from "../../agents/core/types.ts";
import type { Plan } from "../plan.ts";
import type { Random } from "../random.ts";
import type { Recorder } from "../recorder.ts";

/** The seat that misbehaves, the plan of its world, its random choices and the recorder of what it does. */
export interface Culprit {
  readonly plan: Plan;
  readonly seat: SeatIndex;
  readonly random: Random;
  readonly recorder: Recorder;
}
