import { CERTIFICATE, PRECOMMIT, PREVOTE, PROPOSE } from "./payloads.ts";
import { decodeCertificate, decodePropose, decodeVote } from "./payloads.ts";
import type { ProposedRoot, CertifyContext, CertifyState, Lock, Offer, Signed } from "./state.ts";
import { sha256 } from "../../encoding/bytes.ts";
import { recoverSigner } from "../../encoding/digest.ts";
import { decisionDigest } from "../../encoding/typed-data.ts";
import { canonicalOrder } from "../order.ts";
import { comparePositions, type Effect, type Step } from "../../protocol.ts";
import { holdsHonest, isSupermajority } from "../../quorum.ts";
import { addMessage, messagesOf, missingFrom, variants, type Tally } from "../tally.ts";
import { buildTranscript, decodeMessage, readRoot, replay } from "../../encoding/transcript.ts";
import type { Attempt, Decision, Digest, Message, SeatIndex } from "../../types.ts";

/** Of the timer after which a root that could not be had is loaded again. */
export const RETRY = "certify.retry.";

/** The wait for another try doubles so often. */
const MOST_DOUBLINGS = 6;

/** CE1: proposers take turns in canonical order. */
export function proposerOf(attempt: Attempt, round: number): SeatIndex {
  const order = canonicalOrder(attempt);
  return order[round % order.length] as SeatIndex;
}

/**
 * The valid value, else everything held, else (when that is not conclusive) what was held in time, else another's root that covers it:
 * what was held in time is not conclusive only at a seat that follows (CE16).
 */
export function proposeOwnRoot(
  state: CertifyState,
  context: CertifyContext,
): { readonly rootBlock: Uint8Array; readonly state: CertifyState } | null {
  if (state.valid !== null) {
    const rootBlock = rootBlockOf(state, context.attempt, state.valid);
    return rootBlock === null ? null : { rootBlock, state };
  }
  const { inTime } = state;
  for (const tally of [context.tally, inTime]) {
    const conclusion = tally === null ? null : context.protocol.conclude(context.attempt, tally);
    if (tally === null || conclusion === null || conclusion.kind === "open") continue;
    const transcript = buildTranscript(context.attempt, context.protocol, tally, conclusion.through);
    return {
      rootBlock: transcript.rootBlock,
      state: adopt(state, context, transcript.root, {
        kind: "good",
        tally,
        conclusion,
        rootBlock: transcript.rootBlock,
      }),
    };
  }
  const followed = [...state.candidates.values()].find(
    (root) => root.kind === "good" && inTime !== null && omittedFrom(root, inTime, context).length === 0,
  );
  return followed?.kind === "good" ? { rootBlock: followed.rootBlock, state } : null;
}

function rootBlockOf(state: CertifyState, attempt: Attempt, lock: Lock): Uint8Array | null {
  const proposals = variants(state.votes, PROPOSE, lock.round, proposerOf(attempt, lock.round));
  return (
    proposals
      .map((message) => decodePropose(message.payload, lock.round))
      .find((payload) => payload?.root === lock.root)?.rootBlock ?? null
  );
}

/**
 * Notes what a PROPOSE or CERTIFICATE offers; a seat's later round, or its certificate, replaces what it offered before, so that
 * nobody makes others keep more than its latest root.
 */
export function noteOffer(state: CertifyState, context: CertifyContext, message: Message): CertifyState {
  const { seat, phase, round } = message.header;
  const payload = offerIn(context.attempt, message);
  const known = state.offers.get(seat);
  const isNewer = known === undefined || round > known.round || phase === CERTIFICATE;
  if (payload === null || !isNewer) return state;
  const offers = new Map(state.offers).set(seat, { root: payload.root, rootBlock: payload.rootBlock, round });
  return known === undefined ? { ...state, offers } : forget({ ...state, offers }, context, known.root);
}

/** Drops a candidate that nobody offers any more, unless this seat holds on to it or an honest seat may have voted for it. */
function forget(state: CertifyState, { attempt }: CertifyContext, root: Digest): CertifyState {
  const isOffered = [...state.offers.values()].some((offer) => offer.root === root);
  if (isOffered || state.locked?.root === root || state.valid?.root === root) return state;
  const voters = new Set<SeatIndex>();
  for (const { header, payload } of messagesOf(state.votes)) {
    const isVote = header.phase === PREVOTE || header.phase === PRECOMMIT;
    if (isVote && decodeVote(header.phase, payload)?.root === root) voters.add(header.seat);
  }
  if (holdsHonest(voters.size, attempt.committee.length)) return state;
  const candidates = new Map(state.candidates);
  candidates.delete(root);
  return { ...state, candidates };
}

function offerIn(
  attempt: Attempt,
  { header, payload }: Message,
): { readonly root: Digest; readonly rootBlock: Uint8Array } | null {
  if (header.phase === PROPOSE) return decodePropose(payload, header.round);
  const certificate = header.phase === CERTIFICATE ? decodeCertificate(payload) : null;
  const signers = new Set(certificate?.signatures.map(({ seat }) => seat));
  return isSupermajority(signers.size, attempt.committee.length) ? certificate : null;
}

/** CE3: read the offered roots, load what is missing, replay; one at a time per seat. */
export function admitOffers(state: CertifyState, context: CertifyContext): Step<CertifyState> {
  const effects: Effect[] = [];
  let next = state;
  for (const [seat, offer] of state.offers) {
    if (next.candidates.has(offer.root) || isLoading(next, seat)) continue;
    const admitted = admit(next, context, seat, offer, 0);
    next = admitted.state;
    effects.push(...admitted.effects);
  }
  return { state: next, effects };
}

function isLoading(state: CertifyState, seat: SeatIndex): boolean {
  return [...state.candidates.values()].some((candidate) => candidate.kind === "loading" && candidate.from === seat);
}

/** CE3: the root that could not be had, once more, if somebody still offers it. */
export function retryLoad(state: CertifyState, context: CertifyContext, root: Digest): Step<CertifyState> {
  const candidate = state.candidates.get(root);
  const offered = [...state.offers].find(([, offer]) => offer.root === root);
  if (candidate?.kind !== "unavailable" || offered === undefined) return { state, effects: [] };
  const [seat, offer] = offered;
  return admit(state, context, seat, offer, candidate.tries);
}

function admit(
  state: CertifyState,
  context: CertifyContext,
  from: SeatIndex,
  offer: Offer,
  tries: number,
): Step<CertifyState> {
  const read = readRoot(context.attempt, context.protocol, offer.rootBlock);
  if ("refused" in read) {
    const effects: Effect[] = [{ kind: "drop", reason: `proposal: ${read.refused}`, seat: from }];
    return { state: withCandidate(state, offer.root, { kind: "bad", reason: read.refused }), effects };
  }
  const candidate = { kind: "loading", from, tries, rootBlock: offer.rootBlock, messages: read.messages } as const;
  const next = withCandidate(state, offer.root, candidate);
  const missing = read.messages.filter((digest) => !context.byBlock.has(digest));
  if (missing.length === 0) return judgeCandidate(next, context, offer.root, candidate, []);
  return { state: next, effects: [{ kind: "load", root: offer.root, blocks: missing }] };
}

function withCandidate(state: CertifyState, root: Digest, candidate: ProposedRoot): CertifyState {
  return { ...state, candidates: new Map(state.candidates).set(root, candidate) };
}

/** CE4: sign only what the own replay yields. `loaded` answers the digests this seat did not hold, in their order. */
export function judgeCandidate(
  state: CertifyState,
  context: CertifyContext,
  root: Digest,
  candidate: Extract<ProposedRoot, { kind: "loading" }>,
  loaded: readonly (Uint8Array | null)[],
): Step<CertifyState> {
  const missing = candidate.messages.filter((digest) => !context.byBlock.has(digest));
  const fetched = new Map(loaded.flatMap((bytes) => (bytes === null ? [] : [fetchedMessage(bytes)])));
  if (missing.some((digest) => !fetched.has(digest))) {
    const tries = candidate.tries + 1;
    const delayMs = context.timing.certifyMs * 2 ** Math.min(tries, MOST_DOUBLINGS);
    const effects: Effect[] = [
      { kind: "drop", reason: "proposal: not all blocks could be had", seat: candidate.from },
      { kind: "wait", timer: `${RETRY}${root}.${tries}`, delayMs },
    ];
    return { state: withCandidate(state, root, { kind: "unavailable", tries }), effects };
  }
  const entries = candidate.messages.map((digest) => {
    const own = context.byBlock.get(digest);
    return { digest, message: own ?? fetched.get(digest)?.message ?? null, verified: own !== undefined };
  });
  const result = replay(context.attempt, context.protocol, root, entries);
  if (result.kind === "failed" || result.conclusion.kind === "open") {
    const reason = result.kind === "failed" ? result.reason : "open";
    const effects: Effect[] = [{ kind: "drop", reason: `proposal: ${reason}`, seat: candidate.from }];
    return { state: withCandidate(state, root, { kind: "bad", reason }), effects };
  }
  const { rootBlock } = candidate;
  return {
    state: adopt(state, context, root, { kind: "good", tally: result.tally, conclusion: result.conclusion, rootBlock }),
    effects: [],
  };
}

function fetchedMessage(bytes: Uint8Array): readonly [Digest, { readonly message: Message | null }] {
  const message = decodeMessage(bytes);
  return [sha256(bytes), { message }];
}

/** Signatures that came before the root could be replayed are verified now. */
function adopt(state: CertifyState, context: CertifyContext, root: Digest, candidate: ProposedRoot): CertifyState {
  let next = withCandidate(state, root, candidate);
  for (const message of messagesOf(state.votes)) next = checkSignatures(next, context, message, root);
  return next;
}

/**
 * Verifies the decision signatures in a PRECOMMIT or CERTIFICATE whose root has been replayed, up to the first bad one: an
 * honest certificate has none.
 */
export function checkSignatures(
  state: CertifyState,
  context: CertifyContext,
  message: Message,
  only: Digest | null = null,
): CertifyState {
  const verified = new Map(state.signatures);
  for (const signed of signaturesIn(message)) {
    const key = signatureKey(signed);
    if (verified.has(key)) continue;
    const decision =
      only !== null && signed.root !== only ? null : decisionOf(state, context.attempt, signed.root, signed.round);
    const signer = decision && recoverSigner(decisionDigest(context.attempt, decision), signed.signature);
    if (decision === null || signer === null || signer !== context.attempt.committee[signed.seat]?.signer) break;
    verified.set(key, { ...signed, decision });
  }
  return verified.size === state.signatures.size ? state : { ...state, signatures: verified };
}

function signaturesIn({ header, payload }: Message): readonly Signed[] {
  const { phase, round, seat } = header;
  if (phase === PRECOMMIT) {
    const vote = decodeVote(PRECOMMIT, payload);
    return vote === null || vote.root === null || vote.signature === null
      ? []
      : [{ root: vote.root, round, seat, signature: vote.signature }];
  }
  const certificate = phase === CERTIFICATE ? decodeCertificate(payload) : null;
  if (certificate === null) return [];
  return certificate.signatures.map((one) => ({ root: certificate.root, round, ...one }));
}

function signatureKey({ root, round, seat }: Omit<Signed, "signature">): string {
  return `${root}.${round}.${seat}`;
}

export function decisionOf(state: CertifyState, attempt: Attempt, root: Digest, round: number): Decision | null {
  const candidate = state.candidates.get(root);
  return candidate?.kind === "good"
    ? { ...candidate.conclusion.outcome, attempt: attempt.attempt, round, transcript: root }
    : null;
}

/** CE16: it is Hung by another pair in a void slot than the one by which what was held in time is decided. */
export function isUndecided(
  { conclusion }: Extract<ProposedRoot, { kind: "good" }>,
  inTime: Tally,
  { attempt, protocol }: CertifyContext,
): boolean {
  if (protocol.readsVoidSlots !== true || conclusion.outcome.status !== "hung") return false;
  const own = protocol.conclude(attempt, inTime);
  return own.kind === "final" && own.outcome.status === "decided";
}

/**
 * CE5: what a root leaves out of the messages held in time: those up to the place it rests on, and, where together with them
 * it would not rest on that place any more, all of them.
 */
export function omittedFrom(
  candidate: Extract<ProposedRoot, { kind: "good" }>,
  inTime: Tally,
  context: CertifyContext,
): readonly Message[] {
  const missing = missingFrom(candidate.tally, inTime);
  const { through } = candidate.conclusion;
  const upTo = missing.filter((message) => comparePositions(message.header, through) <= 0);
  if (missing.length === 0 || upTo.length > 0) return upTo;
  const both = missing.reduce((tally, message) => addMessage(tally, message).tally, candidate.tally);
  const conclusion = context.protocol.conclude(context.attempt, both);
  return conclusion.kind === "final" && comparePositions(conclusion.through, through) <= 0 ? [] : missing;
}
