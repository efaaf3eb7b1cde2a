import type { TranscriptMessage } from "../../../sdk/src/verify/index.ts";

/** The graph of a hashgraph's events: each has its seat's event before it and one of another seat as parents. */

type Said = Pick<TranscriptMessage, "seat" | "parents">;

/** Returns the column of each event: right of all that it descends from. */
export function columnsOf(events: readonly Said[]): readonly number[] {
  const children = events.map((): number[] => []);
  for (const [index, { parents }] of events.entries()) for (const parent of parents) children[parent]?.push(index);
  const open = events.map(({ parents }) => parents.length);
  const columns = events.map(() => 0);
  // In the order of a root an event may come before its parents.
  const ready = [...events.keys()].filter((index) => open[index] === 0);
  for (let index = ready.pop(); index !== undefined; index = ready.pop())
    for (const child of children[index] ?? []) {
      columns[child] = Math.max(columns[child] ?? 0, (columns[index] ?? 0) + 1);
      open[child] = (open[child] ?? 0) - 1;
      if (open[child] === 0) ready.push(child);
    }
  return columns;
}

/** Returns an event and all that it descends from, by index: what its seat had seen when it made the event. */
export function seenFrom(events: readonly Said[], index: number): ReadonlySet<number> {
  const seen = new Set([index]);
  const open = [index];
  for (let next = open.pop(); next !== undefined; next = open.pop())
    for (const parent of events[next]?.parents ?? [])
      if (!seen.has(parent)) {
        seen.add(parent);
        open.push(parent);
      }
  return seen;
}

/** Returns the seats of some events, in their order. */
export function seatsOf(events: readonly Said[], indices: ReadonlySet<number>): readonly number[] {
  const seats = new Set([...indices].flatMap((index) => events[index]?.seat ?? []));
  return [...seats].toSorted((a, b) => a - b);
}
