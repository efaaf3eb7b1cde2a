import { digestOf } from "../agents/core/encoding/codec.ts";
import { hexToBytes, sha256 } from "../agents/core/encoding/bytes.ts";
import { decisionDigest, messageDigest } from "../agents/core/encoding/typed-data.ts";
import type { Effect, Input, MessageBlock, Protocol, SeatContext } from "../agents/core/protocol.ts";
import { isSeatDone, startSeat, stepSeat, type SeatState } from "../agents/core/seat/seat.ts";
import { encodeMessage, forgeryIn, messageBlock } from "../agents/core/encoding/transcript.ts";
import type { Attempt, Digest, Message, Ppm, SeatIndex, Value } from "../agents/core/types.ts";
import { readingBlock } from "../agents/core/sources/reading.ts";
import { respond, type Mind } from "./model.ts";
import { simSigner } from "./signer.ts";
import type { Signer } from "../agents/ports/signer.ts";

/** The end of a stepped decision: the end of the deliberation at every seat, or a certificate at every seat. */
export type Goal = "deliberated" | "certified";

export interface StepOptions {
  readonly protocol: Protocol;
  readonly attempt: Attempt;
  /** Signer of a seat; `simSigner` of its number if absent. */
  readonly signerOf?: (seat: number) => Signer;
  /** The answer of each seat's model, and its confidence. */
  readonly minds: readonly (Mind & { readonly confidence: Ppm })[];
  readonly goal: Goal;
  /** True if every receiver verifies every signature, as a node does before it steps its core. */
  readonly verify: boolean;
  /** True for messages that never leave their sender; absent = all are sent. */
  readonly isMute?: (message: Message) => boolean;
}

export interface Stepped {
  /** Number of inputs that all seats together stepped. */
  readonly inputs: number;
  /** Every message once, without regard to its receivers. */
  readonly messages: readonly Message[];
  readonly modelCalls: number;
  /** Longest chain of model calls behind the last message. */
  readonly criticalPathCalls: number;
  /** Certified decisions; empty if the seats only deliberated. */
  readonly certified: readonly Certified[];
}

type Send = Extract<Effect, { kind: "send" }>;
type Certified = Extract<Effect, { kind: "certified" }>;

interface Arrival {
  readonly seat: number;
  readonly input: Input;
  /** Longest chain of model calls behind it. */
  readonly depth: number;
}

/** The state of the run: what has happened, and what is under way. */
interface Run {
  readonly queue: Arrival[];
  readonly timers: { readonly at: number; readonly arrival: Arrival }[];
  readonly messages: Message[];
  readonly certified: Certified[];
  /** By seat: the longest chain of model calls behind all that it knows. */
  readonly depths: number[];
  modelCalls: number;
  now: number;
}

const timing = { phaseMs: 60_000, graceMs: 1_000, certifyMs: 10_000, certifyDeltaMs: 1_000 };

/**
 * Steps a committee over a network without delay or loss, with models that answer at once and sources that nobody has. A timer
 * fires only when nothing else is left to do.
 */
export function stepDecision(options: StepOptions): Stepped {
  const { protocol, attempt, goal } = options;
  const course: Run = {
    queue: [],
    timers: [],
    messages: [],
    certified: [],
    depths: attempt.committee.map(() => 0),
    modelCalls: 0,
    now: 0,
  };
  const contexts = attempt.committee.map((_, self): SeatContext => {
    return { attempt, self: self as SeatIndex, secret: new Uint8Array(32).fill(self), timing };
  });
  const states = contexts.map((context, seat): SeatState => {
    const started = startSeat(protocol, context);
    for (const effect of started.effects) run(options, course, seat, effect);
    return started.state;
  });
  let inputs = 0;
  while (!states.every((state) => isReached(state, goal))) {
    const { seat, input, depth } = course.queue[inputs] ?? nextTimer(course);
    inputs += 1;
    const state = states[seat] as SeatState;
    if (isReached(state, goal)) continue;
    course.depths[seat] = Math.max(course.depths[seat] as number, depth);
    const stepped = stepSeat(protocol, contexts[seat] as SeatContext, state, input);
    states[seat] = stepped.state;
    for (const effect of stepped.effects) run(options, course, seat, effect);
  }
  const { messages, modelCalls, depths, certified } = course;
  return { inputs, messages, modelCalls, criticalPathCalls: Math.max(...depths), certified };
}

/** Moves the earliest timer into the queue, of equal ones the first that was set, and returns what arrives. */
function nextTimer(course: Run): Arrival {
  const first = course.timers.reduce<Run["timers"][number] | null>(
    (least, one) => (least === null || one.at < least.at ? one : least),
    null,
  );
  if (first === null) throw new Error("the seats came to a stop before the goal");
  course.timers.splice(course.timers.indexOf(first), 1);
  course.now = first.at;
  course.queue.push(first.arrival);
  return first.arrival;
}

function run(options: StepOptions, course: Run, seat: number, effect: Effect): void {
  const depth = course.depths[seat] as number;
  switch (effect.kind) {
    case "ask": {
      course.modelCalls += 1;
      const { confidence, ...mind } = options.minds[seat] as StepOptions["minds"][number];
      const fields = respond({ ...effect.prompt.small, maxTokens: 0, seed: 0 }, options.attempt.request.terms, mind);
      const observation = { kind: "answered", fields, confidence } as const;
      course.queue.push({ seat, input: { kind: "observed", ask: effect.ask, observation }, depth: depth + 1 });
      return;
    }
    case "send":
      send(options, course, seat, signed(options, seat, effect));
      return;
    case "forward":
      for (const message of effect.messages) deliver(options, course, message, depth);
      return;
    case "load": {
      const blocks = loaded(course.messages, effect.blocks);
      course.queue.push({ seat, input: { kind: "loaded", root: effect.root, blocks }, depth });
      return;
    }
    case "read": {
      const blocks = effect.sources.map(() => readingBlock({ kind: "failed", reason: "not-found", detail: "" }));
      course.queue.push({ seat, input: { kind: "read", blocks }, depth });
      return;
    }
    case "wait": {
      const arrival: Arrival = { seat, input: { kind: "elapsed", timer: effect.timer }, depth: 0 };
      course.timers.push({ at: course.now + effect.afterMs, arrival });
      return;
    }
    case "certified":
      course.certified.push(effect);
      return;
    default:
  }
}

function send(options: StepOptions, course: Run, seat: number, message: Message): void {
  const depth = course.depths[seat] as number;
  if (options.isMute?.(message) === true) {
    course.queue.push({ seat, input: { kind: "message", message }, depth });
    return;
  }
  course.messages.push(message);
  deliver(options, course, message, depth);
}

function deliver({ attempt, verify }: StepOptions, course: Run, message: Message, depth: number): void {
  for (const seat of attempt.committee.keys()) {
    if (verify && seat !== message.header.seat && forgeryIn(attempt, message) !== null)
      throw new Error("a signature is bad");
    course.queue.push({ seat, input: { kind: "message", message }, depth });
  }
}

/** Returns the attempt with seats for which this process can sign. */
export function signedBy(attempt: Attempt): Attempt {
  const committee = attempt.committee.map((info, seat) => ({ ...info, signer: simSigner(seat).address }));
  return { ...attempt, committee };
}

function isReached(state: SeatState, goal: Goal): boolean {
  return goal === "certified" ? isSeatDone(state) : state.certify.inTime !== null;
}

function signed(options: StepOptions, seat: number, { phase, round, payload, decision }: Send): Message {
  const { attempt, signerOf = simSigner } = options;
  const signer = signerOf(seat);
  const said: Value =
    decision === undefined
      ? payload
      : { ...payload, signature: hexToBytes(signer.sign(decisionDigest(attempt, decision))) };
  const header = {
    requestId: attempt.request.id,
    attempt: attempt.attempt,
    protocol: attempt.request.terms.protocol,
    phase,
    round,
    seat: seat as SeatIndex,
    payloadDigest: digestOf(said),
  };
  return { header, payload: said, signature: signer.sign(messageDigest(attempt, header)) };
}

function loaded(sent: readonly Message[], digests: readonly Digest[]): readonly (MessageBlock | null)[] {
  const blocks = new Map(sent.map((message) => encodeMessage(message)).map((bytes) => [sha256(bytes), bytes]));
  return digests.map((digest) => {
    const bytes = blocks.get(digest);
    return bytes === undefined ? null : messageBlock(bytes);
  });
}
