import { composeText } from "../../core/request/answer.ts";
import { cidString, digestOf } from "../../core/encoding/codec.ts";
import { hexToBytes } from "../../core/encoding/bytes.ts";
import { decisionDigest, messageDigest } from "../../core/encoding/typed-data.ts";
import { ConclaveError, messageOf } from "../../core/errors.ts";
import { limits } from "../../core/limits.ts";
import { tidyOrigin } from "../../core/phases/origin.ts";
import type { Effect, Input, Observation, Protocol, SeatContext } from "../../core/protocol.ts";
import { shortened, type Prompt } from "../../core/prompts/prompt.ts";
import { readDocument } from "../../core/evidence/sources.ts";
import { encodeMessage, messageBytesIn } from "../../core/encoding/transcript.ts";
import type {
  Attempt,
  Certificate,
  DecisionConflict,
  DecisionStatus,
  Digest,
  Evidence,
  Header,
  Message,
  Ppm,
  Value,
} from "../../core/types.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ContentStore } from "../../ports/content-store.ts";
import type { Journal } from "../../ports/journal.ts";
import type { Log } from "../../ports/log.ts";
import type { Model, ModelRequest, ModelResponse } from "../../ports/model.ts";
import type { Network } from "../../ports/network.ts";
import type { Signer } from "../../ports/signer.ts";
import { createKeeping, type Keeping } from "./keeping.ts";
import { createLoader, type Loader } from "./loader.ts";
import type { Outbox } from "./outbox.ts";
import type { RequestBudget } from "./token-budget.ts";

export interface SessionPorts {
  readonly network: Network;
  readonly store: ContentStore;
  readonly model: Model;
  /** P8: of the request; all calls of the session draw on it. */
  readonly budget: RequestBudget;
  readonly signer: Signer;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: Log;
}

export interface SessionEvents {
  readonly onCertified: (certificate: Certificate) => void;
  readonly onEvidence: (evidence: Evidence) => void;
  readonly onConflict: (conflict: DecisionConflict) => void;
}

/** AV6: how often a seat did not sign a decision because its store did not hold the transcript, and what was wrong last. */
export interface Withheld {
  readonly times: number;
  readonly error: string;
}

/** The session around the effects. */
export interface EffectHost {
  readonly protocol: Protocol;
  readonly context: SeatContext;
  readonly ports: SessionPorts;
  readonly events: SessionEvents;
  readonly outbox: Outbox;
  /** Aborts when the session ends. */
  readonly signal: AbortSignal;
  enqueue(input: Input): void;
  /** What this seat has signed for the place. */
  signed(header: Header): Message | undefined;
  /** An effect failed in a way that nothing foresees. */
  broken(error: unknown): void;
}

/** Carries out what a seat wants done, and gives the outcome back as an input. */
export class Effects {
  private readonly host: EffectHost;
  private readonly attempt: Attempt;
  private readonly context: SeatContext;
  private readonly ports: SessionPorts;
  private readonly loader: Loader;
  private readonly keeping: Keeping;
  private refusals: Withheld | null = null;
  private decided: DecisionStatus | null = null;
  private readonly timers = new Set<() => void>();

  constructor(host: EffectHost) {
    this.host = host;
    this.attempt = host.context.attempt;
    this.context = host.context;
    this.ports = host.ports;
    this.keeping = createKeeping(this.ports.store, host.signal);
    this.loader = createLoader(this.attempt, isTranscribed(host.protocol, this.attempt), this.ports.store, () =>
      this.deadline(this.context.timing.certifyMs),
    );
  }

  /** AV6: the signatures that this seat withheld since its start. */
  withheld(): Withheld | null {
    return this.refusals;
  }

  /** What the certificate says that this seat holds; null while it holds none. */
  certified(): DecisionStatus | null {
    return this.decided;
  }

  cancelTimers(): void {
    for (const cancel of this.timers) cancel();
    this.timers.clear();
  }

  execute(effect: Effect): void {
    switch (effect.kind) {
      case "ask":
        this.background(this.ask(effect));
        return;
      case "send":
        if (effect.decision === undefined) this.say(effect);
        else this.background(this.sign(effect, effect.decision.transcript));
        return;
      case "forward":
        this.host.outbox.forward(effect.messages);
        return;
      case "wait":
        this.arm(effect.timer, effect.delayMs);
        return;
      case "load":
        this.background(this.load(effect));
        return;
      case "fetch":
        this.background(this.fetch(effect));
        return;
      case "certified":
        this.decided = effect.certificate.decision.status;
        this.background(this.settle(effect));
        return;
      case "evidence":
        this.host.events.onEvidence(effect.evidence);
        return;
      case "conflict":
        this.host.events.onConflict(effect.conflict);
        return;
      case "drop":
        this.ports.log.debug({ ...tagOf(this.context), reason: effect.reason, seat: effect.seat }, "input dropped");
        return;
      case "stalled":
        this.ports.log.warn(
          tagOf(this.context),
          "certify rounds exhausted; the request will be refunded after its deadline",
        );
    }
  }

  /**
   * AV6: a signature on a decision leaves once its whole transcript is held here. Where that fails or takes longer than a certify
   * time-out, the seat says nil, so that the round goes on and a later one finds the store better or the blocks written.
   */
  private async sign(effect: Extract<Effect, { kind: "send" }>, root: Digest): Promise<void> {
    try {
      await this.inTime(this.keeping.hold(root, effect.holds?.blocks ?? []));
      this.say(effect);
    } catch (error) {
      if (this.host.signal.aborted) return;
      this.refusals = { times: (this.refusals?.times ?? 0) + 1, error: messageOf(error) };
      this.ports.log.error(
        { ...tagOf(this.context), round: effect.round, transcript: cidString(root), ...this.refusals },
        "did not sign the decision: the store does not hold its transcript",
      );
      const { phase, round, holds } = effect;
      if (holds !== undefined) this.say({ kind: "send", phase, round, payload: holds.otherwise });
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
      protocol: this.host.protocol.code,
      phase: effect.phase,
      round: effect.round,
      seat: this.context.self,
      payloadDigest: digestOf(payload),
    };
    const before = this.host.signed(header);
    if (before !== undefined && before.header.payloadDigest !== header.payloadDigest) {
      this.ports.log.error(
        { ...tagOf(this.context), phase: effect.phase, round: effect.round },
        "refused to sign a second payload for one slot",
      );
      return;
    }
    const message = { header, payload, signature: signer.sign(messageDigest(this.attempt, header)) };
    const bytes = encodeMessage(message).length;
    if (bytes <= messageBytesIn(effect.phase)) this.host.enqueue({ kind: "message", message });
    else
      this.ports.log.error(
        { ...tagOf(this.context), phase: effect.phase, round: effect.round, bytes },
        "own message is too long for its peers: not sent",
      );
  }

  /** Others may have to load the block when they vote on a transcript. */
  keepBlock(message: Message): void {
    this.keeping
      .begin(encodeMessage(message))
      .catch((error: unknown) => this.warn(error, "could not store a message block"));
  }

  private async ask(effect: Extract<Effect, { kind: "ask" }>): Promise<void> {
    const { signal, cancel } = this.deadline(this.context.timing.phaseMs);
    const seed = Number.parseInt(digestOf({ ask: effect.ask, secret: this.context.secret }).slice(2, 9), 16);
    const budget = this.ports.budget.open();
    let observation: Observation;
    try {
      const response = await this.answerTo(effect.prompt, { seed, budget }, signal);
      const fields = Object.fromEntries(
        Object.entries(response.fields).map(([name, text]) => [name, composeText(text)]),
      );
      const confidence = response.confidencePpm as Ppm | null;
      const { origin } = response;
      observation = { kind: "answered", fields, confidence, ...(origin && { origin: tidyOrigin(origin) }) };
    } catch (error) {
      this.warn(error, "model call failed: abstaining");
      observation = { kind: "failed", reason: failureOf(error) };
    } finally {
      cancel();
    }
    this.host.enqueue({ kind: "observed", ask: effect.ask, observation, tokens: budget.spent() });
  }

  /** P9: asks once more with what peers wrote cut short, if that may be why there is no answer. */
  private async answerTo(
    prompt: Prompt,
    call: Pick<ModelRequest, "seed" | "budget">,
    signal: AbortSignal,
  ): Promise<ModelResponse> {
    const { system, user, schema, confidenceOf } = prompt;
    const request = { system, user, schema, confidenceOf, maxTokens: limits.modelOutputTokens, ...call };
    try {
      return await this.ports.model.ask(request, signal);
    } catch (error) {
      const again = shortened(prompt, failureOf(error));
      if (again === null) throw error;
      this.warn(error, "model call failed: asking again with peers' texts cut short");
      return await this.answerTo(again, call, signal);
    }
  }

  private arm(timer: string, delayMs: number): void {
    const cancel = this.ports.clock.schedule(delayMs, () => {
      this.timers.delete(cancel);
      this.host.enqueue({ kind: "elapsed", timer });
    });
    this.timers.add(cancel);
  }

  private async load(effect: Extract<Effect, { kind: "load" }>): Promise<void> {
    this.host.enqueue({ kind: "loaded", root: effect.root, blocks: await this.loader.load(effect.blocks) });
  }

  /** The asker chose what is fetched: other blocks than documents are as good as none. */
  private async fetch(effect: Extract<Effect, { kind: "fetch" }>): Promise<void> {
    // What is found has to be said before the phase ends, even if the rest is not.
    const { signal, cancel } = this.deadline(this.context.timing.phaseMs / 2);
    const fetchOne = async (digest: Digest): Promise<Uint8Array | null> => {
      const block = await this.ports.store.get(digest, signal).catch(() => null);
      return block !== null && readDocument(digest, block) !== null ? block : null;
    };
    const blocks = await Promise.all(effect.blocks.map(fetchOne));
    cancel();
    const missing = blocks.filter((block) => block === null).length;
    if (missing > 0) this.warn(new Error(`${missing} of ${blocks.length}`), "could not get documents of the question");
    this.host.enqueue({ kind: "fetched", fetch: effect.fetch, blocks });
  }

  /** Aborts when the session closes or the time is up. */
  private deadline(delayMs: number): { readonly signal: AbortSignal; readonly cancel: () => void } {
    const timeout = new AbortController();
    const cancel = this.ports.clock.schedule(delayMs, () => timeout.abort());
    return { signal: AbortSignal.any([this.host.signal, timeout.signal]), cancel };
  }

  private async settle(effect: Extract<Effect, { kind: "certified" }>): Promise<void> {
    try {
      await this.inTime(this.keeping.hold(effect.certificate.decision.transcript, effect.blocks));
    } catch (error) {
      this.warn(error, "could not pin the transcript");
    }
    this.host.events.onCertified(effect.certificate);
  }

  /** Waits for a certify time-out at most; the work goes on. */
  private async inTime(work: Promise<void>): Promise<void> {
    const { certifyMs } = this.context.timing;
    const { signal, cancel } = this.deadline(certifyMs);
    const late = new Promise<never>((_, reject) => {
      const giveUp = (): void => reject(new Error(`not done within ${certifyMs} ms`));
      if (signal.aborted) giveUp();
      signal.addEventListener("abort", giveUp, { once: true });
    });
    try {
      await Promise.race([work, late]);
    } finally {
      cancel();
    }
  }

  /** Nobody waits for it, so nobody else would see it fail. */
  private background(work: Promise<void>): void {
    work.catch((error: unknown) => this.host.broken(error));
  }

  private warn(error: unknown, message: string): void {
    if (!this.host.signal.aborted) this.ports.log.warn({ ...tagOf(this.context), error: messageOf(error) }, message);
  }
}

/** Messages of this attempt that a transcript may hold. */
function isTranscribed(protocol: Protocol, attempt: Attempt): (message: Message) => boolean {
  return ({ header, payload }) =>
    header.requestId === attempt.request.id &&
    header.attempt === attempt.attempt &&
    protocol.rejectPayload(attempt, header, payload) === null;
}

/** Where a log line belongs. */
export function tagOf({ attempt, self }: SeatContext): {
  readonly requestId: string;
  readonly attempt: number;
  readonly seat: number;
} {
  return { requestId: attempt.request.id.toString(), attempt: attempt.attempt, seat: self };
}

/** Why a model call has no answer. */
function failureOf(error: unknown): string {
  return error instanceof ConclaveError ? String(error.data["kind"] ?? error.code) : "crashed";
}
