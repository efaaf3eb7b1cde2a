import type { Address, SeatInfo } from "../core/types.ts";
import type { AgentRecord } from "../ports/chain.ts";
import type { Network } from "../ports/network.ts";

/** Up to so many agents each stays connected with all others. A network has places for ten times as many connections. */
export const EVERYBODY = 96;

/**
 * Decides with whom an agent stays connected. Where agents are few, with all. Else with those with whom it sits, as long as they sit, and with
 * a few neighbours that pass announcements on. Every agent may connect to it.
 */
export interface Peers {
  /** Replaces the agents, as the registry has them now. */
  agents(all: readonly AgentRecord[]): void;
  /** Replaces the committees in which this agent sits. */
  seated(committees: readonly (readonly SeatInfo[])[]): void;
}

export function createPeers(network: Pick<Network, "setPeers">, own: Address, everybody = EVERYBODY): Peers {
  let bySigner: ReadonlyMap<Address, AgentRecord> = new Map();
  let neighbours: readonly Address[] = [];
  let committees: readonly (readonly SeatInfo[])[] = [];

  const apply = (): void => {
    const isSmall = bySigner.size <= everybody;
    const beside = committees.flat().map(({ signer }) => signer);
    const wanted = new Set(isSmall ? bySigner.keys() : [...beside, ...neighbours]);
    wanted.delete(own);
    const peers = [...wanted].flatMap((signer) => bySigner.get(signer) ?? []);
    network.setPeers(
      peers.map(({ signer, publicKey, endpoint }) => ({ signer, publicKey, multiaddrs: endpoint })),
      new Set(bySigner.keys()),
    );
  };

  return {
    agents(all) {
      // The network has places for so many: those who have left must not take them from those who are drawn.
      const ordered = all.filter(({ endpoint, signer }) => endpoint.length > 0 || signer === own);
      bySigner = new Map(
        ordered.toSorted((one, other) => Number(other.active) - Number(one.active)).map((one) => [one.signer, one]),
      );
      neighbours = neighboursOf(own, all);
      apply();
    },
    seated(now) {
      committees = now;
      if (bySigner.size > everybody) apply();
    },
  };
}

/**
 * Returns the agents at the distances 1, 2, 4, ... on both sides of this one, on the circle of those who serve. Each of them has this agent among its
 * own, and anything that is passed on reaches everybody in as many steps as the number of agents has bits.
 */
export function neighboursOf(own: Address, all: readonly AgentRecord[]): readonly Address[] {
  const circle = all
    .filter(({ active, asleep, signer, endpoint }) => (active || asleep || signer === own) && endpoint.length > 0)
    .toSorted((one, other) => one.agentId - other.agentId)
    .map(({ signer }) => signer);
  const self = circle.indexOf(own);
  const found = new Set<Address>();
  if (self === -1) return [];
  for (let distance = 1; 2 * distance <= circle.length; distance *= 2)
    for (const place of [self + distance, self - distance + circle.length])
      found.add(circle[place % circle.length] as Address);
  found.delete(own);
  return [...found];
}
