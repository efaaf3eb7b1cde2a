import type { Address, SeatIndex } from "../../agents/core/types.ts";
import type { SessionPorts } from "../../agents/node/seat/host.ts";
import type { Network } from "../../agents/ports/network.ts";
import { isBeside, type TwinsPlan } from "../twins.ts";
import type { Culprit } from "./culprit.ts";

/** SM11: one network for two instances of a seat; each hears and is heard by who is on its side. */
export function scheduled(
  { network, clock }: SessionPorts,
  { plan, recorder }: Culprit,
  twins: TwinsPlan,
): readonly [Network, Network] {
  const seats = new Map(
    plan.attempt.committee.map(({ signer }, seat): [Address, SeatIndex] => [signer, seat as SeatIndex]),
  );
  const instance = (index: 0 | 1): Network => {
    const reaches = (peer: Address): boolean => {
      const seat = seats.get(peer);
      return seat !== undefined && isBeside(twins, index, seat, clock.now());
    };
    return {
      ...network,
      send(to, frame) {
        if (!reaches(to)) return;
        recorder.count(index === 0 ? "first twin" : "second twin");
        network.send(to, frame);
      },
      onFrame: (listener) => network.onFrame((from, frame) => (reaches(from) ? listener(from, frame) : undefined)),
    };
  };
  return [instance(0), instance(1)];
}
