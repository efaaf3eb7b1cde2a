import { CERTIFICATE, PROPOSE, decodeCertificate, decodePropose } from "./messages.ts";
import { verifySignatures } from "./signatures.ts";
import type { CertifyContext, CertifyState, GoodRoot, Lock, Offer, ProposedRoot } from "./state.ts";
import { supportersOf } from "./votes.ts";
import { canonicalOrder } from "../order.ts";
import { comparePositions, type Effect, type MessageBlock, type Step } from "../../protocol.ts";
import { holdsHonest, isSupermajority } from "../../quorum.ts";
import { addMessage, messagesOf, missingFrom, variants, type Tally } from "../tally.ts";
import { blockOf, buildTranscript, readRoot, replay } from "../../encoding/transcript.ts";
import type { Attempt, Digest, Message, SeatIndex } from "../../types.ts";

/** Prefix of the timer that loads an unavailable root again. */
export const RELOAD = "certify.reload.";

/** The wait before another load doubles at most this many times. */
const MOST_DOUBLINGS = 6;

/** CE1: proposers take turns in canonical order. */
export function proposerOf(attempt: Attempt, ballot: number): SeatIndex {
  const order = canonicalOrder(attempt);
  return order[ballot % order.length] as SeatIndex;
}

/** What the proposer of a ballot proposes, with this seat's replay of it. */
export interface BallotRoot {
  readonly root: Digest;
  readonly validBallot: number | null;
  readonly proposed: ProposedRoot;
}

/** The first proposal of the current ballot's proposer; null until this seat has read it and knows whether it is good. */
export function rootOfBallot(state: CertifyState, { attempt }: CertifyContext): BallotRoot | null {
  const message = variants(state.votes, PROPOSE, state.ballot, proposerOf(attempt, state.ballot))[0];
  const payload = message === undefined ? null : decodePropose(message.payload, state.ballot);
  const proposed = payload === null ? undefined : state.roots.get(payload.root);
  if (payload === null || proposed === undefined || proposed.kind === "loading") return null;
  return { root: payload.root, validBallot: payload.validBallot, proposed };
}

/**
 * The root this seat proposes, the first of these that it has:
 * 1. its valid value;
 * 2. all messages that it holds, if they conclude;
 * 3. the messages that it held in time, if they conclude (they always do, except at a seat that follows: CE16);
 * 4. another seat's root that covers the messages held in time.
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
    const { root, rootBlock } = buildTranscript(context.attempt, context.protocol, tally, conclusion.through);
    return { rootBlock, state: adopt(state, context, root, { kind: "good", tally, conclusion, rootBlock }) };
  }
  const followed = [...state.roots.values()].find(
    (root) => root.kind === "good" && inTime !== null && omittedFrom(root, inTime, context).length === 0,
  );
  return followed?.kind === "good" ? { rootBlock: followed.rootBlock, state } : null;
}

function rootBlockOf(state: CertifyState, attempt: Attempt, lock: Lock): Uint8Array | null {
  const proposals = variants(state.votes, PROPOSE, lock.ballot, proposerOf(attempt, lock.ballot));
  return (
    proposals
      .map((message) => decodePropose(message.payload, lock.ballot))
      .find((payload) => payload?.root === lock.root)?.rootBlock ?? null
  );
}

/**
 * Notes what a PROPOSE or CERTIFICATE offers. An offer in a later ballot, or in a certificate, replaces the seat's earlier offer,
 * so that nobody makes others keep more than its latest root.
 */
export function noteOffer(state: CertifyState, context: CertifyContext, message: Message): CertifyState {
  const { seat, phase, round: ballot } = message.header;
  const payload = offerIn(context.attempt, message);
  const known = state.offers.get(seat);
  const isNewer = known === undefined || ballot > known.ballot || phase === CERTIFICATE;
  if (payload === null || !isNewer) return state;
  const offers = new Map(state.offers).set(seat, { root: payload.root, rootBlock: payload.rootBlock, ballot });
  return known === undefined ? { ...state, offers } : forget({ ...state, offers }, context, known.root);
}

/** Drops a root without a use. One that is loading counts as its seat's until the load ends (CE3). */
function forget(state: CertifyState, context: CertifyContext, root: Digest): CertifyState {
  return isOfUse(state, context, root) || state.roots.get(root)?.kind === "loading" ? state : withoutRoot(state, root);
}

/** CE3: true if somebody still offers the root, this seat is locked on it or holds it valid, or an honest seat may have voted for it. */
function isOfUse(state: CertifyState, { attempt }: CertifyContext, root: Digest): boolean {
  const isOffered = [...state.offers.values()].some((offer) => offer.root === root);
  if (isOffered || state.locked?.root === root || state.valid?.root === root) return true;
  return holdsHonest(supportersOf(state.votes, root), attempt.committee.length);
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

/** CE3: reads the offered roots, loads missing messages and replays; one root per seat at a time. */
export function admitOffers(state: CertifyState, context: CertifyContext): Step<CertifyState> {
  const effects: Effect[] = [];
  let next = state;
  for (const [seat, offer] of state.offers) {
    if (next.roots.has(offer.root) || isLoading(next, seat)) continue;
    const admitted = admit(next, context, seat, offer, 0);
    next = admitted.state;
    effects.push(...admitted.effects);
  }
  return { state: next, effects };
}

function isLoading(state: CertifyState, seat: SeatIndex): boolean {
  return [...state.roots.values()].some((proposed) => proposed.kind === "loading" && proposed.from === seat);
}

/** CE3: loads an unavailable root again if a seat still offers it. */
export function reload(state: CertifyState, context: CertifyContext, root: Digest): Step<CertifyState> {
  const proposed = state.roots.get(root);
  const offered = [...state.offers].find(([, offer]) => offer.root === root);
  if (proposed?.kind !== "unavailable" || offered === undefined) return { state, effects: [] };
  const [seat, offer] = offered;
  return admit(state, context, seat, offer, proposed.tries);
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
    return { state: withRoot(state, offer.root, { kind: "bad", reason: read.refused }), effects };
  }
  const loading = { kind: "loading", from, tries, rootBlock: offer.rootBlock, messages: read.messages } as const;
  const next = withRoot(state, offer.root, loading);
  const held = byBlock(context.tally);
  const missing = read.messages.filter((digest) => !held.has(digest));
  if (missing.length === 0) return replayLoaded(next, context, offer.root, loading, []);
  return { state: next, effects: [{ kind: "load", root: offer.root, blocks: missing }] };
}

function byBlock(tally: Tally): ReadonlyMap<Digest, Message> {
  return new Map([...messagesOf(tally)].map((message) => [blockOf(message).digest, message]));
}

function withRoot(state: CertifyState, root: Digest, proposed: ProposedRoot): CertifyState {
  return { ...state, roots: new Map(state.roots).set(root, proposed) };
}

function withoutRoot(state: CertifyState, root: Digest): CertifyState {
  const roots = new Map(state.roots);
  roots.delete(root);
  return { ...state, roots };
}

/** CE4: a seat signs only what its own replay yields. `loaded` answers the digests this seat did not hold, in their order. */
export function replayLoaded(
  state: CertifyState,
  context: CertifyContext,
  root: Digest,
  loading: Extract<ProposedRoot, { kind: "loading" }>,
  loaded: readonly (MessageBlock | null)[],
): Step<CertifyState> {
  if (!isOfUse(state, context, root)) return { state: withoutRoot(state, root), effects: [] };
  const held = byBlock(context.tally);
  const missing = loading.messages.filter((digest) => !held.has(digest));
  const fetched = new Map(loaded.flatMap((block) => (block === null ? [] : [[block.digest, block] as const])));
  if (missing.some((digest) => !fetched.has(digest))) {
    const tries = loading.tries + 1;
    const afterMs = context.timing.certifyMs * 2 ** Math.min(tries, MOST_DOUBLINGS);
    const effects: Effect[] = [
      { kind: "drop", reason: "proposal: some blocks are unavailable", seat: loading.from },
      { kind: "wait", timer: `${RELOAD}${root}.${tries}`, afterMs },
    ];
    return { state: withRoot(state, root, { kind: "unavailable", tries }), effects };
  }
  const entries = loading.messages.map((digest) => ({
    digest,
    message: held.get(digest) ?? fetched.get(digest)?.message ?? null,
  }));
  const result = replay(context.attempt, context.protocol, root, entries);
  if (result.kind === "failed") {
    const effects: Effect[] = [{ kind: "drop", reason: `proposal: ${result.reason}`, seat: loading.from }];
    return { state: withRoot(state, root, { kind: "bad", reason: result.reason }), effects };
  }
  const { tally, conclusion } = result;
  const good: GoodRoot = { kind: "good", tally, conclusion, rootBlock: loading.rootBlock };
  return { state: adopt(state, context, root, good), effects: [] };
}

/** Signatures that came before the root was replayed are verified now. */
function adopt(state: CertifyState, context: CertifyContext, root: Digest, proposed: GoodRoot): CertifyState {
  let next = withRoot(state, root, proposed);
  for (const message of messagesOf(state.votes)) next = verifySignatures(next, context, message, root);
  return next;
}

/** CE16: true if the root is Hung only because it shows another equivocating pair in a void slot than this seat holds. */
export function hidesDecision({ conclusion }: GoodRoot, inTime: Tally, { attempt, protocol }: CertifyContext): boolean {
  if (protocol.readsVoidSlots !== true || conclusion.outcome.status !== "hung") return false;
  const own = protocol.conclude(attempt, inTime);
  return own.kind === "final" && own.outcome.status === "decided";
}

/**
 * CE5: the messages held in time that a root leaves out, up to the place its conclusion rests on. If adding the later ones would
 * move that place, all of them count as left out.
 */
export function omittedFrom(proposed: GoodRoot, inTime: Tally, context: CertifyContext): readonly Message[] {
  const missing = missingFrom(proposed.tally, inTime);
  const { through } = proposed.conclusion;
  const upTo = missing.filter((message) => comparePositions(message.header, through) <= 0);
  if (missing.length === 0 || upTo.length > 0) return upTo;
  const both = missing.reduce((tally, message) => addMessage(tally, message).tally, proposed.tally);
  const conclusion = context.protocol.conclude(context.attempt, both);
  return conclusion.kind === "final" && comparePositions(conclusion.through, through) <= 0 ? [] : missing;
}
