import { cidString } from "../core/encoding/codec.ts";
import { ConclaveError, messageOf } from "../core/errors.ts";
import { seatsOf } from "../core/seat/order.ts";
import type { Protocol } from "../core/protocol.ts";
import { protocolByCode } from "../core/protocols/index.ts";
import type {
  Address,
  Attempt,
  Certificate,
  DecisionConflict,
  Evidence,
  RequestId,
  Round,
  SeatIndex,
} from "../core/types.ts";
import { createCommitter, type Committer } from "./request/committer.ts";
import { relay } from "./request/relayer.ts";
import type { ChainEvent, CommittedDecision } from "../core/request/events.ts";
import type { ChainReader, ChainWriter, Cursor, TransactionReader } from "../ports/chain.ts";
import type { Clock } from "../ports/clock.ts";
import { applyEvent, isAttemptOver, isFinal, type Progress } from "../core/request/progress.ts";
import type { ContentStore } from "../ports/content-store.ts";
import type { EvidenceStore } from "../ports/evidence.ts";
import type { JournalFactory } from "../ports/journal.ts";
import type { Log } from "../ports/log.ts";
import type { AgentFacts, AttemptOutcome, RelayOutcome } from "../ports/metrics.ts";
import type { Model } from "../ports/model.ts";
import type { Network } from "../ports/network.ts";
import type { Signer } from "../ports/signer.ts";
import { announcementTopic, encodeAnnouncement } from "./announcement.ts";
import type { AgentTiming } from "./config.ts";
import { openCursor, type StoredCursor } from "./cursor.ts";
import type { Withheld } from "./seat/effects.ts";
import { createEvidenceKeeper, type EvidenceKeeper } from "./request/evidence.ts";
import { createIngress, type Ingress } from "./seat/ingress.ts";
import { createKeeper, type Keeper } from "./request/keeper.ts";
import { persistently } from "./persist.ts";
import { createResend } from "./seat/resend.ts";
import { openSession, type Session } from "./seat/session.ts";
import { createRequestBudget, type RequestBudget } from "./seat/token-budget.ts";

export interface AgentPorts {
  readonly chain: ChainReader;
  readonly writer: ChainWriter;
  readonly transactions: Pick<TransactionReader, "certificate">;
  readonly network: Network;
  readonly store: ContentStore;
  readonly model: Model;
  readonly signer: Signer;
  readonly journals: JournalFactory;
  readonly evidence: EvidenceStore;
  readonly clock: Clock;
  readonly log: Log;
}

export interface AgentStatus {
  readonly signer: Address;
  readonly peers: readonly Address[];
  /** Duties whose attempt has no decision yet. */
  readonly seats: readonly {
    readonly requestId: string;
    readonly attempt: number;
    readonly seat: number;
    /** Why the seat fell silent, e.g. a disk that takes no more; null while it serves. */
    readonly silent: string | null;
    /** How often it did not sign because its store did not hold the transcript, and why; null while it always could. */
    readonly withheld: Withheld | null;
  }[];
}

export interface Agent {
  /**
   * Serves until the signal aborts; rejects only on what an operator must mend. `opened` runs once the journals are this
   * process's own, so that a second process for the same agent changes nothing.
   */
  run(signal: AbortSignal, opened?: () => Promise<void>): Promise<void>;
  status(): AgentStatus;
  facts(): AgentFacts;
}

interface Duty {
  readonly session: Session;
  readonly seat: SeatIndex;
}

/** A seat of an attempt, and the round that the attempt is in. */
interface Place {
  readonly attempt: Attempt;
  readonly round: Round;
  readonly seat: SeatIndex;
}

interface Batch {
  readonly events: readonly ChainEvent[];
  readonly cursor: Cursor;
}

/**
 * A restart looks so far back for final requests that nobody has settled: a week of twelve-second blocks, the longest period
 * of a request, and 26 calls for logs at the usual range. What is older waits for `conclave agent claim`.
 */
const LOOK_BACK_BLOCKS = 50_400n;

/** An agent: follows the chain, sits on committees, relays certificates, keeps requests moving. */
export function createAgent(ports: AgentPorts, timing: AgentTiming, tokensPerRequest: number): Agent {
  return new RunningAgent(ports, timing, tokensPerRequest);
}

class RunningAgent implements Agent {
  private readonly ports: AgentPorts;
  private readonly timing: AgentTiming;
  private readonly tokensPerRequest: number;
  private readonly ingress: Ingress;
  private readonly keeper: Keeper;
  private readonly evidence: EvidenceKeeper;
  private readonly committer: Committer;
  private readonly lifetime = new AbortController();
  /** Of the requests that are not final. */
  private readonly progresses = new Map<RequestId, Progress>();
  /** P8: of the requests that are not final and that this agent sits or sat on. */
  private readonly budgets = new Map<RequestId, RequestBudget>();
  private readonly duties = new Map<RequestId, Duty>();
  /** Journals of requests, those of earlier runs included. */
  private readonly requestJournals = new Set<string>();
  private readonly attempts: Record<AttemptOutcome, number> = { decided: 0, hung: 0, left: 0 };
  private readonly relays: Record<RelayOutcome, number> = { committed: 0, already: 0, refused: 0 };
  /** Of the seats that were left. */
  private withheld = 0;
  private followed: AgentFacts["chain"] = null;

  constructor(ports: AgentPorts, timing: AgentTiming, tokensPerRequest: number) {
    this.ports = ports;
    this.timing = timing;
    this.tokensPerRequest = tokensPerRequest;
    this.ingress = createIngress(ports.log, ports.clock);
    this.keeper = createKeeper(ports, timing.relayStaggerMs, this.lifetime.signal);
    this.committer = createCommitter(ports, timing.relayBatchMs, this.lifetime.signal);
    this.evidence = createEvidenceKeeper(ports, timing.relayStaggerMs, this.lifetime.signal);
  }

  async run(signal: AbortSignal, opened?: () => Promise<void>): Promise<void> {
    const { chain, journals, network, log } = this.ports;
    signal.addEventListener("abort", () => this.lifetime.abort(signal.reason), { once: true });
    if (signal.aborted) this.lifetime.abort(signal.reason);
    const cursor = await openCursor(journals);
    for (const name of await journals.list()) if (name.startsWith("request-")) this.requestJournals.add(name);
    const resend = createResend(this.ports, this.lifetime.signal);
    const unsubscribe = [
      network.onFrame((from, frame) => this.ingress.receive(from, frame)),
      network.onConnect((peer) =>
        resend(
          peer,
          [...this.duties.values()].map(({ session }) => session),
        ),
      ),
      // Agents relay announcements, so that an observer may attach to any of them.
      network.onAnnouncement(announcementTopic(chain.domain), (data) =>
        log.debug({ bytes: data.length }, "a transcript was announced"),
      ),
    ];
    const onBatch = async (batch: Batch): Promise<void> => {
      // Once, however many agents changed: it reads the registry as it is now.
      if (batch.events.some(({ kind }) => kind === "agentsChanged")) await this.persistently(() => this.refreshPeers());
      for (const event of batch.events) await this.guarded(event, cursor);
      if (this.lifetime.signal.aborted) return;
      this.followed = { blockNumber: batch.cursor.blockNumber, atMs: this.ports.clock.now() };
      const unsettled = this.keeper.unsettled(batch.cursor.blockNumber - LOOK_BACK_BLOCKS);
      await cursor.advance(batch.cursor, openRequests(batch.events), [...this.progresses.keys(), ...unsettled]);
    };
    try {
      await opened?.();
      void this.evidence.resume();
      await this.persistently(() => this.refreshPeers());
      await chain.follow(cursor.position, onBatch, this.lifetime.signal, (error) =>
        log.warn({ error: error.message }, "chain trouble"),
      );
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      this.lifetime.abort();
      for (const off of unsubscribe) off();
      for (const { session } of this.duties.values()) await session.close();
      await cursor.close();
    }
  }

  status(): AgentStatus {
    return {
      signer: this.ports.signer.address,
      peers: this.ports.network.connected(),
      seats: [...this.duties].map(([requestId, duty]) => ({
        requestId: requestId.toString(),
        attempt: duty.session.attempt.attempt,
        seat: duty.seat,
        silent: duty.session.silent(),
        withheld: duty.session.withheld(),
      })),
    };
  }

  facts(): AgentFacts {
    const sessions = [...this.duties.values()].map(({ session }) => session);
    return {
      peers: this.ports.network.connected().length,
      seats: sessions.length,
      silentSeats: sessions.filter((session) => session.silent() !== null).length,
      attempts: { ...this.attempts },
      relays: { ...this.relays },
      withheld: sessions.reduce((sum, session) => sum + (session.withheld()?.times ?? 0), this.withheld),
      chain: this.followed,
    };
  }

  /** A hostile or unlucky request must not stop the others; what an operator must mend does. */
  private async guarded(event: ChainEvent, cursor: StoredCursor): Promise<void> {
    try {
      await this.persistently(() => this.handle(event, cursor));
    } catch (error) {
      if (this.lifetime.signal.aborted) return;
      if (error instanceof ConclaveError && error.code === "JOURNAL_LOCKED") throw error;
      this.ports.log.error({ event: event.kind, error: messageOf(error) }, "could not handle a chain event");
    }
  }

  /** An event comes once, so a node that is away for a moment must not swallow it. */
  private persistently(action: () => Promise<void>): Promise<void> {
    return persistently(this.ports, this.lifetime.signal, action);
  }

  private async handle(event: ChainEvent, cursor: StoredCursor): Promise<void> {
    switch (event.kind) {
      case "agentsChanged":
        return; // Once for the whole batch.
      case "committeeDrawn": {
        const progress = this.see(event.requestId, event);
        if (progress === null) return;
        const { request } = progress;
        const { attempt, committee } = event;
        await this.takeSeat({ domain: this.ports.chain.domain, request, attempt, committee }, progress.round, cursor);
        return;
      }
      case "decisionCommitted":
      case "decisionFinalized":
      case "requestRefunded": {
        const progress = this.see(event.requestId, event);
        if (event.kind === "decisionCommitted") this.compare(event);
        await this.leaveSeat(event.requestId, event.kind);
        // A request whose beginning was not seen is kept by nobody's cursor.
        if (progress === null || isFinal(progress)) this.retireJournals(event.requestId, event.blockNumber, cursor);
        return;
      }
      case "requested":
        this.see(event.request.id, event);
        return;
      case "requestReopened":
        this.see(event.requestId, event);
        // Of a committee that was replaced for its silence; of one that decided it has been left already.
        await this.leaveSeat(event.requestId, event.kind);
        return;
      default:
        this.see(event.requestId, event);
    }
  }

  /** Where the request is after the event; null when it was not seen from its beginning. */
  private see(requestId: RequestId, event: ChainEvent): Progress | null {
    const progress = applyEvent(this.progresses.get(requestId) ?? null, event);
    if (progress === null) return null;
    if (isFinal(progress)) {
      this.progresses.delete(requestId);
      this.budgets.delete(requestId);
    } else this.progresses.set(requestId, progress);
    this.keeper.see(progress, event.blockNumber);
    return progress;
  }

  private async takeSeat(attempt: Attempt, round: Round, cursor: StoredCursor): Promise<void> {
    const { request } = attempt;
    const { chain, log, signer } = this.ports;
    const seat = seatsOf(attempt).find((one) => attempt.committee[one]?.signer === signer.address);
    if (seat === undefined || this.duties.has(request.id)) return;
    const protocol = protocolByCode(request.terms.protocol);
    if (protocol === null) {
      log.warn({ requestId: request.id.toString() }, "unknown protocol: abstaining from the attempt");
      return;
    }
    const reason = protocol.refuseRequest(attempt);
    if (reason !== null) log.warn({ requestId: request.id.toString(), reason }, "the question is refused: it hangs");
    const state = await chain.requestState(request.id, this.lifetime.signal);
    // A node that has not seen the draw yet is behind the event; only what came after it is a reason to stay away.
    if (!isAttemptOver(state, attempt.attempt)) await this.openDuty(protocol, { attempt, round, seat }, cursor);
  }

  private async openDuty(protocol: Protocol, place: Place, cursor: StoredCursor): Promise<void> {
    const { journals, log } = this.ports;
    const { attempt, seat } = place;
    const requestId = attempt.request.id;
    const name = `request-${requestId}-${attempt.attempt}`;
    const journal = await journals.open(name);
    this.requestJournals.add(name);
    cursor.keep(name);
    if (journal.truncatedBytes > 0)
      log.warn({ journal: name, bytes: journal.truncatedBytes }, "journal ended in a torn record, which was dropped");
    const events = {
      onCertified: (certificate: Certificate) => void this.submit(place, certificate),
      onEvidence: (evidence: Evidence) => this.evidence.found(attempt, seat, evidence),
      onConflict: (conflict: DecisionConflict) => this.evidence.conflicting(attempt, seat, conflict),
    };
    try {
      const budget = this.budgets.get(requestId) ?? createRequestBudget(this.tokensPerRequest);
      this.budgets.set(requestId, budget);
      const ports = { ...this.ports, journal, budget };
      const session = await openSession(protocol, attempt, seat, this.timing, ports, events);
      this.duties.set(requestId, { session, seat });
      this.ingress.opened(session);
      log.info(
        { requestId: requestId.toString(), attempt: attempt.attempt, seat, protocol: protocol.id },
        "took a seat",
      );
    } catch (error) {
      await journal.close();
      throw error;
    }
  }

  /** CE18: what the chain's certificate adds to the signatures that the seat holds. */
  private compare(committed: CommittedDecision): void {
    const duty = this.duties.get(committed.requestId);
    if (duty === undefined || duty.session.attempt.attempt !== committed.decision.attempt) return;
    const { session, seat } = duty;
    this.evidence.compare(session.attempt, seat, session.signedIn(committed.decision.round), committed);
  }

  private retireJournals(requestId: RequestId, settledAt: bigint, cursor: StoredCursor): void {
    for (const name of this.requestJournals) {
      if (!name.startsWith(`request-${requestId}-`)) continue;
      this.requestJournals.delete(name);
      cursor.retire(name, settledAt);
    }
  }

  private async submit({ attempt, round, seat }: Place, certificate: Certificate): Promise<void> {
    const { chain, log, network } = this.ports;
    const { decision } = certificate;
    const requestId = attempt.request.id.toString();
    log.info(
      {
        requestId,
        status: decision.status,
        answer: decision.answer,
        round: decision.round,
        transcript: cidString(decision.transcript),
      },
      "certified",
    );
    try {
      const receipt = await relay(
        { ...this.ports, committer: this.committer, onRefused: () => this.relays.refused++ },
        attempt,
        round,
        seat,
        certificate,
        this.timing.relayStaggerMs,
        this.lifetime.signal,
      );
      this.relays[receipt === "already" ? "already" : "committed"]++;
      if (receipt !== "already")
        log.info({ requestId, transaction: receipt.transactionHash, gas: receipt.gasUsed.toString() }, "committed");
      // Not before the chain has it: whoever knows the root can read the decision, and act on it first.
      await network
        .announce(announcementTopic(chain.domain), encodeAnnouncement(attempt, decision.transcript))
        .catch((error: unknown) => log.debug({ error: messageOf(error) }, "announcement failed"));
    } catch (error) {
      if (!this.lifetime.signal.aborted) log.error({ requestId, error: messageOf(error) }, "gave up relaying");
    }
  }

  private async leaveSeat(requestId: RequestId, why: string): Promise<void> {
    const duty = this.duties.get(requestId);
    if (duty === undefined) return;
    this.duties.delete(requestId);
    this.ingress.closed(duty.session);
    this.attempts[duty.session.certified() ?? "left"]++;
    this.withheld += duty.session.withheld()?.times ?? 0;
    await duty.session.close();
    this.ports.log.info({ requestId: requestId.toString(), why }, "left the seat");
  }

  private async refreshPeers(): Promise<void> {
    const { chain, network, signer } = this.ports;
    const agents = await chain.agents(this.lifetime.signal);
    this.keeper.agents(agents.filter((agent) => agent.active));
    const others = agents.filter((agent) => agent.signer !== signer.address && agent.endpoint.length > 0);
    network.setPeers(
      others.map((agent) => ({ signer: agent.signer, publicKey: agent.publicKey, multiaddrs: agent.endpoint })),
    );
  }
}

function openRequests(events: readonly ChainEvent[]): readonly RequestId[] {
  return events.flatMap((event) => (event.kind === "requested" ? [event.request.id] : []));
}
