import { composeText } from "../core/answer.ts";
import { digestOf } from "../core/codec.ts";
import { committeeHash, decisionDigest, hexToBytes, messageDigest, requestHash, sha256, utf8 } from "../core/digest.ts";
import { ConclaveError } from "../core/errors.ts";
import { limits } from "../core/limits.ts";
import type { Effect, Input, Observation, Protocol, SeatContext, Timing } from "../core/protocol.ts";
import { acceptsMessage, isSeatDone, startSeat, stepSeat, type SeatState } from "../core/seat.ts";
import { encodeMessage } from "../core/transcript.ts";
import type { Attempt, Certificate, Digest, Evidence, Header, Message, Ppm, SeatIndex, Value } from "../core/types.ts";
import type { Clock } from "../ports/clock.ts";
import type { ContentStore } from "../ports/content-store.ts";
import type { Journal } from "../ports/journal.ts";
import type { Log } from "../ports/log.ts";
import type { Model } from "../ports/model.ts";
import type { Network } from "../ports/network.ts";
import type { Signer } from "../ports/signer.ts";
import { decodeInput, encodeInput } from "./records.ts";

export interface SessionPorts {
  readonly network: Network;
  readonly store: ContentStore;
  readonly model: Model;
  readonly signer: Signer;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: Log;
}

export interface SessionEvents {
  readonly onCertified: (certificate: Certificate) => void;
  readonly onEvidence: (evidence: Evidence) => void;
}

/** One seat of one attempt, running. */
export interface Session {
  readonly attempt: Attempt;
  /** A message whose signature has been verified. */
  deliver(message: Message): void;
  /** Whether this very message is known already; spares verifying a duplicate. */
  knows(header: Header): boolean;
  /** Own messages, for a peer that (re)connected. */
  sent(): readonly Message[];
  close(): Promise<void>;
}

/**
 * Runs effects and journals every input before the seat acts on it. After a restart the journal is replayed: the seat
 * is pure, so it arrives where it was; what was asked, armed or about to be sent and has no answer in the journal is
 * done again. A slot is signed once: what is signed is journalled first, and signing is deterministic.
 */
export async function openSession(
  protocol: Protocol,
  attempt: Attempt,
  self: SeatIndex,
  timing: Timing,
  ports: SessionPorts,
  events: SessionEvents,
): Promise<Session> {
  const secret = ports.signer.deriveSecret(
    `conclave salt ${requestHash(attempt.request)} ${attempt.attempt} ${committeeHash(attempt.committee)}`,
  );
  const session = new RunningSession(protocol, { attempt, self, secret, timing }, ports, events);
  await session.restore();
  return session;
}

class RunningSession implements Session {
  readonly attempt: Attempt;
  private readonly protocol: Protocol;
  private readonly context: SeatContext;
  private readonly ports: SessionPorts;
  private readonly events: SessionEvents;
  private readonly abort = new AbortController();
  private readonly timers = new Set<() => void>();
  /** What this seat has signed, by slot. */
  private readonly own = new Map<string, Message>();
  /** Own messages that are journalled and may be sent. */
  private readonly published: Message[] = [];
  /** Payload digests by slot and seat; bounded, because only acceptable messages get here. */
  private readonly seen = new Map<string, Set<Digest>>();
  private queue: Input[] = [];
  private state: SeatState;
  private readonly opening: readonly Effect[];
  private draining: Promise<void> | null = null;

  constructor(protocol: Protocol, context: SeatContext, ports: SessionPorts, events: SessionEvents) {
    const started = startSeat(protocol, context);
    this.attempt = context.attempt;
    this.protocol = protocol;
    this.context = context;
    this.ports = ports;
    this.events = events;
    this.state = started.state;
    this.opening = started.effects;
  }

  async restore(): Promise<void> {
    let open = [...this.opening];
    let inputs = 0;
    const opened = this.openingRecord();
    for await (const record of this.ports.journal.read()) {
      if (inputs++ === 0) {
        this.checkOpening(record, opened);
        continue;
      }
      const input = decodeInput(record);
      open = open.filter((effect) => !answers(input, effect, this.context.self));
      this.remember(input);
      const stepped = stepSeat(this.protocol, this.context, this.state, input);
      this.state = stepped.state;
      open.push(...stepped.effects);
    }
    if (inputs === 0) await this.ports.journal.append(opened);
    if (inputs > 1) this.ports.log.info({ ...this.tag(), inputs: inputs - 1 }, "session restored from its journal");
    const live = open.filter((effect) => effect.kind !== "drop" && !(isSeatDone(this.state) && effect.kind === "wait"));
    this.published.push(...this.own.values());
    for (const message of this.published) this.transmit(message);
    for (const effect of live) this.execute(effect);
  }

  /** The first record pins the attempt, so that a journal is never replayed into another one. */
  private openingRecord(): Uint8Array {
    return utf8(
      `conclave 1 ${this.protocol.id}@${this.protocol.version} ${requestHash(this.attempt.request)} ${this.attempt.attempt} ${committeeHash(this.attempt.committee)}`,
    );
  }

  private checkOpening(record: Uint8Array, expected: Uint8Array): void {
    if (sha256(record) === sha256(expected)) return;
    throw new ConclaveError(
      "JOURNAL_CONFLICT",
      "Refused a journal of another request, committee or protocol version; this agent abstains from the attempt",
      {
        requestId: this.attempt.request.id.toString(),
      },
    );
  }

  deliver(message: Message): void {
    if (acceptsMessage(this.protocol, this.attempt, message)) this.enqueue({ kind: "message", message });
  }

  knows(header: Header): boolean {
    const digests = this.seen.get(slotOfSeat(header));
    return digests !== undefined && (digests.has(header.payloadDigest) || digests.size >= limits.payloadsPerSlot);
  }

  sent(): readonly Message[] {
    return this.published;
  }

  async close(): Promise<void> {
    this.abort.abort();
    for (const cancel of this.timers) cancel();
    this.timers.clear();
    this.queue = [];
    await this.draining;
    await this.ports.journal.close();
  }

  private enqueue(input: Input): void {
    if (this.abort.signal.aborted || isSeatDone(this.state)) return;
    if (input.kind === "message" && this.knows(input.message.header)) return;
    this.remember(input);
    this.queue.push(input);
    this.draining ??= this.drain().finally(() => (this.draining = null));
  }

  private remember(input: Input): void {
    if (input.kind !== "message") return;
    const { header } = input.message;
    const key = slotOfSeat(header);
    this.seen.set(key, (this.seen.get(key) ?? new Set()).add(header.payloadDigest));
    if (header.seat === this.context.self) this.own.set(slot(header), input.message);
  }

  /** Journal first (one fsync for all that waits), then act, in order. */
  private async drain(): Promise<void> {
    while (this.queue.length > 0 && !this.abort.signal.aborted) {
      const batch = this.queue;
      this.queue = [];
      try {
        await Promise.all(batch.map((input) => this.ports.journal.append(encodeInput(input))));
      } catch (error) {
        this.ports.log.error({ ...this.tag(), error }, "journal failed: this agent falls silent in the attempt");
        this.abort.abort();
        return;
      }
      for (const input of batch) this.act(input);
    }
  }

  private act(input: Input): void {
    if (input.kind === "message") {
      if (input.message.header.seat === this.context.self) this.publish(input.message);
      this.keepBlock(input.message);
    }
    const stepped = stepSeat(this.protocol, this.context, this.state, input);
    this.state = stepped.state;
    for (const effect of stepped.effects) this.execute(effect);
  }

  private execute(effect: Effect): void {
    switch (effect.kind) {
      case "ask":
        void this.ask(effect);
        return;
      case "send":
        this.say(effect);
        return;
      case "forward":
        for (const message of effect.messages) this.transmit(message);
        return;
      case "wait":
        this.arm(effect.timer, effect.delayMs);
        return;
      case "load":
        void this.load(effect);
        return;
      case "certified":
        void this.settle(effect);
        return;
      case "evidence":
        this.events.onEvidence(effect.evidence);
        return;
      case "drop":
        this.ports.log.debug({ ...this.tag(), reason: effect.reason, seat: effect.seat }, "input dropped");
        return;
      case "stalled":
        this.ports.log.warn(this.tag(), "certify rounds exhausted; the request will be refunded after its deadline");
    }
  }

  private say(effect: Extract<Effect, { kind: "send" }>): void {
    const { signer } = this.ports;
    const signature =
      effect.decision === undefined
        ? {}
        : { signature: hexToBytes(signer.sign(decisionDigest(this.attempt, effect.decision))) };
    const payload: Value = { ...effect.payload, ...signature };
    const header: Header = {
      requestId: this.attempt.request.id,
      attempt: this.attempt.attempt,
      protocol: this.protocol.code,
      phase: effect.phase,
      round: effect.round,
      seat: this.context.self,
      payloadDigest: digestOf(payload),
    };
    const before = this.own.get(slot(header));
    if (before !== undefined && before.header.payloadDigest !== header.payloadDigest) {
      this.ports.log.error(
        { ...this.tag(), phase: effect.phase, round: effect.round },
        "refused to sign a second payload for one slot",
      );
      return;
    }
    this.enqueue({
      kind: "message",
      message: { header, payload, signature: signer.sign(messageDigest(this.attempt.domain, header)) },
    });
  }

  private publish(message: Message): void {
    this.published.push(message);
    this.transmit(message);
  }

  private transmit(message: Message): void {
    const frame = encodeMessage(message);
    for (const [seat, info] of this.attempt.committee.entries())
      if (seat !== this.context.self) this.ports.network.send(info.signer, frame);
  }

  /** Others may have to load the block when they vote on a transcript. */
  private keepBlock(message: Message): void {
    this.ports.store
      .put(encodeMessage(message), this.abort.signal)
      .catch((error: unknown) => this.warn(error, "could not store a message block"));
  }

  private async ask(effect: Extract<Effect, { kind: "ask" }>): Promise<void> {
    const { signal, cancel } = this.deadline(this.context.timing.phaseMs);
    const seed = Number.parseInt(digestOf({ ask: effect.ask, secret: this.context.secret }).slice(2, 9), 16);
    let observation: Observation;
    try {
      const response = await this.ports.model.ask(
        { ...effect.prompt, maxTokens: limits.modelOutputTokens, seed },
        signal,
      );
      const fields = Object.fromEntries(
        Object.entries(response.fields).map(([name, text]) => [name, composeText(text)]),
      );
      observation = { kind: "answered", fields, confidence: response.confidencePpm as Ppm | null };
    } catch (error) {
      const reason = error instanceof ConclaveError ? String(error.data["kind"] ?? error.code) : "crashed";
      this.warn(error, "model call failed: abstaining");
      observation = { kind: "failed", reason };
    } finally {
      cancel();
    }
    this.enqueue({ kind: "observed", ask: effect.ask, observation });
  }

  private arm(timer: string, delayMs: number): void {
    const cancel = this.ports.clock.schedule(delayMs, () => {
      this.timers.delete(cancel);
      this.enqueue({ kind: "elapsed", timer });
    });
    this.timers.add(cancel);
  }

  private async load(effect: Extract<Effect, { kind: "load" }>): Promise<void> {
    const { signal, cancel } = this.deadline(this.context.timing.certifyMs);
    const blocks = await Promise.all(
      effect.blocks.map((digest) => this.ports.store.get(digest, signal).catch(() => null)),
    );
    cancel();
    this.enqueue({ kind: "loaded", root: effect.root, blocks });
  }

  /** Aborts when the session closes or the time is up. */
  private deadline(delayMs: number): { readonly signal: AbortSignal; readonly cancel: () => void } {
    const timeout = new AbortController();
    const cancel = this.ports.clock.schedule(delayMs, () => timeout.abort());
    return { signal: AbortSignal.any([this.abort.signal, timeout.signal]), cancel };
  }

  private async settle(effect: Extract<Effect, { kind: "certified" }>): Promise<void> {
    const root = effect.certificate.decision.transcript;
    try {
      for (const block of effect.blocks) await this.ports.store.put(block, this.abort.signal);
      await this.ports.store.pin(root, this.abort.signal);
    } catch (error) {
      this.warn(error, "could not pin the transcript");
    }
    this.events.onCertified(effect.certificate);
  }

  private warn(error: unknown, message: string): void {
    if (!this.abort.signal.aborted)
      this.ports.log.warn({ ...this.tag(), error: error instanceof Error ? error.message : String(error) }, message);
  }

  private tag(): { readonly requestId: string; readonly attempt: number; readonly seat: number } {
    return { requestId: this.attempt.request.id.toString(), attempt: this.attempt.attempt, seat: this.context.self };
  }
}

/** Whether a journalled input settles an effect, so that a restart need not run it again. */
function answers(input: Input, effect: Effect, self: SeatIndex): boolean {
  switch (effect.kind) {
    case "send":
      return (
        input.kind === "message" &&
        input.message.header.seat === self &&
        input.message.header.phase === effect.phase &&
        input.message.header.round === effect.round
      );
    case "ask":
      return input.kind === "observed" && input.ask === effect.ask;
    case "wait":
      return input.kind === "elapsed" && input.timer === effect.timer;
    case "load":
      return input.kind === "loaded" && input.root === effect.root;
    default:
      return false;
  }
}

function slot(header: Header): string {
  return `${header.phase}.${header.round}`;
}

function slotOfSeat(header: Header): string {
  return `${header.phase}.${header.round}.${header.seat}`;
}
