import { proposerOf } from "../../../agents/core/seat/certify/proposals.ts";
import {
  CERTIFICATE,
  PRECOMMIT,
  PREVOTE,
  PROPOSE,
  encodeCertificate,
} from "../../../agents/core/seat/certify/messages.ts";
import { newConflicts } from "../../../agents/core/seat/certify/evidence.ts";
import { initialCertify, type CertifyContext, type CertifyState } from "../../../agents/core/seat/certify/state.ts";
import {
  certifyElapsed,
  certifyLoaded,
  certifyMessage,
  startCertify,
} from "../../../agents/core/seat/certify/certify.ts";
import { hexToBytes } from "../../../agents/core/encoding/bytes.ts";
import { mbft } from "../../../agents/core/protocols/mbft/index.ts";
import type { Effect, Step } from "../../../agents/core/protocol.ts";
import type { Transcript } from "../../../agents/core/encoding/transcript.ts";
import type { Attempt, DecisionConflict, Digest, Hex, SeatIndex, Value } from "../../../agents/core/types.ts";
import { attemptOf, keyOf, signMessage, timing } from "./committee.ts";
import { signRoot, twoRoots } from "./two-roots.ts";

/** One seat that certifies, driven message by message, with two roots that it both accepts. */
export class Bench {
  readonly attempt: Attempt;
  readonly self: number;
  readonly first: Transcript;
  readonly second: Transcript;
  private readonly context: CertifyContext;
  private readonly roots: ReturnType<typeof twoRoots>;
  private state: CertifyState = initialCertify;
  /** Votes of this seat: `phase.round` -> root or nil. */
  readonly said = new Map<string, string>();
  /** Conflicting decisions of which the seat has evidence, as seat.ts looks for them. */
  readonly conflicts: DecisionConflict[] = [];
  /** Precommits of others that the seat handed on: `round.seat`. */
  readonly handedOn = new Set<string>();
  /** Roots whose messages the seat asked for, in order. */
  readonly loads: Digest[] = [];

  constructor(seats: number) {
    this.attempt = attemptOf(seats);
    // This seat proposes in no round that the tests reach.
    this.self = proposerOf(this.attempt, seats - 1);
    this.roots = twoRoots(this.attempt, this.self, proposerOf(this.attempt, 0));
    const [first, second] = this.roots;
    this.first = first.transcript;
    this.second = second.transcript;
    this.context = {
      attempt: this.attempt,
      self: this.self as SeatIndex,
      secret: keyOf(99),
      timing,
      protocol: mbft,
      tally: first.tally,
    };
    this.take(startCertify(this.state, this.context, second.tally));
  }

  get round(): number {
    return this.state.ballot;
  }

  get done(): boolean {
    return this.state.done;
  }

  proposes(seat: number, round: number): boolean {
    return proposerOf(this.attempt, round) === seat;
  }

  hear(seat: number, phase: number, round: number, payload: Value): void {
    this.take(certifyMessage(this.state, this.context, signMessage(this.attempt, seat, phase, round, payload)));
  }

  propose(round: number, transcript: Transcript, validRound: number | null): void {
    this.hear(proposerOf(this.attempt, round), PROPOSE, round, { root: transcript.rootBlock, validRound });
  }

  /** Delivers a root of a seat that is not the proposer; the bench replays it but does not vote on it. */
  share(seat: number, round: number, { rootBlock }: Transcript): void {
    this.hear(seat, PROPOSE, round, { root: rootBlock, validRound: null });
  }

  /** Signature of a seat that precommits a root in a round. */
  signature(seat: number, { root }: Transcript, round: number): Hex {
    const named = this.roots.find(({ transcript }) => transcript.root === root);
    if (named === undefined) throw new Error("the bench has no such root");
    return signRoot(this.attempt, seat, named, round);
  }

  precommit(seat: number, transcript: Transcript, round: number): void {
    const signature = hexToBytes(this.signature(seat, transcript, round));
    this.hear(seat, PRECOMMIT, round, { root: hexToBytes(transcript.root), signature });
  }

  /** Delivers a certificate of which only the first signature is valid. */
  certificate(from: number, signer: number, transcript: Transcript, round: number): void {
    const junk = `0x${"00".repeat(64)}1b` as const;
    const seats = [signer, ...this.attempt.committee.map((_, seat) => seat).filter((seat) => seat !== signer)];
    const signatures = seats.map((seat, index) => ({
      seat: seat as SeatIndex,
      signature: index === 0 ? this.signature(signer, transcript, round) : junk,
    }));
    this.hear(from, CERTIFICATE, round, encodeCertificate(transcript.rootBlock, signatures));
  }

  prevotes(round: number, root: Digest | null, count: number): void {
    for (const seat of this.others().slice(0, count))
      this.hear(seat, PREVOTE, round, { root: root && hexToBytes(root) });
  }

  /** Ends the load of a root without any of its messages. */
  missLoad(root: Digest): void {
    this.take(certifyLoaded(this.state, this.context, root, [null]));
  }

  /** Lets the round fail: everybody else precommits nil, and the timers fire. */
  fail(round: number): void {
    for (const seat of this.others()) this.hear(seat, PRECOMMIT, round, { root: null, signature: null });
    this.take(certifyElapsed(this.state, this.context, `certify.prevote.${round}`));
    this.take(certifyElapsed(this.state, this.context, `certify.precommit.${round}`));
  }

  others(): readonly number[] {
    return this.attempt.committee.map((_, seat) => seat).filter((seat) => seat !== this.self);
  }

  /** Applies a step and returns the seat's own messages to it, as the host does. */
  private take({ state, effects }: Step<CertifyState>): void {
    for (const effect of newConflicts(this.state, state))
      if (effect.kind === "conflict") this.conflicts.push(effect.conflict);
    this.state = state;
    this.loads.push(...effects.flatMap((effect) => (effect.kind === "load" ? effect.root : [])));
    for (const { header } of effects.flatMap((effect) => (effect.kind === "forward" ? effect.messages : [])))
      if (header.phase === PRECOMMIT) this.handedOn.add(`${header.round}.${header.seat}`);
    for (const effect of effects.filter((one): one is Extract<Effect, { kind: "send" }> => one.kind === "send")) {
      const root = effect.payload["root"];
      const name = root instanceof Uint8Array && root.length === 32 ? `0x${Buffer.from(root).toString("hex")}` : "nil";
      if (effect.phase === PREVOTE || effect.phase === PRECOMMIT)
        this.said.set(`${effect.phase}.${effect.round}`, name);
      if (effect.phase === PREVOTE) this.hear(this.self, PREVOTE, effect.round, effect.payload);
    }
  }
}
