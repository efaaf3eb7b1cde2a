import { groupAnswers, type AnswerGroup, type SeatAnswer } from "../../request/answer.ts";
import { concat, hexToBytes, sha256 } from "../../encoding/bytes.ts";
import { bySupport, matchCalls } from "../../phases/equivalence.ts";
import { answerByData, judgeByData, readAsData } from "../../phases/data.ts";
import { gatheringOf, showing } from "../../phases/reading-steps.ts";
import { citing, withSources } from "../../prompts/source-prompt.ts";
import type { CanonicalAnswer } from "../../request/kinds.ts";
import type { Citation } from "../../sources/citations.ts";
import { grounded } from "../../sources/named.ts";
import { limits } from "../../limits.ts";
import type { Call } from "../../phases/phased-rules.ts";
import { commitmentOf, proposalFrom, type Proposal } from "../../phases/proposals.ts";
import type { SeatContext } from "../../protocol.ts";
import { faultTolerance } from "../../quorum.ts";
import { proposePrompt } from "../../prompts/task-prompt.ts";
import type { Attempt, Digest, SeatIndex } from "../../types.ts";
import { ROUNDS, stagesOf, type Stage } from "./config.ts";
import { assessOrder } from "./conclude.ts";
import type { StageRecord } from "./payloads.ts";
import { nextPrompt, votePrompt, type Reader } from "./prompts.ts";
import { preview, type AnswerRound, type Previewed } from "./rules.ts";
import type { HashgraphState, HeardCall } from "./state.ts";
import type { GraphView } from "./view.ts";

const previews = new WeakMap<GraphView, Previewed>();

/** The readings and answer rounds that a seat acts on until the consensus order is there (HG13). */
export function previewOf(graph: GraphView): Previewed {
  const known = previews.get(graph);
  if (known !== undefined) return known;
  const previewed = preview(graph.attempt, graph.told, assessOrder(graph).assessment.readings);
  previews.set(graph, previewed);
  return previewed;
}

/** HG26: true if something can be cited, as far as the seat knows. */
export function canCite(graph: GraphView): boolean {
  return previewOf(graph).readings?.holdsAny() === true;
}

export function stageAt(attempt: Attempt, stage: number): Stage {
  const found = stagesOf(attempt)[stage];
  if (found === undefined) throw new Error(`hashgraph has no stage ${stage}`);
  return found;
}

/** What a seat is asked in a stage, before what it read is shown beside it. */
interface Question extends Call {
  /** The answer that is judged, with what it cites; null if the seat is to answer, or to compare texts. */
  readonly judged: { readonly answer: CanonicalAnswer; readonly citations: readonly Citation[] } | null;
}

/** What a seat does on entering a stage: the calls to its model, all at once, and what code answers in its place (SG11). */
export interface Opening {
  readonly calls: readonly Call[];
  readonly heard: readonly HeardCall[];
}

/** Without calls the seat speaks at once. */
export function openingOf(state: HashgraphState, context: SeatContext): Opening {
  const attempt = grounded(context.attempt);
  const asked = questionsIn(state, context);
  if (attempt === context.attempt || stageAt(context.attempt, state.stage).kind === "match")
    return { calls: asked, heard: [] };
  const read = readAsData(attempt, state.read);
  if (attempt.request.isDataQuestion === true)
    return { calls: [], heard: asked.flatMap((one) => replyTo({ attempt, read }, one) ?? []) };
  const calls = showing(attempt, read, asked, ({ prompt, judged }, texts) =>
    judged === null ? citing(attempt, prompt, texts) : withSources(prompt, texts, judged.citations),
  );
  return { calls, heard: [] };
}

function replyTo(reader: Parameters<typeof answerByData>[0], { about, judged }: Question): HeardCall | null {
  const reply = judged === null ? answerByData(reader) : judgeByData(reader, "verify", judged.answer);
  return reply && { about, answered: { kind: "answered", ...reply } };
}

function questionsIn({ graph, stage, proposal }: HashgraphState, context: SeatContext): readonly Question[] {
  const attempt = grounded(context.attempt);
  const { kind, round } = stageAt(context.attempt, stage);
  switch (kind) {
    case "gather":
      return [];
    case "commit":
      return [{ about: [`${round}`, "propose"], prompt: proposePrompt(attempt), judged: null }];
    case "output": {
      if (round === 0) return [];
      const last = previewOf(graph).rounds[round - 1] as AnswerRound;
      const prompt = nextPrompt(readerIn(context, round), proposal, last);
      return [{ about: [`${round}`, "propose"], prompt, judged: null }];
    }
    case "match":
      return matchCallsIn(graph, round).map(({ about, prompt }) => ({
        about: [`${round}`, ...about],
        prompt,
        judged: null,
      }));
    case "ballot": {
      const { leading, rounds } = assessOrder(graph).assessment;
      const reader = readerIn(context, ROUNDS);
      return (leading ?? []).map((one) => {
        const { prompt, citations } = votePrompt(reader, one, rounds.at(-1) as AnswerRound);
        const answer = one.representative;
        return { about: ["vote", answer.outcome], prompt, judged: { answer, citations } };
      });
    }
  }
}

/**
 * HG24: compares the texts of this round alone, by EQ2, so that an honest one is among the founders; and the leading text of the round
 * before with each founder, to see if an agreement lasted (HG18).
 */
function matchCallsIn(graph: GraphView, round: number): readonly Call[] {
  const attempt = grounded(graph.attempt);
  const { rounds } = previewOf(graph);
  const { outputs } = rounds[round] as AnswerRound;
  const texts = bySupport(attempt, groupAnswers(attempt.request.terms, outputs));
  const leading = rounds[round - 1]?.classes[0];
  const isNew = texts.every(({ representative }) => representative.outcome !== leading?.representative.outcome);
  const founders = texts.slice(0, faultTolerance(attempt.committee.length) + 1);
  const asAnswers = (groups: readonly AnswerGroup[]): readonly SeatAnswer[] =>
    groups.map(({ representative, seats }) => ({ seat: seats[0] as SeatIndex, answer: representative }));
  const lasting =
    leading === undefined || !isNew
      ? []
      : founders.flatMap((founder) => matchCalls({ attempt }, asAnswers([leading, founder])));
  return [...lasting, ...matchCalls({ attempt }, outputs)].slice(0, limits.matchPairs);
}

/** HG23: the reader with the salt of the prompt's round. The salt of round 0 serves the commitment, and is shown with it. */
function readerIn(context: SeatContext, round: number): Reader {
  return { attempt: grounded(context.attempt), seat: context.self, salt: saltOf(context, round) };
}

/**
 * The record of the stage, made from the model's answers and their origins. A missing answer is an abstention. The commitment tells no
 * origin, since whoever has the model could compute the answer: the record that opens it does (PH12).
 */
export function recordOf(state: HashgraphState, context: SeatContext): Recorded {
  const said = bodyOf(state, context);
  const origins = [...state.sealed, ...state.heard.flatMap(({ answered }) => answered.origin ?? [])];
  if (said.record.kind === "commit") return { ...said, sealed: origins };
  return { ...said, record: origins.length === 0 ? said.record : { ...said.record, origins }, sealed: [] };
}

interface Recorded extends Body {
  readonly sealed: HashgraphState["sealed"];
}

interface Body {
  readonly record: StageRecord;
  readonly proposal: Proposal | null;
}

function bodyOf(state: HashgraphState, context: SeatContext): Body {
  const { attempt, self } = context;
  const { stage, heard } = state;
  const { kind, round } = stageAt(attempt, stage);
  const answered = heard[0] && { about: heard[0].about, ...heard[0].answered };
  const proposed = (): Proposal | null => proposalFrom(grounded(attempt).request, answered, state.read);
  switch (kind) {
    case "gather":
      return { record: { kind, stage, ...gatheringOf(attempt, state.read) }, proposal: state.proposal };
    case "commit": {
      const proposal = proposed();
      const commitment = proposal && commitmentOf(attempt, 0, self, proposal, saltOf(context, 0));
      return { record: { kind, stage, commitment }, proposal };
    }
    case "output": {
      if (round === 0) {
        const salt = state.proposal === null ? null : saltOf(context, 0);
        return { record: { kind, stage, proposal: state.proposal, salt }, proposal: state.proposal };
      }
      const proposal = proposed();
      return { record: { kind, stage, proposal, salt: null }, proposal: proposal ?? state.proposal };
    }
    case "match":
      return { record: { kind, stage, matches: matchesIn(state) }, proposal: state.proposal };
    case "ballot": {
      // A seat that finds both right, or neither, abstains.
      const accepted = heard.filter((one) => one.answered.fields["verdict"] === "accept");
      const choice = accepted.length === 1 ? ((accepted[0]?.about[1] ?? null) as Digest | null) : null;
      return { record: { kind, stage, choice }, proposal: state.proposal };
    }
  }
}

function matchesIn({ heard }: HashgraphState): Extract<StageRecord, { kind: "match" }>["matches"] {
  return heard.flatMap(({ about, answered }) => {
    const [, , first, second] = about as readonly [string, string, Digest?, Digest?];
    const { verdict } = answered.fields;
    if (first === undefined || second === undefined || (verdict !== "same" && verdict !== "different")) return [];
    return [{ first, second, same: verdict === "same" }];
  });
}

function saltOf({ secret }: SeatContext, round: number): Uint8Array {
  return hexToBytes(sha256(concat(secret, Uint8Array.of(round))));
}
