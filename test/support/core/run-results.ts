import assert from "node:assert/strict";
import type { CommitteeRun, SeatScript } from "./committee.ts";

export function faultsOf(seats: number): number {
  return Math.floor((seats - 1) / 3);
}

/** Returns the decision of the seats that did not crash; fails if they hold different ones. */
export function decisionOf(run: CommitteeRun, scripts: readonly SeatScript[]): string {
  const held = run.certificates.filter((_, seat) => scripts[seat]?.crashed !== true);
  const decisions = new Set(
    held.map((one) => `${one?.decision.status} ${one?.decision.answer} ${one?.decision.transcript}`),
  );
  assert.equal(decisions.size, 1);
  const decision = held[0]?.decision;
  return `${decision?.status} ${decision?.answer}`;
}

/** Number of steps in which honest seats waited for their models: the critical path. */
export function criticalCalls(run: CommitteeRun, honest: (seat: number) => boolean): number {
  const waits = run.effects.flatMap((effects, seat) =>
    honest(seat)
      ? effects.flatMap((effect) => (effect.kind === "ask" ? [effect.ask.split(".").slice(0, 2).join(".")] : []))
      : [],
  );
  return new Set(waits).size;
}
