import type { PayloadMap } from "../../../agents/core/protocol.ts";
import { CRITERIA } from "../../../agents/core/phases/scores.ts";
import type { SeatScript } from "./committee.ts";

type Ask = Parameters<SeatScript["answer"]>[0];

const GOOD = ["20", "20", "20", "20", "12"];
const BAD = ["2", "6", "10", "10", "2"];

/** Script that gives `answer`, and accepts and marks well every text that `approves` is true of. */
export function mind(answer: string, approves: (text: string) => boolean): SeatScript {
  return {
    answer: ({ ask, prompt }: Ask) => {
      const field = (name: string): string => {
        const line = prompt.small.user.split("\n").find((one) => one.startsWith(`${name}: "`));
        return line === undefined ? "" : (JSON.parse(line.slice(name.length + 2)) as string);
      };
      if (ask.includes("propose")) return { fields: { proof: "computed", answer } };
      if (ask.includes("match"))
        return {
          fields: {
            check: "compared",
            verdict: loose(field("answer")) === loose(field("other")) ? "same" : "different",
          },
        };
      const right = approves(field("answer"));
      if (ask.includes("verify")) return { fields: { check: "computed", verdict: right ? "accept" : "reject" } };
      const marks = right ? GOOD : BAD;
      return {
        fields: {
          check: "computed",
          ...Object.fromEntries(CRITERIA.map((name, index) => [name, marks[index] as string])),
        },
      };
    },
  };
}

function loose(text: string): string {
  return text.toLowerCase().replace(/[^a-z0-9]/g, "");
}

/** Script of a seat that knows the truth. */
export function truthful(truth: string): SeatScript {
  return mind(truth, (text) => loose(text) === loose(truth));
}

/** Script of a seat that gives a lie, praises it and damns every other answer. */
export function lying(lie: string): SeatScript {
  return mind(lie, (text) => text === lie);
}

export function crashed(script: SeatScript): SeatScript {
  return { ...script, crashed: true };
}

/** Script of a seat whose model always fails. */
export const failing: SeatScript = { answer: () => null };

/** Script of a seat that speaks to some seats only, and relays nothing. */
export function selective(script: SeatScript, hears: (to: number) => boolean): SeatScript {
  return { ...script, hoards: true, say: (effect, to) => (hears(to) ? [effect] : []) };
}

/** Script of a seat that tells seats with an odd index something else in every phase of deliberation. */
export function equivocating(script: SeatScript): SeatScript {
  return {
    ...script,
    say: (effect, to) =>
      to % 2 === 0 || effect.phase > 200 ? [effect] : [{ ...effect, payload: other(effect.payload) }],
  };
}

/** Another well-formed payload: denies what the seat held, replaces its commitment, withdraws its scores. */
function other(payload: PayloadMap): PayloadMap {
  const { seen } = payload;
  if (Array.isArray(seen))
    return { ...payload, seen: seen.map((list: readonly unknown[]) => list.map(() => new Uint8Array(32))) };
  if ("commitment" in payload) return { commitment: new Uint8Array(32) };
  if ("scores" in payload) return { scores: [] };
  return "target" in payload ? { target: new Uint8Array(32) } : payload;
}
