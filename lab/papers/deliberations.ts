import type { Protocol } from "../../agents/core/protocol.ts";
import { revealForm } from "../../agents/core/phases/proposals.ts";
import { proposePrompt } from "../../agents/core/prompts/task-prompt.ts";
import { addMessage, emptyTally, type Tally } from "../../agents/core/seat/tally.ts";
import { decodeMessage, readRoot } from "../../agents/core/encoding/transcript.ts";
import type { Message, SeatIndex } from "../../agents/core/types.ts";
import { callsBehind } from "../../sim/batch.ts";
import { forget } from "../../sim/fast/memo.ts";
import type { Plan } from "../../sim/plan.ts";
import { honestSeats, type Trace } from "../../sim/trace.ts";
import { runWorld } from "../../sim/world.ts";
import type { Answer, AnswerBook } from "../eval/answer-book.ts";
import { attemptFor } from "../eval/attempt.ts";
import { deliberation, planFor, type Badness } from "../eval/deliberate.ts";
import { badSeats } from "../eval/evaluate.ts";
import { markOf } from "../eval/mark.ts";
import { createPanel, type Panel } from "../eval/panel.ts";
import type { Question } from "../eval/question.ts";

/** A committee's decision of one question, and the transcript behind it. */
export interface Deliberated {
  readonly question: Question;
  readonly trace: Trace;
  /** Outcome; "none": some honest seat has no certificate, which more than f bad seats can cause. */
  readonly status: "right" | "wrong" | "hung" | "none";
  /** Canonical answer; null without a decision. */
  readonly answer: string | null;
  /** Messages of the certified transcript; empty without a certificate. */
  readonly messages: readonly Message[];
  readonly tally: Tally;
  /** Longest chain of model calls behind the transcript. */
  readonly criticalPath: number;
  /** Virtual time at which the last honest seat had its certificate. */
  readonly certifiedMs: number | null;
}

export interface Asking {
  readonly book: AnswerBook;
  readonly protocol: Protocol;
  readonly seats: number;
  readonly seed: number;
  readonly byzantine?: number;
  /** Wraps the panel between the seats and the model; absent = nothing. */
  readonly around?: (panel: Panel) => Panel;
}

/** Deliberates with the embedded model, all seats alike; bad seats are confident liars. */
export async function deliberateOn(
  question: Question,
  asking: Asking,
): Promise<Deliberated & { readonly panel: Panel }> {
  const { book, protocol, seats, seed, byzantine = 0, around = (same) => same } = asking;
  const badness: readonly Badness[] = ["confident"];
  const bad = badSeats({ seats, badness, seed }, question, byzantine);
  const committee = { seats, bad, misled: new Set<SeatIndex>(), assurance: "normal" } as const;
  const panel = createPanel({ book, question, seed, variantOf: () => 0 });
  const trace = await deliberation(planFor(protocol, question, committee, seed), around(panel));
  return { ...readTrace(trace, question), panel };
}

/** Deliberates with simulated models, which err at the plan's rate. */
export async function simulate(plan: Plan, question: Question): Promise<Deliberated> {
  forget();
  return readTrace(await runWorld(plan), question);
}

export function readTrace(trace: Trace, question: Question): Deliberated {
  const honest = honestSeats(trace);
  const certified = honest.flatMap(({ certificates }) => certificates[0] ?? []);
  const [first] = certified;
  const decisions = certified.map(({ certificate }) => certificate.decision);
  const marks = decisions.map(({ status, answer }) =>
    markOf(trace.attempt.request, question.truth, status === "hung" ? null : answer),
  );
  const isComplete = first !== undefined && certified.length === honest.length;
  const worst = (["wrong", "hung", "right"] as const).find((status) => marks.some((mark) => mark.status === status));
  const messages = first === undefined ? [] : messagesOf(trace, first.certificate.decision.transcript);
  return {
    question,
    trace,
    status: worst === "wrong" ? "wrong" : isComplete ? (worst ?? "none") : "none",
    answer: decisions[0]?.status === "decided" ? decisions[0].answer : null,
    messages,
    tally: messages.reduce<Tally>((tally, message) => {
      const added = addMessage(tally, message);
      return added.kind === "added" || added.kind === "equivocation" ? added.tally : tally;
    }, emptyTally),
    criticalPath: first === undefined ? 0 : callsBehind(trace, first.certificate.decision.transcript),
    certifiedMs: isComplete ? Math.max(...certified.map(({ at }) => at)) : null,
  };
}

function messagesOf(trace: Trace, transcript: Parameters<Trace["block"]>[0]): readonly Message[] {
  const root = trace.block(transcript);
  const read = root === null ? null : readRoot(trace.attempt, trace.protocol, root);
  if (read === null || "refused" in read) return [];
  return read.messages.flatMap((digest) => {
    const bytes = trace.block(digest);
    const message = bytes === null ? null : decodeMessage(bytes);
    return message ?? [];
  });
}

/** Returns the answers of each round, as a reader of the transcript sees them. */
export function revealsOf({
  messages,
  trace,
}: Deliberated): readonly { readonly round: number; readonly answer: string }[] {
  const { attempt, protocol } = trace;
  return messages.flatMap(({ header, payload }) => {
    if (header.phase !== revealForm.phase) return [];
    const body = protocol.render(attempt, header, payload)?.body;
    const proposal = body === undefined ? null : (revealForm.decode(attempt, body)?.proposal ?? null);
    return proposal === null ? [] : [{ round: header.round, answer: proposal.answer }];
  });
}

/** Returns the first answers of all seats, each given alone. */
export async function firstAnswers(
  book: AnswerBook,
  question: Question,
  seats: number,
  seed: number,
): Promise<readonly Answer[]> {
  const panel = createPanel({ book, question, seed, variantOf: () => 0 });
  const prompt = proposePrompt(attemptFor(question, 0, seats, "normal")).small;
  return await Promise.all(Array.from({ length: seats }, async (_, seat) => await panel.ask(seat, prompt)));
}
