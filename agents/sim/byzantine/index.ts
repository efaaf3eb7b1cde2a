import type { SeatIndex } from "../../core/types.ts";
import type { SessionPorts } from "../../node/effects.ts";
import { lyingModel } from "../byzantine.ts";
import type { ByzantineKind } from "../options.ts";
import type { World } from "../seat.ts";

export interface Culprit {
  readonly world: World;
  readonly seat: SeatIndex;
}

/** The ports of a Byzantine seat: bent ones around the real runtime. Two sets make two runtimes under one key. */
export async function misbehave(
  _kind: ByzantineKind,
  ports: SessionPorts,
  _culprit: Culprit,
): Promise<readonly SessionPorts[]> {
  return [{ ...ports, model: lyingModel(ports.model) }];
}
