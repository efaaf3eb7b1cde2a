import { PRECOMMIT, PROPOSE, decodePropose, decodeVote } from "./certify-payloads.ts";
import type { Candidate, CertifyContext, CertifyState, Lock } from "./certify-state.ts";
import { decisionDigest, recoverSigner, sha256 } from "./digest.ts";
import { canonicalOrder } from "./order.ts";
import { comparePositions, type Step } from "./protocol.ts";
import { messagesOf, missingFrom, variants, type Tally } from "./tally.ts";
import { buildTranscript, decodeMessage, encodeMessage, readRoot, replay } from "./transcript.ts";
import type { Attempt, Decision, Digest, Message, SeatIndex } from "./types.ts";

/** CE1: proposers take turns in canonical order. */
export function proposerOf(attempt: Attempt, round: number): SeatIndex {
  const order = canonicalOrder(attempt);
  return order[round % order.length] as SeatIndex;
}

/** The valid value, else everything held, else (when that is not conclusive) what was held in time. */
export function ownProposal(
  state: CertifyState,
  context: CertifyContext,
): { readonly rootBlock: Uint8Array; readonly state: CertifyState } | null {
  if (state.valid !== null) {
    const rootBlock = rootBlockOf(state, context.attempt, state.valid);
    return rootBlock === null ? null : { rootBlock, state };
  }
  for (const tally of [context.tally, state.inTime]) {
    const conclusion = tally === null ? null : context.protocol.conclude(context.attempt, tally);
    if (tally === null || conclusion === null || conclusion.kind === "open") continue;
    const transcript = buildTranscript(context.attempt, context.protocol, tally, conclusion.through);
    const blocks = [transcript.rootBlock, ...transcript.blocks];
    return {
      rootBlock: transcript.rootBlock,
      state: adopt(state, context, transcript.root, { kind: "good", tally, conclusion, blocks }),
    };
  }
  return null;
}

function rootBlockOf(state: CertifyState, attempt: Attempt, lock: Lock): Uint8Array | null {
  const proposals = variants(state.votes, PROPOSE, lock.round, proposerOf(attempt, lock.round));
  return (
    proposals
      .map((message) => decodePropose(message.payload, lock.round))
      .find((payload) => payload?.root === lock.root)?.rootBlock ?? null
  );
}

/** CE3: read the root, load what is missing, replay. */
export function admitProposal(state: CertifyState, context: CertifyContext, message: Message): Step<CertifyState> {
  const payload = decodePropose(message.payload, message.header.round);
  if (payload === null || state.candidates.has(payload.root)) return { state, effects: [] };
  const read = readRoot(context.attempt, context.protocol, payload.rootBlock);
  if ("refused" in read) {
    const candidates = new Map(state.candidates).set(payload.root, { kind: "bad", reason: read.refused });
    return {
      state: { ...state, candidates },
      effects: [{ kind: "drop", reason: `proposal: ${read.refused}`, seat: message.header.seat }],
    };
  }
  const candidate = { kind: "loading", rootBlock: payload.rootBlock, messages: read.messages } as const;
  const missing = read.messages.filter((digest) => !context.byBlock.has(digest));
  const next = { ...state, candidates: new Map(state.candidates).set(payload.root, candidate) };
  if (missing.length > 0) return { state: next, effects: [{ kind: "load", root: payload.root, blocks: missing }] };
  return judgeCandidate(next, context, payload.root, candidate, []);
}

/** CE4: sign only what the own replay yields. `loaded` answers the digests this seat did not hold, in their order. */
export function judgeCandidate(
  state: CertifyState,
  context: CertifyContext,
  root: Digest,
  candidate: Extract<Candidate, { kind: "loading" }>,
  loaded: readonly (Uint8Array | null)[],
): Step<CertifyState> {
  const missing = candidate.messages.filter((digest) => !context.byBlock.has(digest));
  const fetched = new Map(loaded.flatMap((bytes) => (bytes === null ? [] : [fetchedMessage(bytes)])));
  if (missing.some((digest) => !fetched.has(digest))) {
    // Not all could be had: judged again when the same root is proposed again.
    const candidates = new Map(state.candidates);
    candidates.delete(root);
    return { state: { ...state, candidates }, effects: [{ kind: "drop", reason: "proposal-incomplete", seat: null }] };
  }
  const entries = candidate.messages.map((digest) => {
    const own = context.byBlock.get(digest);
    return { digest, message: own ?? fetched.get(digest)?.message ?? null, verified: own !== undefined };
  });
  const result = replay(context.attempt, context.protocol, root, entries);
  const settle = (settled: Candidate): CertifyState => ({
    ...state,
    candidates: new Map(state.candidates).set(root, settled),
  });
  if (result.kind === "failed" || result.conclusion.kind === "open") {
    const reason = result.kind === "failed" ? result.reason : "open";
    return {
      state: settle({ kind: "bad", reason }),
      effects: [{ kind: "drop", reason: `proposal: ${reason}`, seat: null }],
    };
  }
  const blocks = [
    candidate.rootBlock,
    ...entries.flatMap(({ message }) => (message === null ? [] : [encodeMessage(message)])),
  ];
  return {
    state: adopt(state, context, root, { kind: "good", tally: result.tally, conclusion: result.conclusion, blocks }),
    effects: [],
  };
}

function fetchedMessage(bytes: Uint8Array): readonly [Digest, { readonly message: Message | null }] {
  const message = decodeMessage(bytes);
  return [sha256(bytes), { message }];
}

/** Precommits that came before the root could be replayed are verified now. */
function adopt(state: CertifyState, context: CertifyContext, root: Digest, candidate: Candidate): CertifyState {
  let next: CertifyState = { ...state, candidates: new Map(state.candidates).set(root, candidate) };
  for (const message of messagesOf(state.votes)) next = checkSignature(next, context, message);
  return next;
}

export function checkSignature(state: CertifyState, context: CertifyContext, message: Message): CertifyState {
  const { phase, round, seat } = message.header;
  const key = `${round}.${seat}`;
  const vote = phase === PRECOMMIT ? decodeVote(PRECOMMIT, message.payload) : null;
  if (vote === null || vote.root === null || vote.signature === null || state.signatures.has(key)) return state;
  const root = vote.root;
  const decision = decisionOf(state, context.attempt, root, round);
  if (
    decision === null ||
    recoverSigner(decisionDigest(context.attempt, decision), vote.signature) !== context.attempt.committee[seat]?.signer
  )
    return state;
  return { ...state, signatures: new Map(state.signatures).set(key, { root, signature: vote.signature }) };
}

export function decisionOf(state: CertifyState, attempt: Attempt, root: Digest, round: number): Decision | null {
  const candidate = state.candidates.get(root);
  return candidate?.kind === "good"
    ? { ...candidate.conclusion.outcome, attempt: attempt.attempt, round, transcript: root }
    : null;
}

export function omittedFrom(candidate: Extract<Candidate, { kind: "good" }>, inTime: Tally): readonly Message[] {
  return missingFrom(candidate.tally, inTime).filter(
    (message) => comparePositions(message.header, candidate.conclusion.through) <= 0,
  );
}
