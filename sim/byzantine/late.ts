import { decodeMessage } from "../../agents/core/encoding/transcript.ts";
import type { SessionPorts } from "../../agents/node/seat/host.ts";
import type { Network } from "../../agents/ports/network.ts";
import { phasesOf } from "../phases.ts";
import type { Culprit } from "./culprit.ts";

/**
 * Holds its messages back until others have shown theirs, or until some phases have timed out. Some peers get them in
 * time.
 */
export function late({ network, clock }: SessionPorts, { plan, seat, random, recorder }: Culprit): Network {
  const { phaseMs } = plan.timing;
  const phases = new Set(phasesOf(plan.protocol, plan.attempt).filter(() => random.chance(400_000)));
  const favoured = new Set(plan.attempt.committee.filter(() => random.chance(400_000)).map(({ signer }) => signer));
  const waitMs = random.pick([plan.timing.graceMs + 50, Math.floor(phaseMs / 2), phaseMs, 2 * phaseMs]);
  return {
    ...network,
    send(to, frame) {
      const message = favoured.has(to) ? null : decodeMessage(frame);
      if (message === null || message.header.seat !== seat || !phases.has(message.header.phase)) {
        network.send(to, frame);
        return;
      }
      recorder.count("late");
      clock.schedule(random.below(waitMs + 1), () => network.send(to, frame));
    },
  };
}
