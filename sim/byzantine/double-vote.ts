import { CERTIFICATE, PRECOMMIT, PREVOTE, PROPOSE, decodePropose } from "../../agents/core/seat/certify/messages.ts";
import { hexToBytes } from "../../agents/core/encoding/bytes.ts";
import { decisionDigest } from "../../agents/core/encoding/typed-data.ts";
import { addMessage, emptyTally } from "../../agents/core/seat/tally.ts";
import { buildTranscript, decodeMessage, encodeMessage, readRoot } from "../../agents/core/encoding/transcript.ts";
import type { Digest, Header, Message, Outcome, Value } from "../../agents/core/types.ts";
import type { SessionPorts } from "../../agents/node/seat/host.ts";
import type { Network } from "../../agents/ports/network.ts";
import type { Culprit } from "./culprit.ts";
import { createKnownBlocks } from "./known.ts";
import { resign } from "./payloads.ts";

const MOST_ROUNDS = 6;
const MOST_ROOTS = 6;

interface Known {
  readonly rootBlock: Uint8Array;
  readonly messages: readonly Digest[];
  /** Null until its blocks are known. */
  readonly outcome: Outcome | null;
}

/**
 * Votes for every proposal in every round, whatever it voted before, beside the votes of its own runtime. Some of its
 * peers learn of that; its precommits may reach only one. As proposer it proposes another root than the valid one. It
 * lends its weight to every quorum, and a certificate does not silence it.
 */
export function doubleVoting({ network, signer, store }: SessionPorts, culprit: Culprit): Network {
  const { plan, seat, random, recorder } = culprit;
  const { attempt, protocol } = plan;
  const known = createKnownBlocks(plan);
  const roots = new Map<Digest, Known>();
  const rounds = new Set<number>();
  const vote = createBallots(network, signer, culprit);
  const withheld: Message[] = [];
  const withholds = createWithholding(culprit);
  const proposals = new Map<Digest, Uint8Array | null>();

  const note = (frame: Uint8Array): void => {
    const message = decodeMessage(frame);
    if (message === null) return;
    if (message.header.phase < PROPOSE) known.note(frame, message);
    else if (message.header.round < MOST_ROUNDS) rounds.add(message.header.round);
    const payload = message.header.phase === PROPOSE ? decodePropose(message.payload, message.header.round) : null;
    const read = payload === null ? null : readRoot(attempt, protocol, payload.rootBlock);
    if (
      payload !== null &&
      read !== null &&
      !("refused" in read) &&
      roots.size < MOST_ROOTS &&
      !roots.has(payload.root)
    )
      roots.set(payload.root, { rootBlock: payload.rootBlock, messages: read.messages, outcome: null });
    for (const [root, entry] of roots) {
      const conclusion = entry.outcome === null ? known.conclude(entry.messages) : null;
      if (conclusion?.kind === "final") roots.set(root, { ...entry, outcome: conclusion.outcome });
    }
    for (const [root, { outcome }] of roots)
      if (outcome !== null) for (const round of rounds) vote(root, outcome, round);
  };

  /** Builds a root with all messages of another one and one that this seat has kept to itself: nothing is left out. */
  const withWithheld = (root: Digest): Uint8Array | null => {
    const messages = (roots.get(root)?.messages ?? []).flatMap((digest) => known.get(digest) ?? []);
    const extra = withheld.filter(() => random.chance(600_000));
    let tally = emptyTally;
    for (const message of [...messages, ...extra]) tally = addMessage(tally, message).tally;
    const conclusion = protocol.conclude(attempt, tally);
    if (extra.length === 0 || conclusion.kind === "open") return null;
    return buildTranscript(attempt, protocol, tally, conclusion.through).rootBlock;
  };

  /** Proposes another root in the same slot, as fresh or as valid since an earlier round. */
  const otherProposal = (message: Message): Uint8Array | null => {
    const { round, payloadDigest } = message.header;
    const before = proposals.get(payloadDigest);
    if (before !== undefined) return before;
    const own = decodePropose(message.payload, round)?.root;
    const others = [...roots].filter(([root]) => root !== own);
    const more = own === undefined ? null : withWithheld(own);
    const chosen = more ?? (others.length === 0 ? null : random.pick(others)[1].rootBlock);
    const validRound = more === null && round > 0 && random.chance(400_000) ? random.below(round) : null;
    const payload = chosen === null || random.chance(200_000) ? null : { root: chosen, validRound };
    const frame = payload === null ? null : encodeMessage(resign(plan, signer, message.header, payload));
    if (frame !== null) recorder.count("other root");
    proposals.set(payloadDigest, frame);
    return frame;
  };

  return {
    ...network,
    send(to, frame) {
      note(frame);
      const message = decodeMessage(frame);
      if (message !== null && withholds(message)) {
        if (!withheld.includes(message)) withheld.push(message);
        // It serves what it will propose.
        store.put(frame).catch(() => undefined);
        return recorder.count("withheld");
      }
      const isOwnProposal = message?.header.phase === PROPOSE && message.header.seat === seat;
      network.send(to, (isOwnProposal ? otherProposal(message) : null) ?? frame);
    },
    onFrame: (listener) =>
      network.onFrame((from, frame) => {
        note(frame);
        // A certificate would stop its runtime.
        if (decodeMessage(frame)?.header.phase !== CERTIFICATE) listener(from, frame);
      }),
  };
}

/** Sends both votes for a root in a round, once. */
function createBallots(
  network: Network,
  signer: SessionPorts["signer"],
  { plan, seat, random, recorder }: Culprit,
): (root: Digest, outcome: Outcome, round: number) => void {
  const { attempt, protocol } = plan;
  const voted = new Set<string>();
  const favourite = random.chance(500_000) ? random.pick(attempt.committee).signer : null;

  const say = (phase: number, round: number, payload: Value): void => {
    const { id } = attempt.request;
    const place = { requestId: id, attempt: attempt.attempt, protocol: protocol.code, phase, round, seat };
    const message: Message = resign(plan, signer, { ...place, payloadDigest: "0x" } as unknown as Header, payload);
    for (const { signer: to } of attempt.committee) {
      if (to === signer.address || random.chance(250_000)) continue;
      if (phase === PRECOMMIT && favourite !== null && to !== favourite) continue;
      recorder.count("double vote");
      network.send(to, encodeMessage(message));
    }
  };

  return (root, outcome, round) => {
    const key = `${root}.${round}`;
    if (voted.has(key)) return;
    voted.add(key);
    const decision = { ...outcome, attempt: attempt.attempt, round, transcript: root };
    const signature = hexToBytes(signer.sign(decisionDigest(attempt, decision)));
    say(PREVOTE, round, { root: hexToBytes(root) });
    say(PRECOMMIT, round, { root: hexToBytes(root), signature });
  };
}

/** Chooses which of its own deliberation messages a seat keeps to itself: whole phases of a round. */
function createWithholding({ seat, random }: Culprit): (message: Message) => boolean {
  const kept = new Map<string, boolean>();
  return ({ header }) => {
    if (header.seat !== seat || header.phase >= PROPOSE) return false;
    const key = `${header.phase}.${header.round}`;
    const decided = kept.get(key) ?? random.chance(400_000);
    kept.set(key, decided);
    return decided;
  };
}
