import { faultTolerance } from "../agents/core/quorum.ts";
import { dataNumber } from "../agents/core/sources/data.ts";
import { grounded } from "../agents/core/sources/named.ts";
import type { AnswerKind, Attempt, SeatIndex } from "../agents/core/types.ts";
import { SOURCE_FAULTS, type SourceFault } from "./options.ts";
import type { Random } from "./random.ts";

/** SM8: a page that the question names, as it shows itself to each seat. */
export interface SourcePlan {
  /** As the question names it. */
  readonly name: string;
  readonly fault: SourceFault;
  /** What each seat is shown; null if it gets nothing. `MOMENT` in it stands for the moment of reading. */
  readonly texts: readonly (string | null)[];
  /** How long the page takes to answer each seat. */
  readonly latenciesMs: readonly number[];
  /** Why a seat gets nothing. */
  readonly absence: "not-found" | "not-final";
}

/** SM8: the pages of a world. */
export interface SourcesPlan {
  readonly pages: readonly SourcePlan[];
  /** The seats to which poisoned pages tell the lie: the first f of the Byzantine order, honest ones among them. */
  readonly fooled: ReadonlySet<SeatIndex>;
  /** True if a page tells seats different answers, so that there is no truth to find. */
  readonly isDivided: boolean;
}

interface SourcesOf {
  readonly faults: readonly SourceFault[];
  readonly attempt: Attempt;
  /** The order in which seats are Byzantine. */
  readonly order: readonly SeatIndex[];
  readonly truth: string;
  readonly lies: readonly string[];
  readonly phaseMs: number;
}

/** Stands in a page for the moment at which it is read. */
const MOMENT = "00:00:00.000";
const WORDS = ["council", "harbour", "ledger", "river", "permit", "north", "bridge", "granted", "minutes", "session"];
const LINES = { least: 6, most: 18 };

/** The line of a page that tells an answer. */
export function tellingLine(answer: string): string {
  return `The record says: ${answer}.`;
}

/** The answer that a text tells, with the words that tell it; null if it tells none. */
export function toldBy(text: string): { readonly answer: string; readonly words: string } | null {
  const [words, answer] = /^The record says: (.+)\.$/m.exec(text) ?? [];
  return words === undefined || answer === undefined ? null : { answer, words };
}

/** The names of a world's sources, before anything else of it is known. Half of the numbers have one source, the value itself (SG11). */
export function sourceNames(kind: AnswerKind, random: Random): readonly string[] {
  const names = Array.from({ length: random.pick([1, 1, 2]) }, (_, index) => `https://page-${index}.example/record`);
  return kind === "number" && random.fork("data").chance(500_000) ? [`${names[0]}#/value`] : names;
}

/** Draws what the named pages show. Each page has the first allowed fault in an order of its own. */
export function planSources(names: readonly string[], world: SourcesOf, random: Random): SourcesPlan {
  const fooled = new Set(world.order.slice(0, faultTolerance(world.attempt.committee.length)));
  const drawn = names.map((name, index) => {
    const own = random.fork(`page ${index}`);
    const order = own.fork("fault").shuffled(SOURCE_FAULTS);
    const fault = order.find((one) => world.faults.includes(one)) as SourceFault;
    const draw = isDataQuestion(world.attempt) ? drawValue : drawPage;
    return { name, fault, ...draw(fault, world, fooled, own) };
  });
  return {
    pages: drawn,
    fooled: drawn.some(({ fault }) => fault === "poisoned") ? fooled : new Set(),
    isDivided: drawn.some(({ isDivided }) => isDivided),
  };
}

interface DrawnPage extends Pick<SourcePlan, "texts" | "latenciesMs" | "absence"> {
  readonly isDivided: boolean;
}

function drawPage(fault: SourceFault, world: SourcesOf, fooled: ReadonlySet<SeatIndex>, random: Random): DrawnPage {
  const { attempt, truth, lies, phaseMs } = world;
  const seats = attempt.committee.map((_, seat) => seat as SeatIndex);
  const words = random.fork("words");
  const line = (): string => Array.from({ length: words.between(4, 16) }, () => words.pick(WORDS)).join(" ");
  const lines = Array.from({ length: random.between(LINES.least, LINES.most) }, line);
  const place = random.below(lines.length);
  /** `mark` ends all lines but the one that tells. */
  const page = (answer: string, mark = "."): string =>
    lines.map((one, at) => (at === place ? tellingLine(answer) : one + mark)).join("\n");
  const right: DrawnPage = {
    texts: seats.map(() => page(truth)),
    latenciesMs: seats.map(() => 0),
    absence: "not-found",
    isDivided: false,
  };
  switch (fault) {
    case "right":
      return right;
    case "poisoned":
      return { ...right, texts: seats.map((seat) => page(fooled.has(seat) ? (lies[0] ?? truth) : truth)) };
    case "differing": {
      // Other answers, or the same one in passages of their own.
      const isDivided = random.chance(500_000);
      const told = [truth, ...lies];
      return {
        ...right,
        texts: seats.map((seat) => page(isDivided ? random.pick(told) : truth, ` ${seat}.`)),
        isDivided,
      };
    }
    case "moving": {
      const moving = page(truth).split("\n").toSpliced(random.below(lines.length), 0, `Read at ${MOMENT}.`);
      return { ...right, texts: seats.map(() => moving.join("\n")) };
    }
    case "gone": {
      const staysPpm = random.pick([0, 0, 300_000, 700_000]);
      const absence = random.fork("early").chance(500_000) ? "not-final" : "not-found";
      return { ...right, absence, texts: seats.map(() => (random.chance(staysPpm) ? page(truth) : null)) };
    }
    case "slow": {
      const latestMs = random.pick([Math.floor(phaseMs / 3), phaseMs]);
      return { ...right, latenciesMs: seats.map(() => random.below(latestMs)) };
    }
  }
}

/** SG11: true if the world's question is answered by the number at its source. */
export function isDataQuestion(attempt: Attempt): boolean {
  return grounded(attempt).request.isDataQuestion === true;
}

/** SM10: a value that shows itself as a page does. */
function drawValue(fault: SourceFault, world: SourcesOf, fooled: ReadonlySet<SeatIndex>, random: Random): DrawnPage {
  const { attempt, truth, lies } = world;
  const { tolerance, decimals } = attempt.request.terms;
  const values = drawPage(fault, world, fooled, random);
  const told = (text: string | null): string | null => text && (toldBy(text)?.answer ?? null);
  if (fault === "differing")
    return { ...values, texts: values.texts.map(() => random.pick([truth, ...lies])), isDivided: true };
  if (fault !== "moving") return { ...values, texts: values.texts.map(told) };
  // Within the tolerance, or beyond it. A decision may then differ from the first value by more than that, in favour of a later one.
  const spread = Number(tolerance) * random.pick([1, 1, 3]) + 1;
  const from = BigInt(dataNumber(grounded(attempt).request, truth)?.outcome ?? 0);
  return {
    ...values,
    texts: values.texts.map(() => unitsText(BigInt.asIntN(256, from) + BigInt(random.below(spread)), decimals)),
    isDivided: true,
  };
}

/** A number in units of 10^-decimals, as an API writes it. */
function unitsText(units: bigint, decimals: number): string {
  return `${units}e-${decimals}`;
}

/** What a page shows a seat at a moment; null if it gets nothing. */
export function shownBy({ texts }: SourcePlan, seat: SeatIndex, moment: number): string | null {
  return texts[seat]?.replace(MOMENT, `${moment} by ${seat}`) ?? null;
}
