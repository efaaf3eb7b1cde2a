import { hexToBytes } from "../../core/encoding/bytes.ts";
import { cidString } from "../../core/encoding/cid.ts";
import { digestOf } from "../../core/encoding/codec.ts";
import { encodeMessage, messageBytesIn } from "../../core/encoding/transcript.ts";
import { decisionDigest, messageDigest } from "../../core/encoding/typed-data.ts";
import { messageOf } from "../../core/errors.ts";
import type { Effect } from "../../core/protocol.ts";
import type { Digest, Header, Message, Value } from "../../core/types.ts";
import { timeLimit, tagOf, logFailure, type EffectHost, type Withheld } from "./host.ts";
import { createKeeping, type Keeping } from "./keeping.ts";

type Send = Extract<Effect, { kind: "send" }>;

/** What a seat signs, and the transcripts that it must hold before it signs a decision. */
export class Signing {
  private readonly host: EffectHost;
  private readonly keeping: Keeping;
  private refusals: Withheld | null = null;

  constructor(host: EffectHost) {
    this.host = host;
    this.keeping = createKeeping(host.ports.store, host.signal);
  }

  /** AV6: the signatures that this seat withheld since its start. */
  withheld(): Withheld | null {
    return this.refusals;
  }

  /**
   * AV6: sends a signature on a decision once this seat holds the whole transcript. Where that fails or takes longer than a
   * certify time-out, the seat precommits nil, so that the ballot ends and a later one finds the store or the blocks ready.
   */
  async sign(effect: Send, root: Digest): Promise<void> {
    const { context, ports, signal } = this.host;
    try {
      await this.inTime(this.keeping.hold(root, effect.holds?.blocks ?? []));
      this.say(effect);
    } catch (error) {
      if (signal.aborted) return;
      this.refusals = { times: (this.refusals?.times ?? 0) + 1, error: messageOf(error) };
      ports.log.error(
        { ...tagOf(context), round: effect.round, transcript: cidString(root), ...this.refusals },
        "did not sign the decision: the store does not hold its transcript",
      );
      const { phase, round, holds } = effect;
      if (holds !== undefined) this.say({ kind: "send", phase, round, payload: holds.otherwise });
    }
  }

  /** Signs a message and enqueues it as this seat's own input, which is journalled before it is published. */
  say(effect: Send): void {
    const { protocol, context, ports } = this.host;
    const { attempt, self } = context;
    const { signer } = ports;
    const signature =
      effect.decision === undefined
        ? {}
        : { signature: hexToBytes(signer.sign(decisionDigest(attempt, effect.decision))) };
    const payload: Value = { ...effect.payload, ...signature };
    const header: Header = {
      requestId: attempt.request.id,
      attempt: attempt.attempt,
      protocol: protocol.code,
      phase: effect.phase,
      round: effect.round,
      seat: self,
      payloadDigest: digestOf(payload),
    };
    const before = this.host.signed(header);
    if (before !== undefined && before.header.payloadDigest !== header.payloadDigest) {
      ports.log.error(
        { ...tagOf(context), phase: effect.phase, round: effect.round },
        "refused to sign a second payload for one slot",
      );
      return;
    }
    const message = { header, payload, signature: signer.sign(messageDigest(attempt, header)) };
    const bytes = encodeMessage(message).length;
    if (bytes <= messageBytesIn(effect.phase)) this.host.enqueue({ kind: "message", message });
    else
      ports.log.error(
        { ...tagOf(context), phase: effect.phase, round: effect.round, bytes },
        "own message is too long for its peers: not sent",
      );
  }

  /** Stores the block of a message that a transcript may hold: others may load it when they vote. */
  keepBlock(message: Message): void {
    this.keeping
      .begin(encodeMessage(message))
      .catch((error: unknown) => logFailure(this.host, error, "could not store a message block"));
  }

  /** Pins the certified transcript, then hands the certificate on. */
  async pinCertified({ certificate, blocks }: Extract<Effect, { kind: "certified" }>): Promise<void> {
    try {
      await this.inTime(this.keeping.hold(certificate.decision.transcript, blocks));
    } catch (error) {
      logFailure(this.host, error, "could not pin the transcript");
    }
    this.host.events.onCertified(certificate);
  }

  /** Waits for a certify time-out at most; the work goes on. */
  private async inTime(work: Promise<void>): Promise<void> {
    const { certifyMs } = this.host.context.timing;
    const { signal, cancel } = timeLimit(this.host, certifyMs);
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
}
