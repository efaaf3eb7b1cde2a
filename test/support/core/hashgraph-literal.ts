import type { GossipEvent, GraphRules } from "../../../agents/core/protocols/hashgraph/graph/graph.ts";

/**
 * Every definition of SWIRLDS-TR-2016-01 word for word, by sets and recursion, over events with parents before
 * children.
 */
export interface Literal {
  readonly round: Record<string, number>;
  readonly witness: Record<string, boolean>;
  readonly famous: Record<string, boolean | null>;
  readonly decidedBy: Record<string, string>;
  readonly roundReceived: Record<string, number>;
  readonly timestamp: Record<string, number>;
  sees(x: string, y: string): boolean;
  stronglySees(x: string, y: string): boolean;
}

export function literal(rules: GraphRules, events: readonly GossipEvent[]): Literal {
  const byId = new Map(events.map((event) => [event.id, event]));
  const get = (id: string) => byId.get(id) as GossipEvent;
  const total = rules.weights.reduce((sum, weight) => sum + weight, 0);
  const many = (ids: Iterable<string>) =>
    3 *
      [...new Set([...ids].map((id) => get(id).creator))].reduce(
        (sum, member) => sum + (rules.weights[member] as number),
        0,
      ) >
    2 * total;
  const ancestors = new Map<string, Set<string>>();
  const selfAncestors = new Map<string, Set<string>>();
  const forksIn = new Map<string, Set<number>>();
  for (const { id, selfParent, otherParent } of events) {
    const parents = [selfParent, otherParent].filter((parent) => parent !== null);
    ancestors.set(id, new Set([id, ...parents.flatMap((parent) => [...(ancestors.get(parent) as Set<string>)])]));
    selfAncestors.set(
      id,
      new Set([id, ...(selfParent === null ? [] : (selfAncestors.get(selfParent) as Set<string>))]),
    );
    const known = [...(ancestors.get(id) as Set<string>)];
    const forked = known.filter((a) =>
      known.some(
        (b) => get(a).creator === get(b).creator && !selfAncestors.get(a)?.has(b) && !selfAncestors.get(b)?.has(a),
      ),
    );
    forksIn.set(id, new Set(forked.map((a) => get(a).creator)));
  }
  const isAncestor = (x: string, y: string) => ancestors.get(x)?.has(y) === true;
  const sees = (x: string, y: string) => isAncestor(x, y) && forksIn.get(x)?.has(get(y).creator) !== true;
  const stronglySees = (x: string, y: string) =>
    sees(x, y) && many([...(ancestors.get(x) as Set<string>)].filter((z) => sees(x, z) && sees(z, y)));

  const round: Record<string, number> = {};
  const witness: Record<string, boolean> = {};
  for (const { id, selfParent, otherParent } of events) {
    const parents = [selfParent, otherParent].filter((parent) => parent !== null);
    const r = Math.max(rules.firstRound, ...parents.map((parent) => round[parent] as number));
    const before = Object.keys(witness).filter((w) => witness[w] && round[w] === r && stronglySees(id, w));
    round[id] = many(before) ? r + 1 : r;
    witness[id] = selfParent === null || round[id] > (round[selfParent] as number);
  }

  const witnesses = events.map(({ id }) => id).filter((id) => witness[id]);
  witnesses.sort((a, b) => (round[a] as number) - (round[b] as number));
  const famous: Record<string, boolean | null> = {};
  const decidedBy: Record<string, string> = {};
  for (const x of witnesses) {
    famous[x] = null;
    const vote: Record<string, boolean> = {};
    for (const y of witnesses) {
      const d = (round[y] as number) - (round[x] as number);
      if (d <= 0) continue;
      if (d === 1) {
        vote[y] = sees(y, x);
        continue;
      }
      const s = witnesses.filter((w) => round[w] === (round[y] as number) - 1 && stronglySees(y, w));
      const weight = (value: boolean) =>
        s.filter((w) => vote[w] === value).reduce((sum, w) => sum + (rules.weights[get(w).creator] as number), 0);
      const v = weight(true) >= weight(false);
      const t = weight(v);
      vote[y] = v;
      if (d % rules.coinPeriod !== 0) {
        if (3 * t <= 2 * total) continue;
        famous[x] = v;
        decidedBy[x] = y;
        break;
      }
      if (3 * t <= 2 * total) vote[y] = rules.coin(get(y));
    }
  }

  const roundReceived: Record<string, number> = {};
  const timestamp: Record<string, number> = {};
  const last = Math.max(rules.firstRound, ...Object.values(round));
  for (const { id } of events) {
    for (let r = rules.firstRound; r <= last; r++) {
      const upTo = witnesses.filter((w) => (round[w] as number) <= r);
      if (upTo.some((w) => famous[w] === null)) break;
      const ofRound = upTo.filter((w) => round[w] === r && famous[w] === true);
      const unique = ofRound.filter((w) => ofRound.every((o) => o === w || get(o).creator !== get(w).creator));
      if (!unique.every((w) => isAncestor(w, id))) continue;
      roundReceived[id] = r;
      const times = unique.flatMap((w) => {
        const line = [...(selfAncestors.get(w) as Set<string>)].filter((z) => isAncestor(z, id));
        const first = line.find((z) => {
          const parent = get(z).selfParent;
          return parent === null || !isAncestor(parent, id);
        });
        const at = get(first as string).timestamp;
        return Array.from({ length: rules.weights[get(w).creator] as number }, () => at);
      });
      times.sort((a, b) => a - b);
      timestamp[id] = times[Math.floor((times.length - 1) / 2)] as number;
      break;
    }
  }
  return { round, witness, famous, decidedBy, roundReceived, timestamp, sees, stronglySees };
}
