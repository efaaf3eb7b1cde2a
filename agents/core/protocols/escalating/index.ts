import { MATCH, matchCalls, sayMatches } from "../../phases/equivalence.ts";
import { phased } from "../../phases/phased.ts";
import type { Call, SeatView } from "../../phases/phased-rules.ts";
import { explainClasses } from "../../phases/reasons.ts";
import { candidatesOf, commitForm, revealForm, sayCommit, sayReveal } from "../../phases/proposals.ts";
import {
  CITE,
  SOURCE,
  cite,
  grounded,
  readDocument,
  refuseSources,
  sourcesOf,
  type Citations,
  type Sources,
} from "../../request/sources.ts";
import { proposePrompt } from "../../prompts/task-prompt.ts";
import type { Attempt } from "../../types.ts";
import { CRITIQUE, critiqueCalls, critiquesOf, replyPrompt, sayCritiques } from "../debate/critiques.ts";
import { mbftCalls, mbftSay, refuseMbft } from "../mbft/index.ts";
import { explainMbft, type MbftCarry } from "../mbft/conclude.ts";
import { JUDGE } from "../mbft/payloads.ts";
import { VOTE } from "../../phases/votes.ts";
import {
  bringersOf,
  citationsOf,
  claimsIn,
  initialCarry,
  isDebate,
  assessEscalatingRound,
  type EscalatingCarry,
} from "./assess.ts";
import { VERSION, citePrompt, citing, namedDocument, withDocuments } from "./prompts.ts";
import { acceptedOf, agreementIn, isContested } from "./rules.ts";
import { councilRound, formsOf, isGated, levelAt, levelsOf } from "./levels.ts";

/** ES2: the most seats, since a cross-examination has one letter per peer. */
const MOST_SEATS = 26;

/** escalating (docs/spec/escalating.md): a council, then a debate if the council is contested, then source-gated mbft. */
export const escalating = phased<EscalatingCarry>({
  id: "escalating",
  code: 10,
  version: VERSION,
  title: "Council, debate, then source-gated mbft",
  assurance: "byzantine",
  mostSeats: MOST_SEATS,
  refuseRequest: refuseEscalating,
  rounds: (attempt) => levelsOf(attempt).length,
  forms: formsOf,
  speakers: (attempt, round, phase) => (isBringing(attempt, round, phase) ? bringersOf(attempt) : null),
  initial: initialCarry,
  assessRound: assessEscalatingRound,
  explain: (book, carry, answers) =>
    levelAt(book.attempt, book.round) === "mbft"
      ? explainMbft(book, carry.mbft, claimsIn(book, carry, "closed"))
      : explainClasses(answers),
  calls,
  documents: (attempt, round, phase) => (isBringing(attempt, round, phase) ? sourcesOf(attempt.request.question) : []),
  say,
});

/** SG5: true if the phase brings the documents. */
function isBringing(attempt: Attempt, round: number, phase: number): boolean {
  return levelAt(attempt, round) === "sources" && phase === SOURCE;
}

function refuseEscalating(attempt: Attempt): string | null {
  const seats = attempt.committee.length;
  if (seats > MOST_SEATS) return `a cross-examination has room for ${MOST_SEATS} seats, not ${seats}`;
  return refuseSources(attempt.request.question) ?? refuseMbft(attempt);
}

function calls(view: SeatView<EscalatingCarry>, phase: number): readonly Call[] {
  const shown = isGated(view.attempt) ? { ...view, attempt: grounded(view.attempt) } : view;
  switch (levelAt(view.attempt, view.round)) {
    case "sources":
      return [];
    case "council":
      return councilCalls(shown, phase);
    case "mbft":
      return decisionCalls(view, shown, phase);
  }
}

/** ES3, ES6: the calls of the council. SG7: all seats see the documents from the first answer on. */
function councilCalls(view: SeatView<EscalatingCarry>, phase: number): readonly Call[] {
  const { attempt, book, carry } = view;
  switch (phase) {
    case commitForm.phase:
      return [{ about: ["propose"], prompt: firstPrompt(attempt, carry) }];
    case MATCH:
      return matchCalls(view, candidatesOf(book, "open"));
    case CRITIQUE: {
      const candidates = candidatesOf(book, "open");
      if (!isContested(attempt, agreementIn(book, candidates, "open"))) return [];
      return withGround(carry, critiqueCalls(view, book, candidates));
    }
    default:
      return [];
  }
}

function firstPrompt(attempt: Attempt, { documents }: EscalatingCarry): Call["prompt"] {
  return documents.length > 0 ? citePrompt(attempt, documents) : proposePrompt(attempt);
}

function withGround({ documents }: EscalatingCarry, asked: readonly Call[]): readonly Call[] {
  if (documents.length === 0) return asked;
  return asked.map(({ about, prompt }) => ({ about, prompt: withDocuments(prompt, documents) }));
}

/** ES7, ES8: mbft's calls. After a debate the first calls are its replies, and accepted answers need no votes. */
function decisionCalls(
  view: SeatView<EscalatingCarry>,
  shown: SeatView<EscalatingCarry>,
  phase: number,
): readonly Call[] {
  const { attempt, book, carry, round } = view;
  const { documents } = carry;
  const isReply = isDebate(attempt, round, carry);
  if (phase === commitForm.phase) {
    const reply = isReply ? replyTo(shown) : null;
    const prompt = reply ?? (carry.mbft.result === null ? null : firstCall(asMbft(view, shown.attempt)));
    const asked =
      prompt === null ? firstPrompt(shown.attempt, carry) : documents.length > 0 ? citing(prompt, documents) : prompt;
    return [{ about: ["propose"], prompt: asked }];
  }
  const isDecided = isReply && acceptedOf(attempt, agreementIn(book, candidatesOf(book, "open"), "open")) !== null;
  if (isDecided && (phase === VOTE || phase === JUDGE)) return [];
  const asked = mbftCalls(asMbft(view, shown.attempt), phase, (of, closure) => claimsIn(of, carry, closure));
  return phase === MATCH ? asked : withCitations(view, asked);
}

/** The prompt of mbft's one call for a proposal; in later rounds it is a revision (MB15). */
function firstCall(view: SeatView<MbftCarry>): Call["prompt"] | null {
  return mbftCalls(view, commitForm.phase, candidatesOf)[0]?.prompt ?? null;
}

/** The seat's view with the rounds as mbft counts them; `shown` is the attempt as models see it. */
function asMbft(view: SeatView<EscalatingCarry>, shown: Attempt): SeatView<MbftCarry> {
  const earlier = view.earlier.slice(councilRound(view.attempt) + 1);
  return { ...view, attempt: shown, carry: view.carry.mbft, earlier };
}

/** ES7: asks for a reply to the critiques of the own first answer; null for a seat without one, which answers anew. */
function replyTo({ attempt, earlier, self }: SeatView<EscalatingCarry>): Call["prompt"] | null {
  const council = earlier.at(-1);
  const own = council && candidatesOf(council, "closed").find(({ seat }) => seat === self);
  return council && own ? replyPrompt(attempt, own, critiquesOf(council, council, own, "closed")) : null;
}

/** SG7: a seat that verifies or adjudicates sees the claim's citations and the documents. */
function withCitations({ book, carry }: SeatView<EscalatingCarry>, asked: readonly Call[]): readonly Call[] {
  const { documents } = carry;
  if (documents.length === 0) return asked;
  const claims = claimsIn(book, carry, "open");
  return asked.map(({ about, prompt }) => {
    const claim = claims.find(({ target }) => about.includes(target));
    const citations = claim === undefined ? [] : citationsOf(book, claim.seat, "open");
    return { about, prompt: withDocuments(prompt, documents, citations) };
  });
}

function say(view: SeatView<EscalatingCarry>, phase: number): unknown {
  if (levelAt(view.attempt, view.round) === "sources") return phase === SOURCE ? saySources(view) : {};
  switch (phase) {
    case commitForm.phase:
      return sayCommit(view);
    case revealForm.phase:
      return sayReveal(view);
    case MATCH:
      return sayMatches(view);
    case CITE:
      return sayCitations(view);
    default:
      return levelAt(view.attempt, view.round) === "council"
        ? sayCritiques(view)
        : mbftSay(asMbft(view, view.attempt), phase);
  }
}

function saySources({ attempt, fetched }: SeatView<EscalatingCarry>): Sources {
  const documents = sourcesOf(attempt.request.question).map((digest, index) => {
    const block = fetched[index] ?? null;
    return block === null ? null : (readDocument(digest, block)?.text ?? null);
  });
  return { documents };
}

/** SG6: the place of the model's quotation; a quotation that is not in the documents cites nothing. */
function sayCitations(view: SeatView<EscalatingCarry>): Citations {
  const { carry } = view;
  const fields = view.answered(commitForm.phase)[0]?.fields ?? {};
  const document = carry.documents[namedDocument(fields["source"] ?? "")];
  const found = document === undefined ? null : cite(document, fields["quote"] ?? "");
  return { citations: found === null ? [] : [found] };
}
