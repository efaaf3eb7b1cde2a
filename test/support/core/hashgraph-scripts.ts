import { digestOf } from "../../../agents/core/encoding/codec.ts";
import { hexToBytes } from "../../../agents/core/encoding/bytes.ts";
import type { Effect } from "../../../agents/core/protocol.ts";
import { EVENTS_PER_SEAT } from "../../../agents/core/protocols/hashgraph/config.ts";
import { hashgraph } from "../../../agents/core/protocols/hashgraph/index.ts";
import type { Attempt, Terms, Value } from "../../../agents/core/types.ts";
import { attemptOf, runCommittee, type CommitteeRun, type SeatScript } from "./committee.ts";

export type SendEffect = Extract<Effect, { kind: "send" }>;
type AskEffect = Extract<Effect, { kind: "ask" }>;
type EventPayload = { readonly [key: string]: Value };

export const hashgraphAttempt = (seats: number, terms: Partial<Terms> = {}): Attempt =>
  attemptOf(seats, { protocol: hashgraph.code, ...terms });

/** Script that gives these answers by answer round; it repeats the last one in later rounds and votes for it. */
export function holds(...answers: readonly string[]): SeatScript {
  return {
    answer: ({ ask, prompt }) => {
      const [about] = ask.split(".");
      if (about === "vote") {
        const isRight = ownIn(prompt.small.user) === answers.at(-1);
        return { fields: { check: "c", verdict: isRight ? "accept" : "reject" } };
      }
      const round = Number(about);
      return {
        fields: { proof: `steps to ${answers.at(-1)}`, answer: answers[Math.min(round, answers.length - 1)] as string },
      };
    },
  };
}

/** Script that answers a text per round, and calls two texts the same iff both name the city or neither does. */
export function rewords(city: string, wordings: readonly string[]): SeatScript {
  return {
    answer: ({ ask, prompt }) => {
      if (ask.includes("vote")) return { fields: { check: "c", verdict: "abstain" } };
      if (!ask.includes("match"))
        return { fields: { proof: "p", answer: wordings[Number(ask.split(".")[0])] as string } };
      const [one, other] = [...prompt.small.user.matchAll(/^(?:answer|other): (.*)$/gm)].map(([, text]) =>
        text?.includes(city),
      );
      return { fields: { check: "c", verdict: one === other ? "same" : "different" } };
    },
  };
}

/** Script that follows an answer of more than half of the members it is shown, as a model would (HG22). */
export function follows(first: string): SeatScript {
  return {
    answer: ({ ask, prompt }) => {
      if (ask === "0.propose") return { fields: { proof: "p", answer: first } };
      return { fields: { proof: "p", answer: mostSupported(prompt.small.user) ?? ownIn(prompt.small.user) ?? first } };
    },
  };
}

const ownIn = (user: string): string | undefined => /^answer: "(.*)"$/m.exec(user)?.[1];

function mostSupported(user: string): string | null {
  for (const [, count, of, answer] of user.matchAll(/(\d+) of (\d+) members: ([^:"]*)/g))
    if (2 * Number(count) > Number(of)) return answer as string;
  return null;
}

/** Script of a Byzantine seat that changes its events per receiver, but certifies honestly. */
export function bends(
  script: SeatScript,
  bend: (payload: EventPayload, to: number, sequence: number) => readonly EventPayload[],
): SeatScript {
  return {
    ...script,
    say: (effect: SendEffect, to: number) =>
      effect.phase === 1 ? bend(effect.payload, to, effect.round).map((payload) => ({ ...effect, payload })) : [effect],
  };
}

/** Extends a line of events without foreign parents to this length; each repeats the first except for the changes. */
export function growLine(
  line: SendEffect[],
  effect: SendEffect,
  length: number,
  change: (index: number) => object = () => ({}),
): void {
  while (line.length < length) {
    const last = line.at(-1);
    const selfParent = last === undefined ? null : hexToBytes(digestOf(last.payload));
    const payload = { ...effect.payload, selfParent, otherParent: null, ...change(line.length) } as EventPayload;
    line.push({ ...effect, round: line.length, payload });
  }
}

/** Claims that a seat can make by events without foreign parents, right at the start or as it goes. */
export const CLAIMS = ["last", "stuck", "line", "pace"] as const;

/**
 * Script that makes free claims: that it has the order, that it gave up after all its events, all events at once, or
 * always as many as it needs to be deep. It relays nothing and does not certify.
 */
export function claims(script: SeatScript, claim: (typeof CLAIMS)[number]): SeatScript {
  const said = new Map<number, readonly SendEffect[]>();
  const line: SendEffect[] = [];
  const mode = claim === "last" || claim === "stuck" ? claim : claim === "pace" ? "order" : "gossip";
  const grow = (effect: SendEffect, length: number): readonly SendEffect[] => {
    const before = line.length;
    growLine(line, effect, Math.min(length, EVENTS_PER_SEAT), (index) => {
      return { record: index === 0 ? effect.payload["record"] : null, mode, closed: 6 };
    });
    return line.slice(before);
  };
  const lengthAt = { last: 1, stuck: EVENTS_PER_SEAT, line: EVENTS_PER_SEAT };
  return {
    ...script,
    hoards: true,
    say: (effect: SendEffect) => {
      if (effect.phase !== 1) return [];
      const now = said.get(effect.round) ?? grow(effect, claim === "pace" ? 8 + 2 * effect.round : lengthAt[claim]);
      said.set(effect.round, now);
      return now;
    },
  };
}

export const isEvent = (effect: Effect): effect is SendEffect => effect.kind === "send" && effect.phase === 1;
export const isAsk = (effect: Effect): effect is AskEffect => effect.kind === "ask";

export function run(attempt: Attempt, scripts: readonly SeatScript[], seed = 1): CommitteeRun {
  return runCommittee(hashgraph, attempt, scripts, { seed });
}

/** Results that the honest seats certified, e.g. "decided yes", "hung ", "nothing". */
export function results(done: CommitteeRun, honest: readonly number[]): readonly string[] {
  return honest.map((seat) => {
    const decision = done.certificates[seat]?.decision;
    return decision === undefined ? "nothing" : `${decision.status} ${decision.answer}`;
  });
}
