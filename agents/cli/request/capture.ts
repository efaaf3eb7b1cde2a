// How often who holds a part of the draw's weight gets enough seats of a committee to decide alone, or to silence it (SC7).
import { protocolByCode } from "../../core/protocols/index.ts";
import { quorumOf } from "../../core/quorum.ts";
import { committeeSizeAfter } from "../../core/request/rounds.ts";
import type { Ppm, Terms } from "../../core/types.ts";
import { percent, type Row } from "../shared/output.ts";
import { chanceInLargeRegistry, chanceOfSeats } from "./seat-odds.ts";

const ONE = 1_000_000n;
/** Parts of the draw's weight that an attacker may hold. */
const SHARES = [200_000 as Ppm, 330_000 as Ppm] as const;
/** How many times the odds of a large registry of equal agents are warned of. */
const FAR_WORSE = 10;
/** With more agents the odds are reckoned as in a large registry: exact ones take seconds. */
const MOST_AGENTS = 10_000;

export type CaptureTerms = Pick<Terms, "committeeSize" | "appeals" | "assurance" | "protocol">;

/** What who holds a part of the weight can do to one committee. */
interface Odds {
  readonly seats: number;
  /** How often it decides alone. */
  readonly probability: number;
  /** How often the other seats are no quorum, so that the committee hangs, or stays silent, if the holder wants that. */
  readonly silence: number;
}

export interface Capture extends Odds {
  /** The part of the weight that is held. The odds beside it are those of the first committee. */
  readonly share: Ppm;
  /** The last committee that appeals can call, drawn as if nobody were left out (DR4); null without appeals. */
  readonly last: Odds | null;
}

/**
 * How often a fifth and a third of the weight hold the first and the last committee. Nobody knows which agents an attacker holds. It is taken
 * to hold the lightest, as many as have at most that share: where few are heavy, light ones get the seats for which no heavy agent is left.
 * If even the lightest agent has more than the share, fewer agents are there than seats, or more than ten thousand, the odds are those of a
 * large registry. Nobody is taken to be left out of the last committee (DR4).
 * @param weights of all agents that can be drawn
 */
export function captureOf(terms: CaptureTerms, weights: readonly bigint[]): readonly Capture[] {
  const { committeeSize, appeals } = terms;
  const ascending = weights.toSorted((a, b) => Number(a - b));
  // Only proportions count. The largest weight is 1, so that no sum leaves a double.
  const numbers = ascending.map((weight) => Number(weight) / Number(ascending.at(-1)));
  return SHARES.map((share) => {
    const count = lightestWithin(ascending, share);
    const held = { own: numbers.slice(0, count), others: numbers.slice(count) };
    const oddsOf = (seats: number): Odds => {
      const { toDecide, toSilence } = leastSeats(terms, seats);
      const chance = (least: number): number =>
        count === 0 || numbers.length < seats || numbers.length > MOST_AGENTS
          ? chanceInLargeRegistry(partOf(share), seats, least)
          : chanceOfSeats(held, seats, least);
      return {
        seats,
        probability: toDecide === null ? partOf(share) : chance(toDecide),
        silence: chance(toSilence),
      };
    };
    const last = appeals === 0 ? null : oddsOf(committeeSizeAfter(committeeSize, appeals));
    return { share, ...oddsOf(committeeSize), last };
  });
}

/** How many of these agents, from the first on, have at most a share of the weight of all. */
function lightestWithin(weights: readonly bigint[], share: Ppm): number {
  const most = weights.reduce((sum, weight) => sum + weight, 0n) * BigInt(share);
  let held = 0n;
  const next = weights.findIndex((weight) => (held += weight) * ONE > most);
  return Math.max(0, next);
}

/** The least seats that decide alone, and that silence a committee; in chair protocols the chair decides, whatever other seats it has. */
function leastSeats(
  { assurance, protocol }: Pick<CaptureTerms, "assurance" | "protocol">,
  seats: number,
): { readonly toDecide: number | null; readonly toSilence: number } {
  const toSilence = seats - quorumOf(seats) + 1;
  if (protocolByCode(protocol)?.assurance === "chair") return { toDecide: null, toSilence };
  return { toDecide: assurance === "high" ? quorumOf(seats) : Math.floor(seats / 2) + 1, toSilence };
}

const partOf = (share: Ppm): number => share / Number(ONE);

export function captureRows(capture: readonly Capture[]): Row[] {
  const row = (name: string, chanceOf: (odds: Odds) => number): Row => {
    const holders = capture.map(({ share, last, ...first }) => {
      const ofLast = last === null ? "" : ` (the last committee, ${last.seats} seats: ${often(chanceOf(last))})`;
      return `${percent(share)} of the weight: ${often(chanceOf(first))}${ofLast}`;
    });
    return [name, `by who holds ${holders.join(", ")}`];
  };
  return [row("captured", ({ probability }) => probability), row("silenced", ({ silence }) => silence)];
}

/** The least chance that is written as a number. */
const LEAST_CHANCE = 1e-12;
/** Above this chance a percentage says more than "once in". */
const OFTEN = 0.125;

function often(chance: number): string {
  if (chance === 0) return "never";
  if (chance < LEAST_CHANCE) return "less than once in a trillion";
  if (chance > OFTEN) return percent(Math.round(chance * Number(ONE)));
  return `once in ${Math.round(1 / chance).toLocaleString("en-US")}`;
}

/** Warns that the agents' weights make a committee far easier to capture, or to silence, than in a large registry of equal agents; null if they do not. */
export function unequalWeights(terms: CaptureTerms, [smaller]: readonly Capture[]): string | null {
  if (smaller === undefined) return null;
  const { share, last, ...first } = smaller;
  for (const { seats, probability, silence } of last === null ? [first] : [first, last]) {
    const { toDecide, toSilence } = leastSeats(terms, seats);
    const equal = (least: number): number => chanceInLargeRegistry(partOf(share), seats, least);
    for (const [does, chance, usual] of [
      ["captures", probability, toDecide === null ? probability : equal(toDecide)],
      ["silences", silence, equal(toSilence)],
    ] as const)
      if (chance > FAR_WORSE * usual)
        return `few heavy agents stand against many light ones: who holds ${percent(share)} of the weight in the lightest ${does} a committee of ${seats} seats (${often(chance)}; ${often(usual)} where many agents weigh the same); ask for fewer seats or appeals, or wait for more heavy agents`;
  }
  return null;
}
