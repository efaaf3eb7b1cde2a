import { seatsOf } from "../../core/seat/order.ts";
import type { Protocol } from "../../core/protocol.ts";
import { protocolByCode } from "../../core/protocols/index.ts";
import { committeeHash, requestHash } from "../../core/encoding/typed-data.ts";
import type { AwaitedRound } from "../../core/request/events.ts";
import type { Attempt, RequestId, SeatIndex } from "../../core/types.ts";
import type { JournalFactory } from "../../ports/journal.ts";
import type { LiveFeed } from "../../ports/live-feed.ts";
import type { AgentFacts, AttemptEnd } from "../../ports/metrics.ts";
import type { AgentTiming } from "../config.ts";
import type { StoredCursor } from "../cursor.ts";
import type { SessionEvents, SessionPorts, Withheld } from "./host.ts";
import type { Ingress } from "./ingress.ts";
import { openSession, type Session } from "./session.ts";
import { createRequestBudget, type RequestBudget } from "./token-budget.ts";

export interface DutyPorts extends Omit<SessionPorts, "journal" | "budget"> {
  readonly journals: JournalFactory;
  /** LV4: absent unless the operator lets others watch. */
  readonly live?: LiveFeed;
}

/** A seat of an attempt, and the round that awaits the decision. */
export interface SeatPlace {
  readonly attempt: Attempt;
  readonly awaited: AwaitedRound;
  readonly seat: SeatIndex;
}

export interface Duty extends SeatPlace {
  readonly session: Session;
}

export interface SeatStatus {
  readonly requestId: string;
  readonly attempt: number;
  readonly seat: number;
  /** Why the seat fell silent, e.g. because its disk is full; null while it serves. */
  readonly silent: string | null;
  /** How often the seat did not sign because its store did not hold the transcript, and why; null if it always could. */
  readonly withheld: Withheld | null;
}

export interface DutyOptions {
  readonly timing: AgentTiming;
  readonly tokensPerRequest: number;
  readonly ingress: Ingress;
  /** Receives what the session at the place finds. */
  readonly eventsOf: (place: SeatPlace) => Omit<SessionEvents, "onUnread" | "onSilence">;
  /** Runs with all attempts in which this agent sits whenever it is about to take a seat, and when it has left one. */
  readonly onSeats: (attempts: readonly Attempt[]) => void;
  readonly lifetime: AbortSignal;
}

/** The seats that this agent holds, one per request, with the journals and token budgets of their requests. */
export class Duties {
  private readonly ports: DutyPorts;
  private readonly options: DutyOptions;
  /** P8: the budget of each request that is not final and on which this agent sits or sat. */
  private readonly budgets = new Map<RequestId, RequestBudget>();
  private readonly duties = new Map<RequestId, Duty>();
  /** Journals of requests, those of earlier runs included. */
  private readonly journals = new Set<string>();
  private readonly attempts: Record<AttemptEnd, number> = {
    decided: 0,
    hung: 0,
    unanswerable: 0,
    tooEarly: 0,
    left: 0,
  };
  /** Signatures that seats withheld before they were left. */
  private withheldBefore = 0;
  /** Answers of the model that were no answers of the question's kind. */
  private unread = 0;
  /** Times that seats were asked and said that they have no answer. */
  private silences = 0;

  constructor(ports: DutyPorts, options: DutyOptions) {
    this.ports = ports;
    this.options = options;
  }

  /** Finds the journals that earlier runs left. */
  async listJournals(): Promise<void> {
    for (const name of await this.ports.journals.list()) if (name.startsWith("request-")) this.journals.add(name);
  }

  /** Takes this agent's seat in the running attempt, if it has one and the protocol is known. */
  async take(attempt: Attempt, awaited: AwaitedRound, cursor: StoredCursor): Promise<void> {
    const { request } = attempt;
    const { log, signer } = this.ports;
    const held = this.duties.get(request.id);
    if (held !== undefined && isSame(held.attempt, attempt)) {
      if (!held.session.journalFailed()) return;
      await this.closeDuty(held, "its journal failed; it is opened again");
      // The journal tells what the seat has spent.
      this.budgets.delete(request.id);
    } else if (held !== undefined) await this.leave(request.id, "the chain names another committee");
    const seat = seatsOf(attempt).find((one) => attempt.committee[one]?.signer === signer.address);
    if (seat === undefined) return;
    const protocol = protocolByCode(request.terms.protocol);
    if (protocol === null) {
      log.warn({ requestId: request.id.toString() }, "unknown protocol: abstaining from the attempt");
      return;
    }
    const reason = protocol.refuseRequest(attempt);
    if (reason !== null)
      log.warn({ requestId: request.id.toString(), reason }, "the protocol refuses the question, so it hangs");
    await this.open(protocol, { attempt, awaited, seat }, cursor);
  }

  async leave(requestId: RequestId, why: string): Promise<void> {
    const duty = this.duties.get(requestId);
    if (duty === undefined) return;
    this.attempts[duty.session.certified() ?? "left"]++;
    await this.closeDuty(duty, why);
  }

  /** True if the agent holds a seat of the request whose journal failed. */
  isBroken(requestId: RequestId): boolean {
    return this.duties.get(requestId)?.session.journalFailed() === true;
  }

  isHeld(requestId: RequestId): boolean {
    return this.duties.has(requestId);
  }

  /** The request is final: it costs no more tokens. */
  forgetBudget(requestId: RequestId): void {
    this.budgets.delete(requestId);
  }

  retireJournals(requestId: RequestId, settledAt: bigint, cursor: StoredCursor): void {
    for (const name of this.journals) {
      if (!name.startsWith(`request-${requestId}-`)) continue;
      this.journals.delete(name);
      cursor.retire(name, settledAt);
    }
  }

  /** The seat held in this attempt of the request. */
  find(requestId: RequestId, attempt: number): Duty | null {
    const duty = this.duties.get(requestId);
    return duty?.attempt.attempt === attempt ? duty : null;
  }

  sessions(): readonly Session[] {
    return [...this.duties.values()].map(({ session }) => session);
  }

  async close(): Promise<void> {
    for (const session of this.sessions()) await session.close();
  }

  status(): readonly SeatStatus[] {
    return [...this.duties].map(([requestId, { session, seat }]) => ({
      requestId: requestId.toString(),
      attempt: session.attempt.attempt,
      seat,
      silent: session.silent(),
      withheld: session.withheld(),
    }));
  }

  facts(): Pick<AgentFacts, "seats" | "silentSeats" | "attempts" | "withheld" | "unread" | "silences"> {
    const sessions = this.sessions();
    return {
      seats: sessions.length,
      silentSeats: sessions.filter((session) => session.silent() !== null).length,
      attempts: { ...this.attempts },
      unread: this.unread,
      silences: this.silences,
      withheld: sessions.reduce((sum, session) => sum + (session.withheld()?.times ?? 0), this.withheldBefore),
    };
  }

  private async closeDuty({ attempt, session }: Duty, why: string): Promise<void> {
    const requestId = attempt.request.id;
    this.duties.delete(requestId);
    this.options.ingress.closed(session);
    this.withheldBefore += session.withheld()?.times ?? 0;
    await session.close();
    this.tellSeats();
    this.ports.live?.closed(attempt);
    this.ports.log.info({ requestId: requestId.toString(), why }, "left the seat");
  }

  private async open(protocol: Protocol, place: SeatPlace, cursor: StoredCursor): Promise<void> {
    const { journals, log } = this.ports;
    const { timing, tokensPerRequest, eventsOf, ingress } = this.options;
    const { attempt, seat } = place;
    const requestId = attempt.request.id;
    const name = `request-${requestId}-${attempt.attempt}`;
    if (cursor.hasEnded(name)) {
      // CE11: another try to sit would sign the same slots anew.
      const facts = { requestId: requestId.toString(), attempt: attempt.attempt };
      log.error(facts, "abstaining: the node shows an attempt as running that has ended, and whose journal is gone");
      return;
    }
    const journal = await journals.open(name);
    this.journals.add(name);
    cursor.keep(name);
    if (journal.truncatedBytes > 0)
      log.warn({ journal: name, bytes: journal.truncatedBytes }, "journal ended in a torn record, which was dropped");
    this.ports.live?.opened(attempt);
    try {
      const budget = this.budgets.get(requestId) ?? createRequestBudget(tokensPerRequest);
      this.budgets.set(requestId, budget);
      const ports = { ...this.ports, journal, budget };
      const events = { ...eventsOf(place), onUnread: () => void this.unread++, onSilence: () => void this.silences++ };
      // A seat speaks as it opens, and what it says waits for its connections.
      this.tellSeats(attempt);
      const session = await openSession(protocol, attempt, seat, timing, ports, events);
      this.duties.set(requestId, { ...place, session });
      ingress.opened(session);
      log.info(
        { requestId: requestId.toString(), attempt: attempt.attempt, seat, protocol: protocol.id },
        "took a seat",
      );
    } catch (error) {
      this.ports.live?.closed(attempt);
      this.tellSeats();
      await journal.close();
      throw error;
    }
  }

  private tellSeats(...opening: readonly Attempt[]): void {
    this.options.onSeats([...this.sessions().map(({ attempt }) => attempt), ...opening]);
  }
}

/** True if both are the same attempt with the same committee, which a reorganization of the chain may change. */
function isSame(one: Attempt, other: Attempt): boolean {
  return (
    one.attempt === other.attempt &&
    requestHash(one.request) === requestHash(other.request) &&
    committeeHash(one.committee) === committeeHash(other.committee)
  );
}
