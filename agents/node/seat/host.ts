import { messageOf } from "../../core/errors.ts";
import type { Input, Protocol, SeatContext } from "../../core/protocol.ts";
import type { Certificate, DecisionConflict, Evidence, Header, Message } from "../../core/types.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ContentStore } from "../../ports/content-store.ts";
import type { Journal } from "../../ports/journal.ts";
import type { Log } from "../../ports/log.ts";
import type { Model } from "../../ports/model.ts";
import type { Network } from "../../ports/network.ts";
import type { SourceReader } from "../../ports/source-reader.ts";
import type { Signer } from "../../ports/signer.ts";
import type { Outbox } from "./outbox.ts";
import type { RequestBudget } from "./token-budget.ts";

export interface SessionPorts {
  readonly network: Network;
  readonly store: ContentStore;
  readonly sources: SourceReader;
  readonly model: Model;
  /** P8: the request's budget; all calls of the session draw on it. */
  readonly budget: RequestBudget;
  readonly signer: Signer;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: Log;
}

/** What a session tells the agent. */
export interface SessionEvents {
  readonly onCertified: (certificate: Certificate) => void;
  /** LV2: the message is broadcast: this seat has sent it, or has it from another seat. */
  readonly onBroadcast: (message: Message) => void;
  readonly onEvidence: (evidence: Evidence) => void;
  readonly onConflict: (conflict: DecisionConflict) => void;
  /** The model's answer is no answer of the question's kind. */
  readonly onUnread: () => void;
  /** The seat was asked, and tells the others that it has no answer. */
  readonly onSilence: () => void;
}

/** AV6: how often a seat did not sign a decision because its store did not hold the transcript, and what failed last. */
export interface Withheld {
  readonly times: number;
  readonly error: string;
}

/** The session as its effects see it. */
export interface EffectHost {
  readonly protocol: Protocol;
  readonly context: SeatContext;
  readonly ports: SessionPorts;
  readonly events: SessionEvents;
  readonly outbox: Outbox;
  /** Aborts when the session ends. */
  readonly signal: AbortSignal;
  enqueue(input: Input): void;
  /** Returns what this seat has signed for the place. */
  signed(header: Header): Message | undefined;
  /** Reports an effect that failed in a way that no code expects. */
  broken(error: unknown): void;
}

export interface TimeLimit {
  readonly signal: AbortSignal;
  readonly cancel: () => void;
}

/** Aborts when the session closes or the time is up. */
export function timeLimit({ ports, signal }: EffectHost, afterMs: number): TimeLimit {
  const timeout = new AbortController();
  const cancel = ports.clock.schedule(afterMs, () => timeout.abort());
  return { signal: AbortSignal.any([signal, timeout.signal]), cancel };
}

/** Logs a failure, unless the session has closed. */
export function logFailure({ context, ports, signal }: EffectHost, error: unknown, message: string): void {
  if (!signal.aborted) ports.log.warn({ ...tagOf(context), error: messageOf(error) }, message);
}

/** Where a log line belongs. */
export function tagOf({ attempt, self }: SeatContext): {
  readonly requestId: string;
  readonly attempt: number;
  readonly seat: number;
} {
  return { requestId: attempt.request.id.toString(), attempt: attempt.attempt, seat: self };
}
