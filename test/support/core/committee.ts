import { memoryReading } from "../../../agents/adapters/memory/source-reader.ts";
import { readingBlock } from "../../../agents/core/sources/reading.ts";
import type { ReadingFailure } from "../../../agents/core/sources/snapshot.ts";
import { digestOf } from "../../../agents/core/encoding/codec.ts";
import { hexToBytes, sha256, utf8 } from "../../../agents/core/encoding/bytes.ts";
import { publicKeyToAddress, signDigest as signDigestBy } from "../../../agents/core/encoding/digest.ts";
import { decisionDigest, messageDigest } from "../../../agents/core/encoding/typed-data.ts";
import type { Origin } from "../../../agents/core/prompts/prompt.ts";
import type {
  Effect,
  Input,
  MessageBlock,
  Observation,
  Protocol,
  SeatContext,
  Timing,
} from "../../../agents/core/protocol.ts";
import { isSeatDone, startSeat, stepSeat, type SeatState } from "../../../agents/core/seat/seat.ts";
import { secp256k1 } from "../../../agents/core/encoding/secp256k1.ts";
import { blockOf, forgeryIn, messageBlock } from "../../../agents/core/encoding/transcript.ts";
import type {
  Address,
  AgentId,
  Attempt,
  Certificate,
  Decision,
  Digest,
  Header,
  Hex,
  Message,
  Ppm,
  RequestId,
  SeatIndex,
  Terms,
  Value,
} from "../../../agents/core/types.ts";
import { defaultTerms } from "../../../agents/core/request/terms.ts";

/** Deterministic keys for tests. */
export function keyOf(seat: number): Uint8Array {
  return hexToBytes(sha256(utf8(`test key ${seat}`)));
}

const addresses = new Map<number, Address>();

/** Computed once for each seat: properties make thousands of committees. */
export function addressOf(seat: number): Address {
  const address = addresses.get(seat) ?? publicKeyToAddress(secp256k1.publicKey(keyOf(seat)));
  addresses.set(seat, address);
  return address;
}

export function signDigest(seat: number, digest: Digest): Hex {
  return signDigestBy(digest, keyOf(seat));
}

export const booleanTerms = defaultTerms({ fee: 1_000n, protocol: 1 });

export function attemptOf(seats: number, terms: Partial<Terms> = {}, reputations: readonly number[] = []): Attempt {
  return {
    domain: { chainId: 31_337, oracle: `0x${"0a".repeat(20)}` as Address },
    request: {
      id: 7n as RequestId,
      consumer: `0x${"0c".repeat(20)}` as Address,
      terms: { ...booleanTerms, committeeSize: seats, ...terms },
      question: "Is 720 more than 500?",
    },
    attempt: 0,
    committee: Array.from({ length: seats }, (_, seat) => ({
      agentId: (seat + 1) as AgentId,
      signer: addressOf(seat),
      reputation: (reputations[seat] ?? 1_000_000) as Ppm,
      skill: 1,
    })),
  };
}

/** Request id as wide as an oracle makes them, beyond JavaScript's numbers. */
export const wideId = ((0xffffn << 80n) | (2n << 40n) | 9n) as RequestId;

export function withId(attempt: Attempt, id: RequestId): Attempt {
  return { ...attempt, request: { ...attempt.request, id } };
}

export function signMessage(attempt: Attempt, seat: number, phase: number, round: number, payload: Value): Message {
  const header: Header = {
    requestId: attempt.request.id,
    attempt: attempt.attempt,
    protocol: attempt.request.terms.protocol,
    phase,
    round,
    seat: seat as SeatIndex,
    payloadDigest: digestOf(payload),
  };
  return { header, payload, signature: signDigest(seat, messageDigest(attempt, header)) };
}

export const timing: Timing = { phaseMs: 10_000, graceMs: 1_000, certifyMs: 2_000, certifyDeltaMs: 500 };

type SendEffect = Extract<Effect, { kind: "send" }>;
type AskEffect = Extract<Effect, { kind: "ask" }>;

/** Behaviour that a test may change per seat; everything else is the real core. */
export interface SeatScript {
  /** Fields and confidence of a model answer; null = the model fails. */
  readonly answer: (
    ask: AskEffect,
  ) => { readonly fields: Record<string, string>; readonly confidence?: number; readonly origin?: Origin } | null;
  /** Payloads to send instead, per receiver; undefined = silence to that receiver. */
  readonly say?: (effect: SendEffect, to: number) => readonly SendEffect[];
  /** True if the seat itself holds what it says instead, so that it equivocates to nobody. */
  readonly saysToItself?: boolean;
  /** Called with every message that reaches the seat. */
  readonly hear?: (message: Message) => void;
  readonly crashed?: boolean;
  /** Time that its model takes; some 50 ms if not given. */
  readonly thinkMs?: number;
  /** True if the seat relays nothing. */
  readonly hoards?: boolean;
  /** True if the seat can read no source. */
  readonly lacks?: boolean;
  /** Why the seat cannot read a source. */
  readonly failsAt?: (source: string) => ReadingFailure;
  /** Time that its reading takes, if it differs from the others'. */
  readonly readMs?: number;
  /** What a source shows this seat in place of its text. */
  readonly sees?: (text: string) => string;
}

interface Event {
  readonly at: number;
  readonly seat: number;
  readonly input: Input;
}

export interface CommitteeRun {
  readonly certificates: readonly (Certificate | null)[];
  readonly states: readonly SeatState[];
  readonly effects: readonly (readonly Effect[])[];
  readonly blocks: readonly (readonly Uint8Array[])[];
  readonly elapsedMs: number;
  readonly asks: number;
}

/** Runs all seats over a virtual network with seeded latencies until nothing is left to do. */
export function runCommittee(
  protocol: Protocol,
  attempt: Attempt,
  scripts: readonly SeatScript[],
  options: {
    readonly seed?: number;
    readonly latencyMs?: number;
    /** Time that a message takes between two seats, instead of `latencyMs`; `draw` is a random number from the seed. */
    readonly latencyOf?: (from: number, to: number, draw: number) => number;
    /** What stands at the sources of a question, by their names in it. */
    readonly texts?: ReadonlyMap<string, string>;
    /** Time that reading takes. */
    readonly readMs?: number;
  } = {},
): CommitteeRun {
  const random = generator(options.seed ?? 1);
  const latency = () => 1 + (random() % (options.latencyMs ?? 20));
  const onTheWay = (from: number, to: number) => options.latencyOf?.(from, to, random()) ?? latency();
  const seats = attempt.committee.length;
  const contexts = scripts.map((_, self): SeatContext => ({
    attempt,
    self: self as SeatIndex,
    secret: keyOf(1000 + self),
    timing,
  }));
  const states: SeatState[] = [];
  const log: Effect[][] = scripts.map(() => []);
  const certificates: (Certificate | null)[] = scripts.map(() => null);
  const blocks: (readonly Uint8Array[])[] = scripts.map(() => []);
  const store = new Map<Digest, Uint8Array>();
  /** By time; events of one time in the order in which they were made. */
  const queue: Event[] = [];
  let now = 0;
  let asks = 0;

  const loaded = (digest: Digest): MessageBlock | null => {
    const bytes = store.get(digest);
    return bytes === undefined ? null : messageBlock(bytes);
  };
  const later = (seat: number, input: Input, afterMs: number) => {
    const at = now + afterMs;
    let [low, high] = [0, queue.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((queue[middle] as Event).at > at) high = middle;
      else low = middle + 1;
    }
    queue.splice(low, 0, { at, seat, input });
  };
  const deliver = (to: number, message: Message, latencyMs: number) => {
    const { digest, bytes } = blockOf(message);
    store.set(digest, bytes);
    if (verified(attempt, message)) later(to, { kind: "message", message }, latencyMs);
  };
  const signed = new Map<string, Message>();
  const ofEffect = new Map<SendEffect, Message>();
  /** Signing is deterministic, so what several receivers get is signed once. */
  const sign = (seat: number, sent: SendEffect): Message => {
    const known = ofEffect.get(sent);
    if (known !== undefined) return known;
    const payload = withSignature(attempt, seat, sent);
    const key = `${seat}.${sent.phase}.${sent.round}.${digestOf(payload)}`;
    const message = signed.get(key) ?? signMessage(attempt, seat, sent.phase, sent.round, payload);
    signed.set(key, message);
    ofEffect.set(sent, message);
    return message;
  };
  const run = (seat: number, effect: Effect): void => {
    log[seat]?.push(effect);
    const script = scripts[seat] as SeatScript;
    if (effect.kind === "ask") {
      asks++;
      const answer = script.answer(effect);
      const observation: Observation =
        answer === null
          ? { kind: "failed", reason: "crashed" }
          : { kind: "answered", ...answer, confidence: (answer.confidence ?? 900_000) as Ppm };
      later(seat, { kind: "observed", ask: effect.ask, observation }, script.thinkMs ?? 50 + latency());
    } else if (effect.kind === "send") {
      for (let to = 0; to < seats; to++) {
        for (const sent of script.say && (to !== seat || script.saysToItself) ? script.say(effect, to) : [effect]) {
          const message = sign(seat, sent);
          deliver(to, message, to === seat ? 0 : onTheWay(seat, to));
        }
      }
    } else if (effect.kind === "forward" && !script.hoards) {
      for (const message of effect.messages)
        for (let to = 0; to < seats; to++) if (to !== seat) deliver(to, message, onTheWay(seat, to));
    } else if (effect.kind === "wait") {
      later(seat, { kind: "elapsed", timer: effect.timer }, effect.afterMs);
    } else if (effect.kind === "load") {
      later(seat, { kind: "loaded", root: effect.root, blocks: effect.blocks.map(loaded) }, latency());
    } else if (effect.kind === "read") {
      const read = effect.sources.map((source) => {
        const text = script.lacks ? null : (options.texts?.get(source) ?? null);
        const seen = text !== null && script.sees ? script.sees(text) : text;
        return readingBlock(
          script.failsAt === undefined
            ? memoryReading(source, seen)
            : { kind: "failed", reason: script.failsAt(source), detail: "by the script" },
        );
      });
      later(seat, { kind: "read", blocks: read }, script.lacks ? 1 : (script.readMs ?? options.readMs ?? latency()));
    } else if (effect.kind === "certified") {
      certificates[seat] = effect.certificate;
      blocks[seat] = effect.blocks;
    }
  };

  scripts.forEach((script, seat) => {
    const started = startSeat(protocol, contexts[seat] as SeatContext);
    states[seat] = started.state;
    if (!script.crashed) started.effects.forEach((effect) => run(seat, effect));
  });
  let lastCertified = 0;
  while (queue.length > 0) {
    const event = queue.shift() as Event;
    now = event.at;
    const state = states[event.seat] as SeatState;
    const { crashed, hear } = scripts[event.seat] as SeatScript;
    if (event.input.kind === "message") hear?.(event.input.message);
    if (crashed || isSeatDone(state)) continue;
    const stepped = stepSeat(protocol, contexts[event.seat] as SeatContext, state, event.input);
    states[event.seat] = stepped.state;
    stepped.effects.forEach((effect) => run(event.seat, effect));
    if (isSeatDone(stepped.state)) lastCertified = now;
  }
  return { certificates, states, effects: log, blocks, elapsedMs: lastCertified, asks };
}

const genuine = new Map<string, boolean>();

/** Verifies each distinct signature once per process. */
function verified(attempt: Attempt, message: Message): boolean {
  const { seat, round, phase, payloadDigest } = message.header;
  const key = `${message.signature}.${seat}.${round}.${phase}.${payloadDigest}`;
  const known = genuine.get(key) ?? forgeryIn(attempt, message) === null;
  genuine.set(key, known);
  return known;
}

/** Signs a decision that a `send` carries, as the host does. */
export function withSignature(
  attempt: Attempt,
  seat: number,
  effect: { readonly payload: SendEffect["payload"]; readonly decision?: Decision },
): Value {
  return effect.decision === undefined
    ? effect.payload
    : { ...effect.payload, signature: hexToBytes(signDigest(seat, decisionDigest(attempt, effect.decision))) };
}

/** mulberry32: unsigned 32-bit numbers from a seed. */
export function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return (t ^ (t >>> 14)) >>> 0;
  };
}
