import { canonicalAnswer, unreadAnswer } from "../request/answer.ts";
import type { Asked, CanonicalAnswer } from "../request/kinds.ts";
import { nonAnswerIn } from "../request/non-answers.ts";
import { clipText } from "../request/text.ts";
import { digestOf, isMapOf } from "../encoding/codec.ts";
import { concat, encodeRequestId, hexToBytes, sha256 } from "../encoding/bytes.ts";
import { limits } from "../limits.ts";
import { seatsOf } from "../seat/order.ts";
import { asDigest, hasTwice, isPayloadMap, isTextOf, listOf } from "../encoding/payload.ts";
import { cite, decodeCitation, encodeCitation, type Citation } from "../sources/citations.ts";
import { namedSource } from "../prompts/source-prompt.ts";
import type { PayloadMap } from "../protocol.ts";
import type { Read } from "../sources/reading.ts";
import type { Answered, SeatView } from "./phased-rules.ts";
import type { Blind, BlindAnswer, Overdue } from "./pay.ts";
import { allVariants, counted, said, type Form, type RoundBook, type Closure } from "./round-book.ts";
import { isTier, tierOf } from "./tiers.ts";
import { ONE_PPM, type Attempt, type Digest, type Ppm, type SeatIndex, type Value } from "../types.ts";

/** The phases in which every deliberation begins: seats commit to salted answers before any is revealed (PH1). */
const COMMIT = 1;
const REVEAL = 2;

/** A seat's answer (S_i), its proof trace (P_i) and its stated confidence (tau_i). */
export interface Proposal {
  readonly answer: string;
  readonly proof: string;
  readonly tier: Ppm;
  /** SG4: what the answer rests on; not given where the question names no source. */
  readonly citations?: readonly Citation[];
  /** CL2: outcomes of the samples that gave something else; not given where none did. */
  readonly others?: readonly Digest[];
}

/** A proposal whose answer is canonical for the question's kind. */
export interface Candidate {
  readonly seat: SeatIndex;
  /** Payload digest of the message that carries it; votes name it. */
  readonly target: Digest;
  readonly answer: CanonicalAnswer;
  readonly proof: string;
  readonly tier: Ppm;
  readonly citations?: readonly Citation[];
  readonly others?: readonly Digest[];
}

/** The commitment; null if the model failed: a typed abstention. */
interface Commit {
  readonly commitment: Digest | null;
}

interface Reveal {
  readonly proposal: (Proposal & { readonly salt: Uint8Array }) | null;
  /** PH14: why there is no proposal, in the seat's words. */
  readonly why?: string;
}

export const commitForm: Form<Commit> = {
  name: "commit",
  phase: COMMIT,
  encode: ({ commitment }) => ({ commitment: commitment === null ? null : hexToBytes(commitment) }),
  decode: (_, value) => {
    if (!isMapOf(value, ["commitment"])) return null;
    if (value["commitment"] === null) return { commitment: null };
    const commitment = asDigest(value["commitment"]);
    return commitment === null ? null : { commitment };
  },
};

export const revealForm = revealFormOf(false);

/** CL2: the reveal of a seat that tells what its other samples gave. */
export const samplesForm = revealFormOf(true);

function revealFormOf(tellsSamples: boolean): Form<Reveal> {
  return {
    name: "reveal",
    phase: REVEAL,
    encode: ({ proposal, why }) => ({
      proposal: proposal === null ? null : { ...encodeProposal(proposal), salt: proposal.salt },
      ...(why !== undefined && { why }),
    }),
    decode: (_, value) => {
      if (isMapOf(value, ["proposal", "why"])) {
        const { proposal, why } = value;
        return proposal === null && isTextOf(why, limits.whyBytes) && why !== "" ? { proposal, why } : null;
      }
      if (!isMapOf(value, ["proposal"])) return null;
      if (value["proposal"] === null) return { proposal: null };
      if (!isPayloadMap(value["proposal"])) return null;
      const { salt, ...rest } = value["proposal"];
      const proposal = decodeProposal(rest, tellsSamples);
      return proposal !== null && salt instanceof Uint8Array && salt.length === 32
        ? { proposal: { ...proposal, salt } }
        : null;
    },
  };
}

/** The form of a round's reveals. */
export function revealIn({ plan: { forms } }: Pick<RoundBook, "plan">): Form<Reveal> {
  return forms.includes(samplesForm) ? samplesForm : revealForm;
}

export function encodeProposal({ answer, proof, tier, citations, others }: Proposal): PayloadMap {
  return {
    answer,
    proof,
    tier,
    ...(citations && { citations: citations.map(encodeCitation) }),
    ...(others && { others: others.map(hexToBytes) }),
  };
}

/** @param tellsSamples whether `others` may be there */
export function decodeProposal(value: Value | undefined, tellsSamples = false): Proposal | null {
  if (!isPayloadMap(value)) return null;
  const { citations: cited, others: given, ...own } = value;
  if (!isMapOf(own, ["answer", "proof", "tier"]) || (given !== undefined && !tellsSamples)) return null;
  const { answer, proof, tier } = own;
  if (!isTextOf(answer, limits.answerBytes) || !isTextOf(proof, limits.proofBytes) || !isTier(tier)) return null;
  const citations = cited === undefined ? undefined : listOf(cited, limits.sources, decodeCitation);
  const others = given === undefined ? undefined : decodeOthers(given);
  if (citations === null || others === null || tier > mostSure(others)) return null;
  return { answer, proof, tier, ...(citations && { citations }), ...(others && { others }) };
}

/** CL2: the tier of a seat whose other samples gave this, if none of its calls failed. */
function mostSure(others: readonly Digest[] = []): Ppm {
  return tierOf(Math.floor(((limits.samples - others.length) * ONE_PPM) / limits.samples) as Ppm);
}

function decodeOthers(value: Value): readonly Digest[] | null {
  const others = listOf(value, limits.samples - 1, asDigest);
  return others === null || others.length === 0 || hasTwice(others, (one) => one) ? null : others;
}

/** The proposal in a model's reply; null if its answer is not of the question's kind. */
export function proposalFrom(
  asked: Asked,
  answered: Answered | undefined,
  read: SeatView<unknown>["read"] = null,
): Proposal | null {
  const answer = answered && canonicalAnswer(asked, answered.fields["answer"] ?? "");
  if (!answer) return null;
  const proof = clipText(answered.fields["proof"] ?? "", limits.proofBytes);
  const citations = read && (nonAnswerIn(answer) === null ? citedIn(read, answered.fields) : []);
  return { answer: answer.text, proof, tier: tierOf(answered.confidence), ...(citations && { citations }) };
}

/** SG4: the place of the model's quotation in what its seat read; none if it stands nowhere there. */
function citedIn(read: readonly (Read | null)[], fields: Readonly<Record<string, string>>): readonly Citation[] {
  const source = namedSource(fields["source"] ?? "");
  const reading = read[source];
  const found = reading?.kind === "read" ? cite(source, reading, fields["quote"] ?? "") : null;
  return found === null ? [] : [found];
}

/** The proposal that this seat commits to and reveals: its model's answer to the one call of COMMIT. */
export function ownProposal(view: SeatView<unknown>): Proposal | null {
  return proposalFrom(view.attempt.request, view.answered(COMMIT)[0], view.read);
}

export function sayCommit(view: SeatView<unknown>, proposal = ownProposal(view)): Commit {
  const { attempt, round, self } = view;
  return { commitment: proposal === null ? null : commitmentOf(attempt, round, self, proposal, saltOf(view)) };
}

export function sayReveal(view: SeatView<unknown>, proposal = ownProposal(view)): Reveal {
  if (proposal !== null) return { proposal: { ...proposal, salt: saltOf(view) } };
  return { proposal, why: whyNone(view) };
}

/** PH14: why a seat that was asked for a proposal has none. Said with REVEAL, when all are committed. */
function whyNone(view: SeatView<unknown>): string {
  const [answered] = view.answered(COMMIT);
  if (view.read?.every((reading) => reading?.kind !== "read")) return "it read none of the sources";
  if (answered !== undefined) return unreadAnswer(view.attempt.request, answered.fields["answer"] ?? "");
  const [failure] = view.failed(COMMIT);
  const why = failure === undefined ? "the model gave no answer in time" : `the model failed: ${failure}`;
  return clipText(why, limits.whyBytes);
}

function saltOf({ secret, round }: SeatView<unknown>): Uint8Array {
  return hexToBytes(sha256(concat(secret, Uint8Array.of(round))));
}

/** PH1: the commitment binds request, attempt, round and seat, so that no other seat can copy it. */
export function commitmentOf(
  attempt: Attempt,
  round: number,
  seat: SeatIndex,
  proposal: Proposal,
  salt: Uint8Array,
): Digest {
  const requestId = encodeRequestId(attempt.request.id);
  return digestOf({ requestId, attempt: attempt.attempt, round, seat, ...encodeProposal(proposal), salt });
}

const candidates = new WeakMap<RoundBook, Partial<Record<Closure, readonly Candidate[]>>>();

/** PH1, PH4: the proposals that count, in seat order: committed in time, revealed in time, canonical. */
export function candidatesOf(book: RoundBook, closure: Closure): readonly Candidate[] {
  const known = candidates.get(book) ?? {};
  candidates.set(book, known);
  return (known[closure] ??= readCandidates(book, closure));
}

/** SG9, SG10: an answer that no witnessed citation bears does not count, nor a non-answer with citations. */
function readCandidates(book: RoundBook, closure: Closure): readonly Candidate[] {
  const opened = openedIn(book, closure);
  const { gathered } = book;
  return gathered === undefined
    ? opened
    : opened.filter(({ seat, answer, citations }) => gathered.bears(seat, answer, citations ?? []));
}

function openedIn(book: RoundBook, closure: Closure): readonly Candidate[] {
  return seatsOf(book.attempt).flatMap((seat) => {
    const reveal = counted(book, revealIn(book), seat, closure);
    const commit = counted(book, commitForm, seat, "closed");
    if (reveal === null || commit === null || reveal.body.proposal === null) return [];
    const { proposal } = reveal.body;
    const opens = commit.body.commitment === openingOf(book, seat, reveal.body.proposal);
    return opens ? (candidateFrom(book.attempt, seat, reveal.digest, proposal) ?? []) : [];
  });
}

const openings = new WeakMap<Proposal, Digest>();

function openingOf(book: RoundBook, seat: SeatIndex, proposal: Proposal & { readonly salt: Uint8Array }): Digest {
  const known = openings.get(proposal);
  if (known !== undefined) return known;
  const opening = commitmentOf(book.attempt, book.round, seat, proposal, proposal.salt);
  openings.set(proposal, opening);
  return opening;
}

/** PY7, PY10: what the seats bound themselves to in a round; `answers` are those that can earn. */
export function blindIn(book: RoundBook, answers: readonly BlindAnswer[] = candidatesOf(book, "closed")): Blind {
  // Who opened in time what no source bears is not overdue: it earns nothing.
  const unborne = book.gathered === undefined ? [] : openedIn(book, "closed");
  const overdue = seatsOf(book.attempt).flatMap((seat) =>
    [...answers, ...unborne].some((one) => one.seat === seat) ? [] : overdueOf(book, seat),
  );
  return { answers, overdue };
}

/** PY10: a commitment counts here even if no seat saw it in time. Otherwise a seat could wait until it knows whether to list its own. */
function overdueOf(book: RoundBook, seat: SeatIndex): readonly Overdue[] {
  const commitment = said(book, commitForm, seat)?.body.commitment ?? null;
  if (commitment === null) return [];
  const reveal = said(book, revealIn(book), seat);
  const proposal = reveal?.body.proposal ?? null;
  if (reveal === null || proposal === null || openingOf(book, seat, proposal) !== commitment)
    return [{ seat, late: null }];
  return [{ seat, late: candidateFrom(book.attempt, seat, reveal.digest, proposal) }];
}

const revealed = new WeakMap<RoundBook, readonly Candidate[]>();

/** Every revealed answer that a vote may name, including those of void slots: equivocating takes no vote back. */
export function revealedIn(book: RoundBook): readonly Candidate[] {
  const known = revealed.get(book);
  if (known !== undefined) return known;
  const found = seatsOf(book.attempt).flatMap((seat) =>
    allVariants(book, revealIn(book), seat).flatMap(({ digest, body }) =>
      body.proposal === null ? [] : (candidateFrom(book.attempt, seat, digest, body.proposal) ?? []),
    ),
  );
  revealed.set(book, found);
  return found;
}

const canonical = new WeakMap<Proposal, CanonicalAnswer | null>();

/** The candidate in a proposal; null if its answer is not canonical. Each proposal object is brought into canonical form once. */
export function candidateFrom(attempt: Attempt, seat: SeatIndex, target: Digest, proposal: Proposal): Candidate | null {
  const known = canonical.get(proposal);
  const answer = known === undefined ? canonicalAnswer(attempt.request, proposal.answer) : known;
  canonical.set(proposal, answer);
  if (answer === null) return null;
  const { proof, tier, citations, others } = proposal;
  return { seat, target, answer, proof, tier, ...(citations && { citations }), ...(others && { others }) };
}
