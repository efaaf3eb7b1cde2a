import type { Said, Transcript, TranscriptMessage } from "../../../sdk/src/verify/index.ts";

/**
 * The argument in a transcript: who answered what, who objected and why, who judged, who was convinced. It reads the forms that the
 * protocols share, by their fields. All texts are strangers'.
 */

/** What a seat gave as its answer in a round, or why it has none. */
export interface Statement {
  readonly seat: number;
  /** From 0. */
  readonly round: number;
  /** What kind of message it is, e.g. "reveal" or "synthesize". */
  readonly name: string;
  readonly digest: string;
  /** Null if the seat has no answer. */
  readonly answer: string | null;
  readonly reason: string;
  /** Parts per million; null if it states none. */
  readonly confidence: number | null;
  readonly quotations: readonly string[];
}

export type Verdict = "accepts" | "rejects" | "abstains";

/** What a seat says of another seat's answer. */
export interface Opinion {
  readonly by: number;
  /** The seat whose answer it is about. */
  readonly about: number;
  readonly round: number;
  readonly verdict: Verdict;
  /** The objection, or the remark; may be empty. */
  readonly text: string;
  /** Judgements of others on the objection. */
  readonly upheldBy: readonly number[];
  readonly dismissedBy: readonly number[];
  /** Marks of 0 to 120 in all; null if it is no score. */
  readonly marks: number | null;
}

/** Two messages that one seat signed for one place: proof of a lie. */
export interface Lie {
  readonly seat: number;
  readonly round: number;
  readonly messages: readonly [TranscriptMessage, TranscriptMessage];
}

/** A seat that took over an answer that it had not given before. */
export interface Change {
  readonly seat: number;
  /** The round of the new answer. */
  readonly round: number;
  readonly from: string;
  readonly to: string;
  /** Seats that had the new answer in the round before. */
  readonly convincedBy: readonly number[];
}

export interface Argument {
  /** Number of rounds in which something was said. */
  readonly rounds: number;
  readonly statements: readonly Statement[];
  readonly opinions: readonly Opinion[];
  readonly changes: readonly Change[];
  readonly lies: readonly Lie[];
}

type Fields = { readonly [key: string]: Said };

export function argumentOf({ messages }: Pick<Transcript, "messages">): Argument {
  const statements = numbered(messages.flatMap(statementIn));
  const byDigest = new Map(statements.map((one) => [one.digest, one]));
  const judgements = messages.flatMap(judgementsIn);
  const opinions = messages.flatMap((message) => opinionsIn(message, byDigest, judgements));
  const rounds = Math.max(0, ...[...statements, ...opinions].map(({ round }) => round + 1));
  return { rounds, statements, opinions, changes: changesIn(statements), lies: liesIn(messages) };
}

/** The last answer of each seat that gave one, up to a round. */
export function standingAnswers(
  { statements }: Pick<Argument, "statements">,
  upTo = Number.POSITIVE_INFINITY,
): ReadonlyMap<number, Statement> {
  const last = new Map<number, Statement>();
  for (const one of statements) if (one.round <= upTo && !isChair(one)) last.set(one.seat, one);
  return last;
}

/** True for the word of one seat on the answers of all. */
export function isChair({ name }: Pick<Statement, "name">): boolean {
  return ["synthesize", "draft", "converge"].includes(name);
}

/** Seats of a larger group than any other share this answer; null if nobody answered. */
export function leadingAnswer(
  answers: ReadonlyMap<number, Statement>,
): { readonly answer: string; readonly seats: readonly number[] } | null {
  const groups = Map.groupBy(
    [...answers.values()].filter((one) => one.answer !== null),
    ({ answer }) => answer ?? "",
  );
  const [largest] = [...groups].toSorted(([, a], [, b]) => b.length - a.length);
  return largest === undefined ? null : { answer: largest[0], seats: largest[1].map(({ seat }) => seat) };
}

/** The fields of a message, or of the record that an event carries. */
function fieldsOf({ says }: TranscriptMessage): Fields | null {
  if (!isFields(says)) return null;
  const { record } = says;
  return isFields(record) && isFields(record["body"]) ? record["body"] : says;
}

function statementIn(message: TranscriptMessage): readonly Statement[] {
  const fields = fieldsOf(message);
  if (fields === null || !("proposal" in fields)) return [];
  const { seat, round, digest, name } = message;
  const { proposal, why } = fields;
  const common = { seat, round, digest, name: name ?? "" };
  if (!isFields(proposal))
    return [{ ...common, answer: null, reason: textOf(why), confidence: null, quotations: [] }];
  const { answer, proof, tier, citations } = proposal;
  const quotations = listOf(citations).flatMap((one) => (isFields(one) ? textOf(one["quotation"]) : []));
  return [
    {
      ...common,
      answer: textOf(answer),
      reason: textOf(proof),
      confidence: typeof tier === "number" ? tier : null,
      quotations: quotations.filter((one) => one !== ""),
    },
  ];
}

/** Events have numbers of their own where other messages have rounds: there a seat's statements are counted. */
function numbered(statements: readonly Statement[]): readonly Statement[] {
  const said = new Map<number, number>();
  return statements.map((one) => {
    if (one.name !== "output") return one;
    const round = said.get(one.seat) ?? 0;
    said.set(one.seat, round + 1);
    return { ...one, round };
  });
}

interface Judgement {
  readonly by: number;
  readonly author: number;
  readonly target: string;
  readonly verdict: string;
}

function judgementsIn(message: TranscriptMessage): readonly Judgement[] {
  return listOf(fieldsOf(message)?.["judgements"]).flatMap((one) => {
    if (!isFields(one)) return [];
    const { author, target, verdict } = one;
    return typeof author === "number" ? { by: message.seat, author, target: textOf(target), verdict: textOf(verdict) } : [];
  });
}

const VERDICTS: Readonly<Record<string, Verdict>> = { accept: "accepts", reject: "rejects", abstain: "abstains" };

function opinionsIn(
  message: TranscriptMessage,
  statements: ReadonlyMap<string, Statement>,
  judgements: readonly Judgement[],
): readonly Opinion[] {
  const fields = fieldsOf(message);
  if (fields === null) return [];
  const { seat: by, name } = message;
  const opinion = (target: Said | undefined, verdict: Verdict, text: string, marks: number | null = null) => {
    const about = statements.get(textOf(target));
    if (about === undefined) return [];
    const rulings = judgements.filter((one) => one.author === by && one.target === about.digest);
    const ruled = (ruling: string): readonly number[] =>
      rulings.filter(({ verdict: one }) => one === ruling).map((one) => one.by);
    const round = about.round;
    return [
      { by, about: about.seat, round, verdict, text, marks, upheldBy: ruled("uphold"), dismissedBy: ruled("refute") },
    ];
  };
  const votes = listOf(fields["votes"]).flatMap((one) =>
    isFields(one)
      ? opinion(one["target"], VERDICTS[textOf(one["verdict"])] ?? "abstains", textOf(one["counterProof"]))
      : [],
  );
  const critiques = listOf(fields["critiques"]).flatMap((one) => {
    const [target, text] = listOf(one);
    return opinion(target, isAgreeing(textOf(text)) ? "accepts" : "rejects", textOf(text));
  });
  const { review } = fields;
  const reviews = isFields(review)
    ? opinion(review["draft"], VERDICTS[textOf(review["verdict"])] ?? "abstains", textOf(review["text"]))
    : [];
  const scores = listOf(fields["scores"]).flatMap((one) => {
    if (!isFields(one)) return [];
    const marks = listOf(one["marks"]).reduce<number>((sum, mark) => sum + (typeof mark === "number" ? mark : 0), 0);
    return opinion(one["target"], "abstains", "", one["marks"] === null ? null : marks);
  });
  const chosen = name === "final" || name === "ballot" ? (fields["target"] ?? fields["choice"]) : null;
  const choices = chosen === null ? [] : opinion(chosen, "accepts", "");
  return [...votes, ...critiques, ...reviews, ...scores, ...choices];
}

/** A critic that finds no error writes so. */
function isAgreeing(text: string): boolean {
  return text.trim().toLowerCase() === "agrees";
}

function changesIn(statements: readonly Statement[]): readonly Change[] {
  return statements.flatMap((now) => {
    const own = (one: Statement): boolean => one.seat === now.seat && one.round < now.round && !isChair(one);
    const before = isChair(now) ? undefined : statements.findLast(own);
    if (before?.answer == null || now.answer === null || before.answer === now.answer) return [];
    const convincedBy = statements
      .filter((one) => one.round === before.round && one.seat !== now.seat && one.answer === now.answer)
      .map(({ seat }) => seat);
    return [{ seat: now.seat, round: now.round, from: before.answer, to: now.answer, convincedBy }];
  });
}

function liesIn(messages: readonly TranscriptMessage[]): readonly Lie[] {
  const places = Map.groupBy(messages, ({ seat, round, phase }) => `${seat}.${round}.${phase}`);
  return [...places.values()].flatMap(([first, ...others]) => {
    const second = others.find(({ digest }) => digest !== first?.digest);
    if (first === undefined || second === undefined) return [];
    return [{ seat: first.seat, round: first.round, messages: [first, second] as const }];
  });
}

function isFields(value: Said | undefined): value is Fields {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

function listOf(value: Said | undefined): readonly Said[] {
  return Array.isArray(value) ? (value as readonly Said[]) : [];
}

function textOf(value: Said | undefined): string {
  return typeof value === "string" ? value : "";
}
