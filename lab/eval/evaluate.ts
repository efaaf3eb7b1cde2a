import { canonicalAnswer } from "../../agents/core/request/answer.ts";
import { policiesOf } from "../../agents/core/request/kinds.ts";
import { proposePrompt } from "../../agents/core/prompts/task-prompt.ts";
import type { Assurance, SeatIndex, Terms } from "../../agents/core/types.ts";
import { agrees } from "../../sim/plan.ts";
import { createRandom } from "../../sim/random.ts";
import type { AnswerBook } from "./answer-book.ts";
import { attemptFor } from "./attempt.ts";
import type { Badness, Committee } from "./deliberate.ts";
import type { Method } from "./methods.ts";
import { createPanel, tokensOf, type Panel } from "./panel.ts";
import type { Question, Suite } from "./question.ts";
import { plainVote, selfConsistency } from "./vote.ts";

/** One mix of models: a lane's model is the one at its number, in rotation. */
export interface Mix {
  readonly name: "homogeneous" | "heterogeneous";
  /** Indices of the book's variants. */
  readonly variants: readonly number[];
  /** The same models at temperature 0. */
  readonly greedy: readonly number[];
}

export interface Evaluation {
  readonly book: AnswerBook;
  readonly mixes: readonly Mix[];
  readonly methods: readonly Method[];
  readonly questions: readonly Question[];
  readonly seats: number;
  readonly assurance: Assurance;
  /** Numbers of bad seats, and their ways to be bad. */
  readonly byzantine: readonly number[];
  readonly badness: readonly Badness[];
  readonly seed: number;
}

/** The judgement of one answer. */
export interface Mark {
  readonly status: "right" | "wrong" | "hung";
  /**
   * Grade from 0 to 1. For policies: the share that answer and truth have in common of all that either names;
   * otherwise 1 if right, else 0. Hung: 0.
   */
  readonly grade: number;
}

/** A vote of samples that costs at most as much as the decision beside it. */
interface VoteMark extends Mark {
  readonly samples: number;
  readonly tokens: number;
}

/** Result of one method for one question, and of the votes that its tokens would buy. */
export interface Trial extends Mark {
  readonly question: string;
  readonly answer: string | null;
  readonly calls: number;
  readonly failedCalls: number;
  readonly tokens: number;
  readonly criticalPath: number;
  readonly selfConsistency: VoteMark;
  /** The same vote with each model of the mix alone. */
  readonly single: readonly VoteMark[];
  /** One answer at temperature 0 for each model of the mix. */
  readonly greedy: readonly Mark[];
}

/** All trials of one method under one condition. */
export interface Cell {
  readonly suite: Suite;
  readonly mix: Mix["name"];
  readonly method: Method;
  readonly byzantine: number;
  readonly trials: readonly Trial[];
}

/** Returns every cell of the evaluation; cells of a method that refuses the questions have no trials. */
export function cellsOf(
  { mixes, methods, byzantine }: Evaluation,
  suites: readonly Suite[],
): readonly Omit<Cell, "trials">[] {
  return suites.flatMap((suite) =>
    mixes.flatMap(({ name: mix }) =>
      byzantine.flatMap((bad) => methods.map((method) => ({ suite, mix, method, byzantine: bad }))),
    ),
  );
}

/** Runs one cell's trial of one question; null if the method takes no such question. */
export async function tryQuestion(
  evaluation: Evaluation,
  cell: Omit<Cell, "trials">,
  question: Question,
): Promise<Trial | null> {
  const { book, seats, assurance, seed } = evaluation;
  const { variants, greedy } = evaluation.mixes.find(({ name }) => name === cell.mix) as Mix;
  const drawn = badSeats(evaluation, question, cell.byzantine);
  const isLookup = question.poisoned !== undefined;
  const committee: Committee = {
    seats,
    assurance,
    bad: isLookup ? new Map() : drawn,
    misled: new Set(isLookup ? drawn.keys() : []),
  };
  if (cell.method.refuses(question, committee) !== null) return null;
  const panelWith = (chosen: readonly number[], misled: ReadonlySet<number> = new Set()): Panel => {
    const variantOf = (lane: number): number => chosen[lane % chosen.length] as number;
    return createPanel({ book, question, seed, variantOf, poisoned: misled });
  };

  const panel = panelWith(variants, committee.misled);
  const verdict = await cell.method.decide(question, committee, panel, seed);
  const attempt = attemptFor(question, 0, seats, assurance);
  const { terms } = attempt.request;
  const tokens = tokensOf(panel.cost);
  const voteOf = async (chosen: readonly number[]): Promise<VoteMark> => {
    const vote = await selfConsistency(attempt, panelWith(chosen), tokens);
    return { ...markOf(terms, question.truth, vote.answer), samples: vote.samples, tokens: vote.tokens };
  };
  const firstAnswerOf = async (chosen: readonly number[]): Promise<Mark> => {
    const answer = await panelWith(chosen).ask(0, proposePrompt(attempt).small);
    const texts = answer.kind === "answered" ? [answer.fields["answer"] ?? ""] : [];
    return markOf(terms, question.truth, plainVote(terms, texts).answer);
  };
  const votes = await voteOf(variants);
  const single = variants.length === 1 ? [votes] : await Promise.all(variants.map(async (one) => await voteOf([one])));
  return {
    question: question.text,
    answer: verdict.answer,
    ...markOf(terms, question.truth, verdict.answer),
    calls: panel.cost.calls,
    failedCalls: panel.cost.failed,
    tokens,
    criticalPath: verdict.criticalPath,
    selfConsistency: votes,
    single,
    greedy: await Promise.all(greedy.map(async (one) => await firstAnswerOf([one]))),
  };
}

/** Picks the same seats for every method; the first of more bad seats are those of fewer. */
export function badSeats(
  { seats, badness, seed }: Pick<Evaluation, "seats" | "badness" | "seed">,
  question: Question,
  count: number,
): ReadonlyMap<SeatIndex, Badness> {
  const random = createRandom(seed, `bad seats ${question.text}`);
  const order = random.shuffled(Array.from({ length: seats }, (_, seat) => seat as SeatIndex));
  return new Map(order.slice(0, count).map((seat) => [seat, random.fork(`seat ${seat}`).pick(badness)]));
}

/** `answer`: null if hung. */
export function markOf(terms: Terms, truth: string, answer: string | null): Mark {
  if (answer === null) return { status: "hung", grade: 0 };
  const isRight = agrees(terms, answer, truth);
  const grade = terms.kind === "policies" ? overlap(terms, answer, truth) : Number(isRight);
  return { status: isRight ? "right" : "wrong", grade };
}

/** Jaccard's index of two sets of policies. */
function overlap(terms: Terms, answer: string, truth: string): number {
  const [a, b] = [answer, truth].map((text) => {
    const canonical = canonicalAnswer({ terms, question: "" }, text);
    return new Set(canonical === null ? [] : policiesOf(canonical.outcome));
  }) as [Set<number>, Set<number>];
  const union = a.union(b).size;
  return union === 0 ? 0 : a.intersection(b).size / union;
}
