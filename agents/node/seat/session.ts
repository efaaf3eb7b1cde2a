import { PROPOSE } from "../../core/seat/certify/messages.ts";
import { messageOf } from "../../core/errors.ts";
import { limits } from "../../core/limits.ts";
import type { Effect, Input, Protocol, SeatContext, Timing } from "../../core/protocol.ts";
import { isSeatDone, rejectMessage, startSeat, stepSeat, type SeatState } from "../../core/seat/seat.ts";
import type { Attempt, DecisionStatus, Digest, Header, Message, SeatIndex, SignedDecision } from "../../core/types.ts";
import { maxRecordBytes } from "../../ports/journal.ts";
import { tagOf, type SessionEvents, type SessionPorts, type Withheld } from "./host.ts";
import { Effects } from "./effects.ts";
import { createOutbox, slotOfSeat, type Outbox } from "./outbox.ts";
import { createInputReader, encodeInput } from "./records.ts";
import { isAnswered, nameOf, openingRecord, requireOpening } from "./restart.ts";

export interface SignedBySeat extends SignedDecision {
  readonly seat: SeatIndex;
}

/** A running seat of one attempt. */
export interface Session {
  readonly attempt: Attempt;
  /** True if the seat still needs this message; false for duplicates and full slots, which it need not verify. */
  wants(header: Header): boolean;
  /** Returns why the message may not stand in its slot, or null. */
  refuses(message: Message): string | null;
  /** Takes a message that is wanted, that is not refused and whose signature has been verified. */
  deliver(message: Message): void;
  /** The decisions that seats have signed in a ballot, as far as this seat has verified them. */
  signedIn(ballot: number): readonly SignedBySeat[];
  /** Messages that a peer may have missed while it was not connected, the most urgent first. */
  backlog(): readonly Message[];
  /** Why the seat fell silent although its attempt is open; null while it serves. */
  silent(): string | null;
  /** True if the seat is silent because its journal took no more; opened again, the journal brings the seat back. */
  journalFailed(): boolean;
  /** AV6: signatures that the seat withheld because its store did not hold the transcript; null if it withheld none. */
  withheld(): Withheld | null;
  /** The status in the certificate that this seat holds; null while it holds none. */
  certified(): DecisionStatus | null;
  closed(): boolean;
  close(): Promise<void>;
}

/**
 * Runs effects, and journals every input before the seat acts on it. A restart replays the journal: the seat is pure, so it
 * arrives at the same state; effects without an answer in the journal run again. The seat signs each slot once, because it
 * journals a signed message before it sends it and because signing is deterministic.
 */
export async function openSession(
  protocol: Protocol,
  attempt: Attempt,
  self: SeatIndex,
  timing: Timing,
  ports: SessionPorts,
  events: SessionEvents,
): Promise<Session> {
  // What one attempt reveals must open no commitment of another, of another chain neither.
  const secret = ports.signer.deriveSecret(`conclave salt ${nameOf(attempt)}`);
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
  private readonly outbox: Outbox;
  private readonly effects: Effects;
  /** The messages that this seat has signed, by slot. */
  private readonly own = new Map<string, Message>();
  /** Payload digests per slot of each seat; bounded, because only verified messages get here. */
  private readonly seen = new Map<string, Set<Digest>>();
  private queue: Input[] = [];
  private state: SeatState;
  private readonly opening: readonly Effect[];
  private draining = false;
  private drained: Promise<void> = Promise.resolve();
  private failure: string | null = null;
  private hasLostJournal = false;

  constructor(protocol: Protocol, context: SeatContext, ports: SessionPorts, events: SessionEvents) {
    const started = startSeat(protocol, context);
    this.attempt = context.attempt;
    this.protocol = protocol;
    this.context = context;
    this.ports = ports;
    this.events = events;
    this.state = started.state;
    this.opening = started.effects;
    const others = context.attempt.committee.filter((_, seat) => seat !== context.self);
    this.outbox = createOutbox(
      others.map((seat) => seat.signer),
      ports.network,
      ports.clock,
    );
    this.effects = new Effects({
      protocol,
      context,
      ports,
      events,
      outbox: this.outbox,
      signal: this.abort.signal,
      enqueue: (input) => this.enqueue(input),
      signed: (header) => this.own.get(slot(header)),
      broken: (error) => this.fallSilent("internal error", error),
    });
  }

  async restore(): Promise<void> {
    let open = [...this.opening];
    let inputs = 0;
    const broadcast: Message[] = [];
    const expected = openingRecord(this.protocol, this.attempt);
    const read = createInputReader();
    for await (const record of this.ports.journal.read()) {
      if (inputs++ === 0) {
        requireOpening(record, expected, this.attempt);
        continue;
      }
      const input = read(record);
      if (input === null) continue;
      open = open.filter((effect) => !isAnswered(input, effect, this.context.self));
      this.remember(input);
      if (input.kind === "message") broadcast.push(input.message);
      if (input.kind === "observed") this.ports.budget.spend(input.tokens ?? 0);
      const stepped = stepSeat(this.protocol, this.context, this.state, input);
      this.state = stepped.state;
      open.push(...stepped.effects);
    }
    if (inputs === 0) await this.ports.journal.append(expected);
    if (inputs > 1)
      this.ports.log.info({ ...tagOf(this.context), inputs: inputs - 1 }, "session restored from its journal");
    const forwarded = open.flatMap((effect) => (effect.kind === "forward" ? [effect.messages] : []));
    this.outbox.restore(this.own.values(), forwarded, this.abort.signal);
    for (const message of broadcast) this.events.onBroadcast(message);
    for (const effect of open) if (this.isWanted(effect)) this.effects.execute(effect);
  }

  /** True if a restart has to run the effect again; the outbox sends the messages again. */
  private isWanted(effect: Effect): boolean {
    if (effect.kind === "wait") return this.isOpen();
    return effect.kind !== "drop" && effect.kind !== "forward";
  }

  wants(header: Header): boolean {
    return this.isOpen() && !this.knows(header);
  }

  refuses(message: Message): string | null {
    return rejectMessage(this.protocol, this.attempt, message);
  }

  deliver(message: Message): void {
    this.enqueue({ kind: "message", message });
  }

  signedIn(ballot: number): readonly SignedBySeat[] {
    return [...this.state.certify.signatures.values()].filter((signed) => signed.ballot === ballot);
  }

  backlog(): readonly Message[] {
    return this.outbox.backlog();
  }

  silent(): string | null {
    return this.failure;
  }

  journalFailed(): boolean {
    return this.hasLostJournal && this.certified() === null;
  }

  withheld(): Withheld | null {
    return this.effects.withheld();
  }

  certified(): DecisionStatus | null {
    return this.effects.certified();
  }

  closed(): boolean {
    return this.abort.signal.aborted;
  }

  async close(): Promise<void> {
    this.abort.abort();
    this.effects.cancelTimers();
    this.queue = [];
    await this.drained;
    await this.ports.journal.close();
  }

  /** True while the seat still has a use for inputs. */
  private isOpen(): boolean {
    return !this.closed() && !isSeatDone(this.state);
  }

  private knows(header: Header): boolean {
    const digests = this.seen.get(slotOfSeat(header));
    return digests !== undefined && (digests.has(header.payloadDigest) || digests.size >= limits.payloadsPerSlot);
  }

  private enqueue(input: Input): void {
    // A seat that is done still publishes its last message.
    const isOwn = input.kind === "message" && input.message.header.seat === this.context.self;
    if (this.closed() || (!this.isOpen() && !isOwn)) return;
    if (input.kind === "message" && this.knows(input.message.header)) return;
    this.remember(input);
    this.queue.push(input);
    if (!this.draining) this.drained = this.drain();
  }

  private remember(input: Input): void {
    if (input.kind !== "message") return;
    const { header } = input.message;
    const key = slotOfSeat(header);
    this.seen.set(key, (this.seen.get(key) ?? new Set()).add(header.payloadDigest));
    if (header.seat === this.context.self) this.own.set(slot(header), input.message);
  }

  /** Journals all waiting inputs (with one fsync), then acts on them in order. Never rejects. */
  private async drain(): Promise<void> {
    this.draining = true;
    try {
      while (this.queue.length > 0 && !this.closed()) {
        const batch = this.queue.map((input) => ({ input, records: encodeInput(input) })).filter(this.fits);
        this.queue = [];
        if (!(await this.journalled(batch.flatMap(({ records }) => records)))) return;
        for (const { input } of batch) if (!this.closed()) this.act(input);
      }
    } catch (error) {
      this.fallSilent("internal error", error);
    } finally {
      this.draining = false;
    }
  }

  /** True if the journal takes the records. A longer record is our own bug, not the disk's: it costs the input, not the seat. */
  private readonly fits = (entry: { readonly input: Input; readonly records: readonly Uint8Array[] }): boolean => {
    const bytes = Math.max(...entry.records.map((record) => record.length));
    if (bytes <= maxRecordBytes) return true;
    this.ports.log.error(
      { ...tagOf(this.context), input: entry.input.kind, bytes },
      "input too long for the journal: ignored",
    );
    return false;
  };

  private async journalled(records: readonly Uint8Array[]): Promise<boolean> {
    try {
      await Promise.all(records.map((record) => this.ports.journal.append(record)));
      return true;
    } catch (error) {
      this.hasLostJournal = true;
      this.fallSilent("journal failed", error);
      return false;
    }
  }

  /** An input that is not durable must not be acted on. Only opening the journal again brings the seat back. */
  private fallSilent(reason: string, error: unknown): void {
    if (this.closed()) return;
    this.failure = `${reason}: ${messageOf(error)}`;
    this.abort.abort();
    this.ports.log.error(
      { ...tagOf(this.context), error: messageOf(error) },
      `${reason}: this agent falls silent in the attempt`,
    );
  }

  private act(input: Input): void {
    if (input.kind === "message") {
      const { header } = input.message;
      if (header.seat === this.context.self) this.outbox.publish(input.message);
      this.events.onBroadcast(input.message);
      if (header.phase < PROPOSE) this.effects.keepBlock(input.message);
    }
    const stepped = stepSeat(this.protocol, this.context, this.state, input);
    this.state = stepped.state;
    for (const effect of stepped.effects) {
      if (effect.kind === "certified" && effect.certificate.decision.status === "hung") this.explain();
      this.effects.execute(effect);
    }
  }

  /** PH14: logs what the last round lacks for a decision. */
  private explain(): void {
    const reasons = this.protocol.explain?.(this.attempt, this.state.tally) ?? [];
    this.ports.log.warn({ ...tagOf(this.context), reasons }, "the committee hung");
  }
}

/** The own slot: one message per phase and round. */
function slot(header: Header): string {
  return `${header.phase}.${header.round}`;
}
