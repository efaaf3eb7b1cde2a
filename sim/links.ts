import { CERTIFICATE, PROPOSE } from "../agents/core/seat/certify/messages.ts";
import { decodeMessage } from "../agents/core/encoding/transcript.ts";
import type { Address, SeatIndex } from "../agents/core/types.ts";
import type { Clock } from "../agents/ports/clock.ts";
import type { Network } from "../agents/ports/network.ts";
import type { Plan } from "./plan.ts";
import type { Random } from "./random.ts";
import type { Recorder } from "./recorder.ts";

/** The links between seats: before the network heals they lose, delay, reorder and duplicate frames, or are cut. */
export interface Links {
  wrap(seat: SeatIndex, network: Network): Network;
  /** True if a partition separates two seats now. */
  isCut(from: SeatIndex, to: SeatIndex): boolean;
}

interface Node {
  readonly seat: SeatIndex;
  readonly address: Address;
  readonly connectListeners: Set<(peer: Address) => void>;
}

export function createLinks(plan: Plan, clock: Clock, random: Random, recorder: Recorder): Links {
  const { committee } = plan.attempt;
  const seatOf = new Map(committee.map(({ signer }, seat) => [signer, seat as SeatIndex]));
  const nodes = new Map<Address, Node>();
  const { links, partitions, healAt } = plan;

  /** The sender repeats a lost frame only when it learns of a new connection. */
  const reconnect = (wasCut: (a: SeatIndex, b: SeatIndex) => boolean): void => {
    for (const node of nodes.values())
      for (const { signer } of committee) {
        const other = nodes.get(signer);
        if (other === undefined || other === node || !wasCut(node.seat, other.seat)) continue;
        for (const listener of node.connectListeners) listener(signer);
      }
  };
  for (const { until, side } of partitions)
    clock.schedule(until, () => reconnect((a, b) => side.has(a) !== side.has(b)));
  if (links.dropPpm > 0 || links.targets.length > 0 || links.stormPpm > 0)
    clock.schedule(healAt, () => reconnect(() => true));

  const isCut = (from: SeatIndex, to: SeatIndex): boolean => {
    const now = clock.now();
    return partitions.some(
      ({ from: start, until, side }) => start <= now && now < until && side.has(from) !== side.has(to),
    );
  };

  const isTarget = createTargeting(plan, random.fork("targeted"));
  // Each fault draws its own random numbers, so that leaving one out moves the others as little as possible.
  const [drops, duplicates, delays, reorders] = [
    random.fork("drop"),
    random.fork("duplicate"),
    random.fork("delay"),
    random.fork("reorder"),
  ];

  const send = (network: Network, from: SeatIndex, to: Address, frame: Uint8Array): void => {
    const seat = seatOf.get(to);
    if (seat === undefined) return;
    recorder.sent(from, seat, frame);
    if (clock.now() >= healAt) return network.send(to, frame);
    if (isCut(from, seat)) return recorder.count("cut");
    if (drops.chance(links.dropPpm)) return recorder.count("drop");
    if (isTarget(from, seat, frame)) return recorder.count("targeted drop");
    if (duplicates.chance(links.duplicatePpm)) {
      recorder.count("duplicate");
      clock.schedule(duplicates.below(500), () => network.send(to, frame));
    }
    const delayed = delays.chance(links.delayPpm);
    const reordered = reorders.chance(links.reorderPpm);
    if (!delayed && !reordered) return network.send(to, frame);
    recorder.count(delayed ? "delay" : "reorder");
    const lateMs = delayed ? delays.below(links.delayMs) : reorders.below(4 * plan.latencyMs + 2);
    // No frame stays on its way past the healing.
    clock.schedule(Math.min(lateMs, healAt - clock.now()), () => network.send(to, frame));
  };

  return {
    isCut,
    wrap(seat, network) {
      const { signer } = committee[seat] as { readonly signer: Address };
      const node: Node = { seat, address: signer, connectListeners: new Set() };
      nodes.set(signer, node);
      return {
        ...network,
        send: (to, frame) => send(network, seat, to, frame),
        onConnect(listener) {
          node.connectListeners.add(listener);
          const off = network.onConnect(listener);
          return () => {
            node.connectListeners.delete(listener);
            off();
          };
        },
        async close() {
          if (nodes.get(signer) === node) nodes.delete(signer);
          await network.close();
        },
      };
    },
  };
}

type Targeting = (from: SeatIndex, to: SeatIndex, frame: Uint8Array) => boolean;

/** True if an adversary on the links drops the frame. */
function createTargeting({ links }: Plan, random: Random): Targeting {
  /** In a storm certificates hardly get through, so that a seat with one is alone with it. */
  const stormPpm = (phase: number | null): number => {
    if (phase === CERTIFICATE) return 950_000;
    return phase !== null && phase >= PROPOSE ? links.stormPpm : links.stormPpm >> 2;
  };

  return (from, to, frame) => {
    if (links.targets.length === 0 && links.stormPpm === 0) return false;
    const phase = decodeMessage(frame)?.header.phase ?? null;
    if (links.stormPpm > 0 && random.chance(stormPpm(phase))) return true;
    return links.targets.some(
      (target) =>
        (target.phase ?? phase) === phase &&
        (target.from ?? from) === from &&
        (target.to ?? to) === to &&
        random.chance(target.dropPpm),
    );
  };
}
