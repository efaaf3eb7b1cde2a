import type { Transcript, TranscriptMessage } from "../../../sdk/src/verify/index.ts";

/** The argument as the dashboard shows it: by rounds and seats. All texts are strangers'. */

type Told = Transcript["argument"];

/** What a seat gave as its answer in a round, or why it has none. */
export interface Statement {
  readonly seat: number;
  /** From 0. */
  readonly round: number;
  /** Name of the phase, e.g. "reveal" or "synthesis". */
  readonly phase: string;
  /** Index of the message. */
  readonly message: number;
  /** Null if the seat has no answer. */
  readonly answer: string | null;
  readonly reason: string;
  /** Parts per million; null without an answer. */
  readonly confidence: number | null;
  readonly quotations: readonly string[];
}

/** What a seat says of another one's answer. */
export interface Opinion {
  readonly by: number;
  readonly about: Statement;
  readonly accepts: boolean;
  /** The objection; empty if there are no words. */
  readonly text: string;
  readonly upheldBy: readonly number[];
  readonly refutedBy: readonly number[];
}

/** A seat that took over an answer that it had not given before. */
export interface Change {
  readonly seat: number;
  readonly from: string;
  readonly to: string;
  /** Seats that gave the new answer before it did. */
  readonly convincedBy: readonly number[];
}

/** Messages that one seat signed for one place: they prove the equivocation. They stand in the order of the transcript. */
export interface Equivocation {
  readonly seat: number;
  readonly round: number;
  /** What the messages differ in: their words, whom their sender had heard, or only the messages that they build on. */
  readonly differsIn: "words" | "heard" | "links";
  /** Names of what they say that is not the same in all. */
  readonly fields: readonly string[];
  readonly messages: readonly TranscriptMessage[];
  /** For each message, the answer that it gives; null if it gives none. */
  readonly answers: readonly (string | null)[];
  /** For each message, the seats whose messages its sender held, as the message says. */
  readonly held: readonly (readonly number[])[];
}

export interface ShownArgument {
  /** Number of rounds in which seats answered. */
  readonly rounds: number;
  readonly statements: readonly Statement[];
  readonly opinions: readonly Opinion[];
  readonly changes: readonly Change[];
  readonly equivocations: readonly Equivocation[];
}

export function argumentIn({ argument, messages }: Pick<Transcript, "argument" | "messages">): ShownArgument {
  const statements = statementsIn(argument);
  return {
    rounds: Math.max(0, ...statements.map(({ round }) => round + 1)),
    statements,
    opinions: opinionsIn(argument, statements),
    changes: changesIn(argument),
    equivocations: argument.equivocations.flatMap((indices) => equivocationIn(indices, messages, statements)),
  };
}

/** The last answer of each seat up to a round; the word of a chair on the answers of all is not one. */
export function standingAnswers(
  { statements }: Pick<ShownArgument, "statements">,
  upTo = Number.POSITIVE_INFINITY,
): ReadonlyMap<number, Statement> {
  const last = new Map<number, Statement>();
  for (const one of statements) if (one.round <= upTo && !isChair(one)) last.set(one.seat, one);
  return last;
}

/** True for the word of one seat on the answers of all. */
export function isChair({ phase }: Pick<Statement, "phase">): boolean {
  return ["synthesis", "converge"].includes(phase);
}

/** The answer that most seats share; empty if nobody answered. */
export function leadingAnswer(answers: ReadonlyMap<number, Statement>): string {
  const groups = Map.groupBy(answers.values(), ({ answer }) => answer);
  groups.delete(null);
  const [largest] = [...groups].toSorted(([, a], [, b]) => b.length - a.length);
  return largest?.[0] ?? "";
}

function statementsIn({ answers, silences }: Told): readonly Statement[] {
  const said = [
    ...answers.map(({ text, proof, quotations, ...one }) => ({
      ...one,
      answer: text,
      reason: proof,
      quotations: quotations.map(({ words }) => words),
    })),
    ...silences.map(({ why, ...one }) => ({
      ...one,
      phase: "",
      answer: null,
      reason: why,
      confidence: null,
      quotations: [],
    })),
  ];
  const before = new Map<number, number>();
  return said
    .toSorted((a, b) => a.message - b.message)
    .map((one) => {
      if (one.phase !== EVENT) return one;
      const round = before.get(one.seat) ?? 0;
      before.set(one.seat, round + 1);
      return { ...one, round };
    });
}

/** An event of a hashgraph has its number where other messages have a round: there the answers of a seat are counted. */
const EVENT = "output";

function opinionsIn({ remarks }: Told, statements: readonly Statement[]): readonly Opinion[] {
  const opinions = remarks.flatMap(({ seat, message, about, verdict, text, judged }): readonly Opinion[] => {
    const statement = statements.find((one) => one.message === about?.message);
    if (statement === undefined) return [];
    const own = statements.findLast((one) => one.seat === seat && one.message < message && !isChair(one));
    // Whoever debates says something of each answer, also of those with which it agrees: that is no objection.
    if (verdict === "critique" && own?.answer === statement.answer) return [];
    // A seat that signed its ruling twice ruled once.
    const ruled = (ruling: string): readonly number[] => [
      ...new Set(judged.filter((one) => one.verdict === ruling).map((one) => one.seat)),
    ];
    const accepts = verdict === "accept";
    return [{ by: seat, about: statement, accepts, text, upheldBy: ruled("uphold"), refutedBy: ruled("refute") }];
  });
  const same = Map.groupBy(opinions, ({ by, about: { seat, round, answer }, accepts, text }) =>
    JSON.stringify([by, seat, round, answer, accepts, text]),
  );
  // As a terminal does: what the messages of an equivocation say alike was said once.
  return [...same.values()].flatMap((alike) => alike.slice(-1));
}

function changesIn({ changes, answers }: Told): readonly Change[] {
  return changes.map(({ from, to }) => {
    const earlier = answers.filter((one) => one.seat !== to.seat && one.text === to.text && one.message < to.message);
    const convincedBy = [...new Set(earlier.map(({ seat }) => seat))];
    return { seat: to.seat, from: from.text, to: to.text, convincedBy };
  });
}

function equivocationIn(
  indices: readonly number[],
  messages: readonly TranscriptMessage[],
  statements: readonly Statement[],
): readonly Equivocation[] {
  const all = indices.flatMap((index) => messages[index] ?? []);
  const [first] = all;
  const held = all.map(({ parents }) =>
    [...new Set(parents.flatMap((one) => messages[one]?.seat ?? []))].toSorted((a, b) => a - b),
  );
  if (first === undefined) return [];
  const differsIn = isVaried(all.map(({ says }) => says)) ? "words" : isVaried(held) ? "heard" : "links";
  const fields = all.map(({ says }) => fieldsOf(says));
  const names = [...new Set(fields.flatMap((one) => Object.keys(one)))];
  return [
    {
      seat: first.seat,
      round: first.round,
      differsIn,
      fields: names.filter((name) => isVaried(fields.map((one) => one[name] ?? null))),
      messages: all,
      answers: indices.map((index) => statements.find(({ message }) => message === index)?.answer ?? null),
      held,
    },
  ];
}

/** What a message says, by name. */
function fieldsOf(says: TranscriptMessage["says"]): Readonly<Record<string, TranscriptMessage["says"]>> {
  return typeof says === "object" && says !== null && !Array.isArray(says) ? (says as Record<string, never>) : {};
}

function isVaried(values: readonly unknown[]): boolean {
  return new Set(values.map((value) => JSON.stringify(value))).size > 1;
}
