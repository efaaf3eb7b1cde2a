import type { Address } from "../../agents/core/types.ts";
import type { SessionPorts } from "../../agents/node/seat/host.ts";
import type { Network } from "../../agents/ports/network.ts";
import type { Culprit } from "./culprit.ts";

/**
 * One network for two runtimes: both hear everything, each is heard by its part of the committee, and a few peers
 * hear both.
 */
export function split(
  { network }: SessionPorts,
  { plan, random, recorder }: Culprit,
  overlapPpm: number,
): readonly [Network, Network] {
  const sides = new Map<Address, readonly [boolean, boolean]>(
    plan.attempt.committee.map(({ signer }) => {
      const first = random.chance(500_000);
      const both = random.chance(overlapPpm);
      return [signer, [first || both, !first || both]];
    }),
  );
  const side = (index: 0 | 1): Network => ({
    ...network,
    send(to, frame) {
      if (sides.get(to)?.[index] !== true) return;
      recorder.count(index === 0 ? "first twin" : "second twin");
      network.send(to, frame);
    },
  });
  return [side(0), side(1)];
}
