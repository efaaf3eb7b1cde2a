// What unequal stakes do to the odds of a committee: few heavy agents against many light ones.
import { chanceInLargeRegistry, chanceOfSeats } from "../../agents/cli/request/seat-odds.ts";
import { quorumOf } from "../../agents/core/quorum.ts";
import { appealSizes, seatsToBreak } from "../complexity/committee-odds.ts";

/** So many agents of one stake, in tokens. */
interface Group {
  readonly agents: number;
  readonly tokens: number;
}

/** Honest agents, and those of one holder; all are proven and have full reputation. */
const REGISTRIES: readonly { readonly honest: Group; readonly held: Group }[] = [
  { honest: { agents: 20, tokens: 1_000 }, held: { agents: 50, tokens: 100 } },
  { honest: { agents: 20, tokens: 1_600 }, held: { agents: 80, tokens: 125 } },
  { honest: { agents: 200, tokens: 1_600 }, held: { agents: 800, tokens: 100 } },
  { honest: { agents: 60, tokens: 1_000 }, held: { agents: 15, tokens: 1_000 } },
];
/** The share of the large registry of equal agents beside them. */
const LARGE_SHARE = 0.2;

/** First committees, then the last ones that two appeals call after 4 seats, and one after 13. */
export const UNEQUAL_SEATS: readonly number[] = [4, 7, 13, appealSizes(4, 2).at(-1)!, appealSizes(13, 1).at(-1)!];

export interface UnequalRegistry {
  readonly name: string;
  /** The holder's part of the weight. */
  readonly share: number;
  /** How often it holds a quorum, and how often more than a third, by `UNEQUAL_SEATS`. Each committee is drawn from all agents. */
  readonly holds: readonly number[];
  readonly silences: readonly number[];
}

function oddsOf(chance: (n: number, least: number) => number): Pick<UnequalRegistry, "holds" | "silences"> {
  return {
    holds: UNEQUAL_SEATS.map((n) => chance(n, quorumOf(n))),
    silences: UNEQUAL_SEATS.map((n) => chance(n, seatsToBreak(n))),
  };
}

const nameOf = ({ agents, tokens }: Group): string => `${agents} x ${tokens.toLocaleString("en")}`;
const weightOf = ({ agents, tokens }: Group): number => agents * tokens;
const weightsOf = ({ agents, tokens }: Group): readonly number[] => Array.from({ length: agents }, () => tokens);

export const UNEQUAL: readonly UnequalRegistry[] = [
  ...REGISTRIES.map(({ honest, held }) => ({
    name: `${nameOf(honest)} against ${nameOf(held)}`,
    share: weightOf(held) / (weightOf(honest) + weightOf(held)),
    ...oddsOf((n, least) => chanceOfSeats({ own: weightsOf(held), others: weightsOf(honest) }, n, least)),
  })),
  {
    name: "a large one of equal agents",
    share: LARGE_SHARE,
    ...oddsOf((n, least) => chanceInLargeRegistry(LARGE_SHARE, n, least)),
  },
];
