// The words of docs/spec/certify.qnt for what agents/core/seat/certify does: a seat of the core takes the events of the model, and its
// state is told as the model tells it.
import {
  certifyElapsed,
  certifyLoaded,
  certifyMessage,
  startCertify,
} from "../../../agents/core/seat/certify/certify.ts";
import {
  CERTIFICATE,
  PRECOMMIT,
  PREVOTE,
  PROPOSE,
  decodeCertificate,
  decodePropose,
  encodeCertificate,
} from "../../../agents/core/seat/certify/messages.ts";
import {
  initialCertify,
  type CertifyContext,
  type CertifyState,
  type Lock,
} from "../../../agents/core/seat/certify/state.ts";
import { canonicalOrder } from "../../../agents/core/seat/order.ts";
import { messagesOf } from "../../../agents/core/seat/tally.ts";
import { bytesToHex, hexToBytes, sha256 } from "../../../agents/core/encoding/bytes.ts";
import { encodeMessage, messageBlock } from "../../../agents/core/encoding/transcript.ts";
import { mbft } from "../../../agents/core/protocols/mbft/index.ts";
import type { Effect, Step } from "../../../agents/core/protocol.ts";
import type { Attempt, Digest, Message, RequestId, SeatIndex, Value } from "../../../agents/core/types.ts";
import { attemptOf, keyOf, signMessage, timing } from "./committee.ts";
import { signRoot, twoRoots } from "./two-roots.ts";

export const MODEL_SEATS = 4;

/** `nil` is no root; `bad` is one that no replay accepts. */
export type ModelRoot = "A" | "B" | "bad" | "nil";
export type ModelPhase = "PROPOSE" | "PREVOTE" | "PRECOMMIT" | "CERTIFICATE";

export interface ModelMessage {
  readonly phase: ModelPhase;
  readonly ballot: number;
  readonly seat: number;
  readonly root: ModelRoot;
  /** Ballot of the polka behind a proposal; -1: none. */
  readonly valid: number;
  /** The signers of a certificate, ascending. */
  readonly signers: readonly number[];
}

export interface ModelLock {
  readonly root: ModelRoot;
  readonly ballot: number;
}

/** Something that happens to an honest seat. `own`: it takes a message that it has sent. */
export type ModelArrival =
  | { readonly kind: "start" | "learn" | "loaded" }
  | { readonly kind: "message" | "own"; readonly message: ModelMessage }
  | { readonly kind: "elapsed"; readonly timer: string };

/** What model and core both tell of a seat. */
export interface ModelSeat {
  readonly inTime: string;
  readonly holds: string;
  readonly ballot: number;
  readonly step: string;
  readonly locked: ModelLock;
  readonly valid: ModelLock;
  readonly good: readonly string[];
  readonly bad: readonly string[];
  readonly loadingFrom: number;
  readonly running: readonly string[];
  readonly decided: ModelLock;
}

const NO_LOCK: ModelLock = { root: "nil", ballot: -1 };
const PHASES = { PROPOSE, PREVOTE, PRECOMMIT, CERTIFICATE } as const;
/** No root block. */
const BAD_BLOCK = Uint8Array.of(0xff);
const NO_SIGNATURE = new Uint8Array(65);

/** An attempt whose seats propose in the order of their numbers, and the two roots of the model. */
const attempt = inOrder();
const [A, B] = twoRoots(attempt, 0, MODEL_SEATS - 1);
const rooted = { A, B };
const blocks = { A: A.transcript.rootBlock, B: B.transcript.rootBlock, bad: BAD_BLOCK };
const roots = { A: A.transcript.root, B: B.transcript.root, bad: sha256(BAD_BLOCK) };

/** The order of proposers is a hash of the request: another number, another order. */
function inOrder(): Attempt {
  const first = attemptOf(MODEL_SEATS);
  for (let id = 1n; ; id++) {
    const attempted = { ...first, request: { ...first.request, id: id as RequestId } };
    if (canonicalOrder(attempted).every((seat, rank) => seat === rank)) return attempted;
  }
}

/** A seat of the real core in a committee of the model. */
export class CoreSeat {
  private state: CertifyState = initialCertify;
  private started: string = "none";
  private decided: ModelLock = NO_LOCK;
  /** Timers of the ballot that have started and not ended. */
  private timers: ReadonlySet<string> = new Set();
  /** Blocks that the seat asked for. */
  private wanted: { readonly root: Digest; readonly digests: readonly Digest[] } | null = null;

  private holds: "A" | "B";
  readonly self: number;

  constructor(self: number, holds: "A" | "B") {
    this.self = self;
    this.holds = holds;
  }

  get done(): boolean {
    return this.state.done;
  }

  get waitsFor(): readonly string[] {
    return [...this.timers];
  }

  get loads(): boolean {
    return [...this.state.roots.values()].some(({ kind }) => kind === "loading");
  }

  /** Takes what happens, and returns what the seat sends. */
  take(arrival: ModelArrival): readonly ModelMessage[] {
    switch (arrival.kind) {
      case "start":
        this.started = this.holds;
        return this.apply(startCertify(this.state, this.context, rooted[this.holds].tally));
      case "learn":
        this.holds = "A";
        return [];
      case "message":
      case "own":
        return this.apply(certifyMessage(this.state, this.context, signed(arrival.message)));
      case "elapsed":
        this.timers = this.timers.difference(new Set([arrival.timer]));
        return this.apply(certifyElapsed(this.state, this.context, `certify.${arrival.timer}.${this.state.ballot}`));
      case "loaded": {
        const said = this.load();
        this.holds = "A";
        return said;
      }
    }
  }

  told(): ModelSeat {
    const { state } = this;
    const named = (kind: string): string[] =>
      [...state.roots].flatMap(([root, one]) => (one.kind === kind ? [nameOf(root)] : [])).toSorted();
    const loading = [...state.roots.values()].find((one) => one.kind === "loading");
    return {
      inTime: this.started,
      holds: this.holds,
      ballot: state.ballot,
      step: state.step,
      locked: lockOf(state.locked),
      valid: lockOf(state.valid),
      good: named("good"),
      bad: named("bad"),
      loadingFrom: loading?.kind === "loading" ? loading.from : -1,
      running: state.running.toSorted(),
      decided: this.decided,
    };
  }

  private get context(): CertifyContext {
    return {
      attempt,
      self: this.self as SeatIndex,
      secret: keyOf(this.self),
      timing,
      protocol: mbft,
      tally: rooted[this.holds].tally,
    };
  }

  private load(): readonly ModelMessage[] {
    if (this.wanted === null) throw new Error("nothing was asked for");
    const { root, digests } = this.wanted;
    this.wanted = null;
    const held = [...messagesOf(A.tally)].map((message) => messageBlock(encodeMessage(message)));
    const loaded = digests.map((digest) => held.find((block) => block.digest === digest) ?? null);
    return this.apply(certifyLoaded(this.state, this.context, root, loaded));
  }

  private apply({ state, effects }: Step<CertifyState>): readonly ModelMessage[] {
    if (state.ballot !== this.state.ballot) this.timers = new Set();
    this.state = state;
    return effects.flatMap((effect) => this.do(effect));
  }

  private do(effect: Effect): readonly ModelMessage[] {
    if (effect.kind === "load") this.wanted = { root: effect.root, digests: effect.blocks };
    if (effect.kind === "wait") this.timers = this.timers.union(new Set([timerIn(effect.timer)]));
    if (effect.kind === "certified") {
      const { round, transcript } = effect.certificate.decision;
      this.decided = { root: nameOf(transcript), ballot: round };
    }
    return effect.kind === "send" ? [toldOf(this.self, effect)] : [];
  }
}

/** `certify.prevote.0` is the timer `prevote`. */
function timerIn(name: string): string {
  return name.split(".")[1] ?? "";
}

function nameOf(root: Digest): ModelRoot {
  const [name] = Object.entries(roots).find(([, digest]) => digest === root) ?? [];
  if (name === undefined) throw new Error(`the model has no root ${root}`);
  return name as ModelRoot;
}

function lockOf(lock: Lock | null): ModelLock {
  return lock === null ? NO_LOCK : { root: nameOf(lock.root), ballot: lock.ballot };
}

function toldOf(seat: number, { phase, round, payload }: Extract<Effect, { kind: "send" }>): ModelMessage {
  const told = { ballot: round, seat, valid: -1, signers: [] };
  switch (phase) {
    case PROPOSE: {
      const { root, validBallot } = decodePropose(payload, round)!;
      return { ...told, phase: "PROPOSE", root: nameOf(root), valid: validBallot ?? -1 };
    }
    case CERTIFICATE: {
      const { root, signatures } = decodeCertificate(payload)!;
      return { ...told, phase: "CERTIFICATE", root: nameOf(root), signers: signatures.map((one) => one.seat) };
    }
    default: {
      const root = payload["root"] instanceof Uint8Array ? nameOf(bytesToHex(payload["root"]) as Digest) : "nil";
      return { ...told, phase: phase === PREVOTE ? "PREVOTE" : "PRECOMMIT", root };
    }
  }
}

/** The real message of one of the model, signed by its seat. */
function signed({ phase, ballot, seat, root, valid, signers }: ModelMessage): Message {
  const payload = (): Value => {
    switch (phase) {
      case "PROPOSE":
        return { root: blockNamed(root), validRound: valid < 0 ? null : valid };
      case "PREVOTE":
        return { root: root === "nil" ? null : hexToBytes(digestNamed(root)) };
      case "PRECOMMIT":
        return root === "nil"
          ? { root: null, signature: null }
          : { root: hexToBytes(digestNamed(root)), signature: signatureOf(seat, root, ballot) };
      case "CERTIFICATE":
        return encodeCertificate(
          blockNamed(root),
          signers.map((signer) => ({
            seat: signer as SeatIndex,
            signature: bytesToHex(signatureOf(signer, root, ballot)),
          })),
        );
    }
  };
  return signMessage(attempt, seat, PHASES[phase], ballot, payload());
}

function blockNamed(root: ModelRoot): Uint8Array {
  if (root === "nil") throw new Error("nil has no block");
  return blocks[root];
}

function digestNamed(root: ModelRoot): Digest {
  if (root === "nil") throw new Error("nil has no digest");
  return roots[root];
}

function signatureOf(seat: number, root: ModelRoot, ballot: number): Uint8Array {
  if (root !== "A" && root !== "B") return NO_SIGNATURE;
  return hexToBytes(signRoot(attempt, seat, rooted[root], ballot));
}
