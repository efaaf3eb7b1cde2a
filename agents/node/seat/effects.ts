import { messageOf } from "../../core/errors.ts";
import { readingBlock } from "../../core/sources/reading.ts";
import type { Reading } from "../../core/sources/snapshot.ts";
import { parseSource } from "../../core/sources/source.ts";
import type { Effect, PayloadMap, Protocol } from "../../core/protocol.ts";
import type { Attempt, DecisionStatus, Message } from "../../core/types.ts";
import { silenceIn } from "../audit/argument.ts";
import { ask } from "./asking.ts";
import { timeLimit, tagOf, logFailure, type EffectHost, type Withheld } from "./host.ts";
import { createLoader, type Loader } from "./loader.ts";
import { Signing } from "./signing.ts";

/** Carries out what a seat wants done, and returns what came of it as an input. */
export class Effects {
  private readonly host: EffectHost;
  private readonly signing: Signing;
  private readonly loader: Loader;
  private certifiedStatus: DecisionStatus | null = null;
  private readonly timers = new Set<() => void>();

  constructor(host: EffectHost) {
    const { context, ports, protocol } = host;
    const { attempt, timing } = context;
    this.host = host;
    this.signing = new Signing(host);
    this.loader = createLoader(attempt, isTranscribed(protocol, attempt), ports.store, () =>
      timeLimit(host, timing.certifyMs),
    );
  }

  withheld(): Withheld | null {
    return this.signing.withheld();
  }

  /** The status in the certificate that this seat holds; null while it holds none. */
  certified(): DecisionStatus | null {
    return this.certifiedStatus;
  }

  cancelTimers(): void {
    for (const cancel of this.timers) cancel();
    this.timers.clear();
  }

  execute(effect: Effect): void {
    const { context, events, outbox, ports } = this.host;
    switch (effect.kind) {
      case "ask":
        this.background(ask(this.host, effect));
        return;
      case "send":
        this.reportSilence(effect.payload);
        if (effect.decision === undefined) this.signing.say(effect);
        else this.background(this.signing.sign(effect, effect.decision.transcript));
        return;
      case "forward":
        outbox.forward(effect.messages);
        return;
      case "wait":
        this.arm(effect.timer, effect.afterMs);
        return;
      case "load":
        this.background(this.load(effect));
        return;
      case "read":
        this.background(this.read(effect));
        return;
      case "certified":
        this.certifiedStatus = effect.certificate.decision.status;
        this.background(this.signing.pinCertified(effect));
        return;
      case "evidence":
        events.onEvidence(effect.evidence);
        return;
      case "conflict":
        events.onConflict(effect.conflict);
        return;
      case "drop":
        ports.log.debug({ ...tagOf(context), reason: effect.reason, seat: effect.seat }, "input dropped");
        return;
      case "stalled":
        ports.log.warn(tagOf(context), "ballots exhausted; the request will be refunded after its deadline");
    }
  }

  keepBlock(message: Message): void {
    this.signing.keepBlock(message);
  }

  /** Says in this agent's own log what the transcript will say to everybody. */
  private reportSilence(payload: PayloadMap): void {
    const why = silenceIn(payload);
    if (why === null) return;
    const { context, events, ports } = this.host;
    events.onSilence();
    ports.log.warn({ ...tagOf(context), why }, "this seat tells the others that it has no answer");
  }

  private arm(timer: string, afterMs: number): void {
    const cancel = this.host.ports.clock.schedule(afterMs, () => {
      this.timers.delete(cancel);
      this.host.enqueue({ kind: "elapsed", timer });
    });
    this.timers.add(cancel);
  }

  private async load(effect: Extract<Effect, { kind: "load" }>): Promise<void> {
    this.host.enqueue({ kind: "loaded", root: effect.root, blocks: await this.loader.load(effect.blocks) });
  }

  /** SG5: reads the sources; the journal keeps what was read, or why it was not. */
  private async read({ sources }: Extract<Effect, { kind: "read" }>): Promise<void> {
    const { context } = this.host;
    // Half a phase leaves time to say what was read before the phase ends.
    const { signal, cancel } = timeLimit(this.host, context.timing.phaseMs / 2);
    const readings = await Promise.all(sources.map((source) => this.readOne(source, signal)));
    cancel();
    for (const [index, reading] of readings.entries())
      if (reading.kind === "failed")
        logFailure(
          this.host,
          new Error(`${reading.reason}: ${reading.detail}`),
          `could not read the source ${sources[index]}`,
        );
    this.host.enqueue({ kind: "read", blocks: readings.map(readingBlock) });
  }

  private async readOne(name: string, signal: AbortSignal): Promise<Reading> {
    const parsed = parseSource(name);
    if ("refused" in parsed) return { kind: "failed", reason: "refused", detail: parsed.refused };
    return this.host.ports.sources
      .read(parsed.source, signal)
      .catch((error: unknown) => ({ kind: "failed", reason: "timeout", detail: messageOf(error) }));
  }

  /** Nobody awaits this work, so nobody else would see it fail. */
  private background(work: Promise<void>): void {
    work.catch((error: unknown) => this.host.broken(error));
  }
}

/** Accepts the messages of this attempt that a transcript may hold. */
function isTranscribed(protocol: Protocol, attempt: Attempt): (message: Message) => boolean {
  return ({ header, payload }) =>
    header.requestId === attempt.request.id &&
    header.attempt === attempt.attempt &&
    protocol.rejectPayload(attempt, header, payload) === null;
}
