import { grounded } from "../../agents/core/sources/named.ts";
import type { Ppm, SeatIndex, Skill } from "../../agents/core/types.ts";
import { createRandom } from "../../sim/random.ts";
import type { AnswerBook } from "./answer-book.ts";
import { attemptFor } from "./attempt.ts";
import type { CellKey, Condition, Grid } from "./conditions.ts";
import type { Badness, Committee, Result } from "./deliberate.ts";
import { firstPrompt } from "./first-prompt.ts";
import type { Lessons } from "./lessons.ts";
import { markOf, type Mark } from "./mark.ts";
import { createPanel, tokensOf, type Panel } from "./panel.ts";
import type { Question } from "./question.ts";
import { plainVote, selfConsistency, textOf, type LieOf } from "./vote.ts";

export interface Evaluation extends Grid {
  /** The models as given, then all of them at temperature 0. */
  readonly book: AnswerBook;
  readonly models: number;
  readonly lessons: Lessons;
  readonly questions: readonly Posed[];
  readonly badness: readonly Badness[];
}

/** A question with the seed of its bad seats and samples. */
export interface Posed {
  readonly question: Question;
  readonly seed: number;
}

/**
 * What a decision is held against, on the same question. Nobody is bad in the first three; in the others the same
 * seats lie as in the committee.
 */
export interface Rivals<Of> {
  /** As many first answers of the committee's models as the decision's tokens pay for; the most frequent one. */
  readonly selfConsistency: Of;
  /** The same with the model alone that was best on the questions of the lessons. */
  readonly bestSingle: Of;
  /** One answer of that model at temperature 0. */
  readonly bestGreedy: Of;
  /** The most frequent one of the seats' first answers. */
  readonly vote: Of;
  /** Self-consistency in which bad seats' samples lie, whatever they were before: the count that knows no skill. */
  readonly counting: Of;
  /** The answer at temperature 0 of a seat with the best model, which may be bad. */
  readonly greedySeat: Of;
  /** The answer at temperature 0 of the best model that an honest seat has, as if the liars were known. */
  readonly honestSeat: Of;
}
export type Rival = keyof Rivals<unknown>;

/** Result of one method for one question, and of its rivals. */
export interface Trial extends Mark {
  readonly question: string;
  readonly seed: number;
  readonly answer: string | null;
  /** The certificate's confidence; null if hung, and for baselines. */
  readonly confidence: Ppm | null;
  /** True if the first attempt hung: what stands here is the retry. Costs are those of both. */
  readonly isRetried: boolean;
  readonly calls: number;
  readonly failedCalls: number;
  readonly tokens: number;
  readonly criticalPath: number;
  /** Which seats' first answers are right, as if none were bad. */
  readonly seatsRight: readonly boolean[];
  /** Samples of self-consistency. */
  readonly samples: number;
  readonly rivals: Rivals<Mark>;
}

/** All trials of one cell. */
export interface Cell extends CellKey {
  readonly trials: readonly Trial[];
}

/** Indices of the book's variants that sit, in turn. */
interface Sitting {
  readonly models: readonly number[];
  readonly variants: readonly number[];
}

function sittingOf({ models }: Evaluation, { mix, seating }: Condition): Sitting {
  const sitting = Array.from({ length: mix === "homogeneous" ? 1 : models }, (_, index) => index);
  return { models: sitting, variants: seating === "greedy" ? sitting.map((one) => models + one) : sitting };
}

/** Runs one cell's trial of one question; null if the method takes no such question, or the suite no such condition. */
export async function tryQuestion(evaluation: Evaluation, cell: CellKey, posed: Posed): Promise<Trial | null> {
  const { question, seed } = posed;
  const { condition, method } = cell;
  const isLookup = question.poisoned !== undefined;
  // Without a seat that reads the poisoned source these are the questions of `policy`.
  if (isLookup && condition.byzantine === 0) return null;
  const isFooled = isLookup || question.pages !== undefined;
  const sitting = sittingOf(evaluation, condition);
  const drawn = badSeats({ ...evaluation, seats: condition.seats, seed }, question, condition.byzantine);
  const committee: Committee = {
    seats: condition.seats,
    assurance: condition.assurance,
    bad: isFooled ? new Map() : drawn,
    misled: new Set(isFooled ? drawn.keys() : []),
    skills: skillsOf(evaluation.lessons, condition, sitting, drawn),
  };
  if (method.refuses(question, committee) !== null) return null;

  const { book, lessons } = evaluation;
  const turn = (chosen: readonly number[]) => (lane: number) => chosen[lane % chosen.length] as number;
  const isMisled = (lane: number): boolean => committee.misled.has((lane % condition.seats) as SeatIndex);
  const panel = createPanel({
    book,
    question,
    seed,
    variantOf: turn(sitting.variants),
    isPoisoned: isMisled,
    ...(condition.seating === "calibrated" && { curvesOf: (variant) => lessons.curves?.[variant] ?? {} }),
  });
  const { result, isRetried } = await decided(cell, question, committee, panel, seed);
  const table = { evaluation, posed, committee, sitting, drawn, isMisled };
  const { request } = grounded(attemptFor(question, 0, condition.seats, condition.assurance));
  return {
    question: question.text,
    seed,
    answer: result.answer,
    ...markOf(request, question.truth, result.answer),
    confidence: result.confidence,
    isRetried,
    calls: panel.cost.calls,
    failedCalls: panel.cost.failed,
    tokens: tokensOf(panel.cost),
    criticalPath: result.criticalPath,
    ...(await heldAgainst(table, tokensOf(panel.cost))),
  };
}

/** Decides, and once more if that hangs, as the chain calls another committee; the same seats sit, and answer anew. */
async function decided(
  { method }: CellKey,
  question: Question,
  committee: Committee,
  panel: Panel,
  seed: number,
): Promise<{ readonly result: Result; readonly isRetried: boolean }> {
  const first = await method.decide(question, committee, panel, seed);
  if (first.status === "decided") return { result: first, isRetried: false };
  const second = await method.decide(question, { ...committee, attempt: 1 }, panel, seed);
  return { result: { ...second, criticalPath: first.criticalPath + second.criticalPath }, isRetried: true };
}

function skillsOf(
  { skills }: Lessons,
  { seats, liars }: Condition,
  { models }: Sitting,
  bad: ReadonlyMap<SeatIndex, Badness>,
): readonly Skill[] {
  return Array.from({ length: seats }, (_, seat) => {
    if (bad.has(seat as SeatIndex)) return liars === "trusted" ? 3 : 1;
    return skills[models[seat % models.length] as number] as Skill;
  });
}

interface Table {
  readonly evaluation: Evaluation;
  readonly posed: Posed;
  readonly committee: Committee;
  readonly sitting: Sitting;
  readonly drawn: ReadonlyMap<SeatIndex, Badness>;
  readonly isMisled: (lane: number) => boolean;
}

/** The decision's rivals, at the decision's tokens. */
async function heldAgainst(
  { evaluation, posed: { question, seed }, committee, sitting, drawn, isMisled }: Table,
  tokens: number,
): Promise<Pick<Trial, "seatsRight" | "samples" | "rivals">> {
  const { book, lessons } = evaluation;
  const { seats, assurance } = committee;
  const attempt = attemptFor(question, 0, seats, assurance);
  const { request } = grounded(attempt);
  const mark = (answer: string | null): Mark => markOf(request, question.truth, answer);
  const lieOf: LieOf = (lane) => (committee.bad.has((lane % seats) as SeatIndex) ? question.lie.answer : null);
  const nobody = (_: number): boolean => false;
  const panelOf = (chosen: readonly number[], isPoisoned = nobody): Panel => {
    return createPanel({
      book,
      question,
      seed,
      variantOf: (lane) => chosen[lane % chosen.length] as number,
      isPoisoned,
    });
  };
  const firstAnswer = async (panel: Panel, lane: number, isPoisoned: boolean): Promise<string> =>
    textOf(await panel.ask(lane, firstPrompt(attempt, question, isPoisoned).small));
  const firstAnswers = async (panel: Panel, isPoisoned = nobody): Promise<readonly string[]> =>
    await Promise.all(
      Array.from({ length: seats }, async (_, seat) => await firstAnswer(panel, seat, isPoisoned(seat))),
    );
  const voteOf = (texts: readonly string[]): Mark => mark(plainVote(request, texts, question.text).answer);
  const isAttacked = drawn.size > 0;

  const ranking = sitting.models.toSorted((a, b) => rightOf(lessons, b) - rightOf(lessons, a));
  const [best] = ranking as [number];
  const greedy = async (model: number, isPoisoned: boolean): Promise<Mark> =>
    voteOf([
      await firstAnswer(
        panelOf([evaluation.models + model], () => isPoisoned),
        0,
        isPoisoned,
      ),
    ]);
  const modelOf = (seat: number): number => sitting.models[seat % sitting.models.length] as number;
  const allSeats = Array.from({ length: seats }, (_, seat) => seat as SeatIndex);
  const trustedSeat = createRandom(seed, `greedy seat ${question.text}`).pick(
    allSeats.filter((seat) => modelOf(seat) === best),
  );
  const honest = ranking.find((model) => allSeats.some((seat) => modelOf(seat) === model && !drawn.has(seat)));

  const own = await firstAnswers(panelOf(sitting.variants));
  const told = isAttacked
    ? (await firstAnswers(panelOf(sitting.variants, isMisled), isMisled)).map((text, seat) => lieOf(seat) ?? text)
    : own;
  const honestly = { promptOf: () => firstPrompt(attempt, question) };
  const attacked = { promptOf: (lane: number) => firstPrompt(attempt, question, isMisled(lane)), lieOf };
  const sampled = await selfConsistency(attempt, panelOf(sitting.models), tokens, honestly);
  const counted = isAttacked
    ? await selfConsistency(attempt, panelOf(sitting.models, isMisled), tokens, attacked)
    : sampled;
  const alone =
    sitting.models.length === 1 ? sampled : await selfConsistency(attempt, panelOf([best]), tokens, honestly);
  const bestGreedy = await greedy(best, false);
  const lie = lieOf(trustedSeat);
  return {
    seatsRight: own.map((text) => voteOf([text]).status === "right"),
    samples: sampled.samples,
    rivals: {
      selfConsistency: mark(sampled.answer),
      bestSingle: mark(alone.answer),
      bestGreedy,
      vote: voteOf(told),
      counting: mark(counted.answer),
      greedySeat: lie === null ? await greedy(best, isMisled(trustedSeat)) : mark(lie),
      honestSeat: await greedy(honest ?? best, false),
    },
  };
}

function rightOf({ greedyRight }: Lessons, model: number): number {
  return greedyRight[model] as number;
}

/** Picks the same seats for every method; the first of more bad seats are those of fewer. */
export function badSeats(
  { seats, badness, seed }: { readonly seats: number; readonly badness: readonly Badness[]; readonly seed: number },
  question: Question,
  count: number,
): ReadonlyMap<SeatIndex, Badness> {
  const random = createRandom(seed, `bad seats ${question.text}`);
  const order = random.shuffled(Array.from({ length: seats }, (_, seat) => seat as SeatIndex));
  return new Map(order.slice(0, count).map((seat) => [seat, random.fork(`seat ${seat}`).pick(badness)]));
}
