import type { GossipEvent } from "../../../agents/core/protocols/hashgraph/graph/graph.ts";
import { sha256, hexToBytes, concat, utf8 } from "../../../agents/core/encoding/bytes.ts";
import { generator } from "./committee.ts";

export interface RandomGossip {
  readonly members: number;
  readonly events: number;
  readonly seed: number;
  /** These members fork now and then, the first of the list most. */
  readonly forkers?: readonly number[];
  /** Members that gossip only among themselves during the middle third. */
  readonly apart?: readonly number[];
}

/** Makes gossip between random pairs, with parents before children. */
export function randomGossip({
  members,
  events,
  seed,
  forkers = [],
  apart = [],
}: RandomGossip): readonly GossipEvent[] {
  const random = generator(seed);
  const all: GossipEvent[] = [];
  const lines: GossipEvent[][] = Array.from({ length: members }, () => []);
  const add = (creator: number, selfParent: GossipEvent | null, otherParent: GossipEvent | null) => {
    const id = `${creator}.${all.length}`;
    const signature = concat(
      hexToBytes(sha256(utf8(`${seed} ${id}`))),
      hexToBytes(sha256(utf8(`${id} ${seed}`))),
      Uint8Array.of(27),
    );
    const timestamp = 1_000 * all.length + (random() % 5_000);
    const event: GossipEvent = {
      id,
      creator,
      selfParent: selfParent?.id ?? null,
      otherParent: otherParent?.id ?? null,
      timestamp,
      signature,
    };
    all.push(event);
    (lines[creator] as GossipEvent[]).push(event);
  };
  for (let member = 0; member < members; member++) add(member, null, null);
  while (all.length < events) {
    const to = random() % members;
    const from = random() % members;
    const isApart = all.length > events / 3 && all.length < (2 * events) / 3;
    if (from === to || (isApart && apart.includes(to) !== apart.includes(from))) continue;
    const own = lines[to] as GossipEvent[];
    const theirs = lines[from] as GossipEvent[];
    // A forker goes on from an older event of its own, and shows either of its newest events.
    const back = forkers.includes(to) && random() % 4 === 0 ? 1 + (random() % Math.min(3, own.length)) : 1;
    const shown = forkers.includes(from) && random() % 2 === 0 ? Math.min(2, theirs.length) : 1;
    add(to, own.at(-back) as GossipEvent, theirs.at(-shown) as GossipEvent);
  }
  return all;
}
