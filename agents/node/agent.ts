import { toldOfCertificate, toldOfEvidence, toldOfMessage, type LiveEvent } from "../core/encoding/live-events.ts";
import { ConclaveError, messageOf } from "../core/errors.ts";
import type { AwaitedRound, ChainEvent, CommittedDecision } from "../core/request/events.ts";
import {
  afterReorganization,
  applyEvent,
  awaitedOf,
  isFinal,
  type Head,
  type Progress,
} from "../core/request/progress.ts";
import type { Address, Attempt, RequestId } from "../core/types.ts";
import type { ChainReader, ChainWriter, EventBatch, TransactionReader } from "../ports/chain.ts";
import type { Clock } from "../ports/clock.ts";
import type { ContentStore } from "../ports/content-store.ts";
import type { EvidenceStore } from "../ports/evidence.ts";
import type { JournalFactory } from "../ports/journal.ts";
import type { LiveFeed } from "../ports/live-feed.ts";
import type { Log } from "../ports/log.ts";
import type { AgentFacts } from "../ports/metrics.ts";
import type { Model } from "../ports/model.ts";
import type { Network } from "../ports/network.ts";
import type { SourceReader } from "../ports/source-reader.ts";
import type { Signer } from "../ports/signer.ts";
import { announcementTopic } from "./announcement.ts";
import type { AgentTiming } from "./config.ts";
import { openCursor, type EventBlocks, type StoredCursor } from "./cursor.ts";
import { createOutage, type Outage } from "./outage.ts";
import { createPeers, type Peers } from "./peers.ts";
import { persistently, retryMs } from "./persist.ts";
import { seatedProgress } from "./request/committee.ts";
import { createEvidenceKeeper, type EvidenceKeeper } from "./request/evidence.ts";
import { createKeeper, type Keeper } from "./request/keeper.ts";
import { createRelayer, type Relayer } from "./request/relay.ts";
import { createTrails, eventsUpTo, type Trails } from "./request/trails.ts";
import { Duties, type SeatStatus } from "./seat/duties.ts";
import { createIngress, type Ingress } from "./seat/ingress.ts";
import { createResend } from "./seat/resend.ts";

export interface AgentPorts {
  readonly chain: ChainReader;
  readonly writer: ChainWriter;
  readonly transactions: Pick<TransactionReader, "certificate">;
  readonly network: Network;
  readonly store: ContentStore;
  readonly sources: SourceReader;
  readonly model: Model;
  readonly signer: Signer;
  readonly journals: JournalFactory;
  readonly evidence: EvidenceStore;
  /** LV4: absent unless the operator lets others watch. */
  readonly live?: LiveFeed;
  readonly clock: Clock;
  readonly log: Log;
}

export interface AgentStatus {
  readonly signer: Address;
  readonly peers: readonly Address[];
  /** Seats whose attempt has no decision yet. */
  readonly seats: readonly SeatStatus[];
}

export interface Agent {
  /**
   * Serves until the signal aborts; rejects only if an operator has to act. `opened` runs once this process holds the
   * journals' lock, so that a second process for the same agent changes nothing, and again while the chain does not answer or its gas is too dear.
   */
  run(signal: AbortSignal, opened?: () => Promise<void>): Promise<void>;
  status(): AgentStatus;
  facts(): AgentFacts;
}

/**
 * How far a restart looks back for final requests that nobody has settled: a week of twelve-second blocks, which is the
 * longest period of a request, in 26 calls for logs at the usual range. `conclave agent claim` settles older requests.
 */
const LOOK_BACK_BLOCKS = 50_400n;
/** SE27: blocks above the replaced ones after which all nodes behind a URL show the new chain. */
const SETTLING_BLOCKS = 16n;
/** Requests that have waited and are read at once at a restart. */
const FOUND_AT_ONCE = 32;

/** Creates an agent: it follows the chain, sits on committees, relays certificates and keeps requests moving. */
export function createAgent(ports: AgentPorts, timing: AgentTiming, tokensPerRequest: number): Agent {
  return new RunningAgent(ports, timing, tokensPerRequest);
}

class RunningAgent implements Agent {
  private readonly ports: AgentPorts;
  private readonly ingress: Ingress;
  private readonly keeper: Keeper;
  private readonly evidence: EvidenceKeeper;
  private readonly relayer: Relayer;
  private readonly duties: Duties;
  private readonly peers: Peers;
  private readonly lifetime = new AbortController();
  /** Progress of the requests that are not final. */
  private readonly progresses = new Map<RequestId, Progress>();
  private readonly trails: Trails = createTrails();
  /** Requests whose seats this agent could not take, or had to take again, with the time before which it does not try again. */
  private readonly retries = new Map<RequestId, { readonly failures: number; readonly againAtMs: number }>();
  private readonly storing: Outage;
  private followed: AgentFacts["chain"] = null;
  /** SE27: the block until which decisions are looked for that the latest reorganization has taken back. */
  private unsettledUntil = -1n;

  constructor(ports: AgentPorts, timing: AgentTiming, tokensPerRequest: number) {
    const lifetime = this.lifetime.signal;
    const ingress = createIngress(ports.log, ports.clock);
    const evidence = createEvidenceKeeper(ports, timing.relayStaggerMs, lifetime);
    const relayer = createRelayer(ports, timing, lifetime);
    const tellLive = (attempt: Attempt, event: LiveEvent | null): void => {
      if (event !== null) ports.live?.tell(attempt, event);
    };
    this.ports = ports;
    this.storing = createOutage(ports.log, {
      began: "could not store how far the chain was followed; trying again after every block",
      ended: "stored how far the chain was followed",
    });
    this.ingress = ingress;
    this.evidence = evidence;
    this.relayer = relayer;
    this.keeper = createKeeper(ports, timing, lifetime);
    this.peers = createPeers(ports.network, ports.signer.address);
    this.duties = new Duties(ports, {
      timing,
      tokensPerRequest,
      ingress,
      lifetime,
      onSeats: (attempts) => this.peers.seated(attempts.map(({ committee }) => committee)),
      eventsOf: ({ attempt, awaited, seat }) => ({
        onBroadcast: (message) => tellLive(attempt, toldOfMessage(message)),
        onCertified: (certificate) => {
          tellLive(attempt, toldOfCertificate(certificate));
          void relayer.certified(attempt, awaited, seat, certificate);
        },
        onEvidence: (found) => {
          tellLive(attempt, toldOfEvidence(found));
          evidence.found(attempt, seat, found);
        },
        onConflict: (conflict) => evidence.conflicting(attempt, seat, conflict),
      }),
    });
  }

  async run(signal: AbortSignal, opened?: () => Promise<void>): Promise<void> {
    const { chain, journals, network, log } = this.ports;
    signal.addEventListener("abort", () => this.lifetime.abort(signal.reason), { once: true });
    if (signal.aborted) this.lifetime.abort(signal.reason);
    const cursor = await openCursor(journals);
    await this.duties.listJournals();
    const resend = createResend(this.ports, this.lifetime.signal);
    const unsubscribe = [
      network.onFrame((from, frame) => this.ingress.receive(from, frame)),
      network.onConnect((peer) => resend(peer, this.duties.sessions())),
      // Agents pass announcements on, so that an observer may attach to any of them.
      network.onAnnouncement(announcementTopic(chain.domain), (data) =>
        log.debug({ bytes: data.length }, "a transcript was announced"),
      ),
    ];
    const onBatch = async (batch: EventBatch): Promise<void> => {
      // Once for all changed agents, since it reads the registry's current state.
      if (batch.events.some(({ kind }) => kind === "agentsChanged")) await this.persistently(() => this.refreshPeers());
      if (this.followed !== null && batch.from <= this.followed.blockNumber) {
        for (const [requestId, progress] of this.progresses)
          this.progresses.set(requestId, afterReorganization(progress, batch.from));
        this.unsettledUntil = this.followed.blockNumber + SETTLING_BLOCKS;
      }
      for (const event of batch.events)
        await this.guarded(() => this.handle(event, cursor), `could not handle the chain event ${event.kind}`);
      await this.guarded(() => this.sit(batch.cursor.blockNumber, cursor), "could not look for seats");
      if (this.lifetime.signal.aborted) return;
      this.followed = { blockNumber: batch.cursor.blockNumber, atMs: this.ports.clock.now() };
      this.keeper.block();
      if (batch.cursor.blockNumber <= this.unsettledUntil) this.relayer.reorganized();
      const unsettled = this.keeper.unsettled(batch.cursor.blockNumber - LOOK_BACK_BLOCKS);
      const open = [...this.progresses.keys(), ...unsettled];
      await this.store(() => cursor.advance(batch.cursor, openRequests(batch.events), open, this.trails.waited(open)));
    };
    try {
      if (opened !== undefined) await this.persistently(opened);
      void this.evidence.resume();
      await this.persistently(() => this.refreshPeers());
      await this.findAgain(cursor);
      await chain.follow(cursor.position, onBatch, this.lifetime.signal, (error) =>
        log.warn({ error: error.message }, "chain trouble"),
      );
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      this.lifetime.abort();
      for (const off of unsubscribe) off();
      await this.duties.close();
      await cursor.close();
    }
  }

  status(): AgentStatus {
    const { signer, network } = this.ports;
    return { signer: signer.address, peers: network.connected(), seats: this.duties.status() };
  }

  facts(): AgentFacts {
    return {
      peers: this.ports.network.connected().length,
      ...this.duties.facts(),
      untakenSeats: [...this.retries.keys()].filter((id) => !this.duties.isHeld(id)).length,
      relays: this.relayer.counts(),
      chain: this.followed,
    };
  }

  /** Acts so that a hostile or unlucky request does not stop the others; only a lost journal lock does. */
  private async guarded(action: () => Promise<void>, failure: string): Promise<void> {
    try {
      await this.persistently(action);
    } catch (error) {
      if (this.lifetime.signal.aborted) return;
      if (isLockLost(error)) throw error;
      this.ports.log.error({ error: messageOf(error) }, failure);
    }
  }

  /** Stores the position. A full disk must not end an agent whose seats still serve: a restart only reads more blocks. */
  private async store(advance: () => Promise<void>): Promise<void> {
    try {
      await advance();
      this.storing.ended();
    } catch (error) {
      if (isLockLost(error)) throw error;
      this.storing.failed(error);
    }
  }

  /**
   * Repeats the action while the chain does not answer: an event comes only once, so a short outage must not lose it.
   */
  private persistently(action: () => Promise<void>): Promise<void> {
    return persistently(this.ports, this.lifetime.signal, action);
  }

  /** SE25: reads the requests that have waited, whose events lie before the position. */
  private async findAgain({ position, kept }: StoredCursor): Promise<void> {
    if (position === null) return;
    const { chain } = this.ports;
    const find = async ([requestId, blocks]: readonly [RequestId, EventBlocks]): Promise<void> => {
      const events = await eventsUpTo(chain, requestId, blocks, position, this.lifetime.signal);
      for (const event of events) this.see(requestId, event);
    };
    const requests = [...kept];
    for (let at = 0; at < requests.length; at += FOUND_AT_ONCE) {
      const group = requests.slice(at, at + FOUND_AT_ONCE);
      const failure = ([requestId]: readonly [RequestId, EventBlocks]): string =>
        `could not find request ${requestId} again, which has waited: other agents have to serve it`;
      await Promise.all(group.map((one) => this.guarded(() => find(one), failure(one))));
    }
  }

  private async handle(event: ChainEvent, cursor: StoredCursor): Promise<void> {
    switch (event.kind) {
      case "agentsChanged":
        return; // onBatch handles it once for the whole batch.
      case "decisionCommitted":
      case "decisionFinalized":
      case "attemptUnanswered":
      case "requestRefunded": {
        const progress = this.see(event.requestId, event);
        if (event.kind === "decisionCommitted") this.compare(event);
        await this.duties.leave(event.requestId, event.kind);
        // No cursor keeps a request whose first event was not seen.
        if (progress === null || isFinal(progress))
          this.duties.retireJournals(event.requestId, event.blockNumber, cursor);
        return;
      }
      case "requested":
        this.see(event.request.id, event);
        return;
      case "requestReopened":
        this.see(event.requestId, event);
        // Leaves the seat of a committee that was replaced for its silence; the seat of one that decided is left
        // already.
        await this.duties.leave(event.requestId, event.kind);
        return;
      default:
        this.see(event.requestId, event);
    }
  }

  /**
   * SE3: takes the seats of running attempts whose seed block is final. It names their committees; no event does before
   * their decisions. A seat whose journal failed is taken again.
   */
  private async sit(final: bigint, cursor: StoredCursor): Promise<void> {
    const now = this.ports.clock.now();
    const waiting = [...this.progresses.values()].filter(
      ({ stage, request: { id } }) =>
        (this.retries.get(id)?.againAtMs ?? 0) <= now &&
        ((stage.kind === "requested" && stage.seedBlock < final) || this.duties.isBroken(id)),
    );
    if (waiting.length === 0) return;
    const head = await this.ports.chain.head(this.lifetime.signal);
    await Promise.all(waiting.map((progress) => this.seat(progress, head, cursor)));
  }

  /**
   * Takes the seat of one running attempt. What fails, e.g. on a full disk, is tried again after a later block, with
   * back-off; only a lost journal lock ends the agent.
   */
  private async seat(progress: Progress, head: Head, cursor: StoredCursor): Promise<void> {
    const { id } = progress.request;
    const failures = this.retries.get(id)?.failures ?? 0;
    const isBroken = this.duties.isBroken(id);
    const retryLater = (): void =>
      void this.retries.set(id, { failures: failures + 1, againAtMs: this.ports.clock.now() + retryMs(failures) });
    try {
      await this.persistently(() => this.takeSeat(progress, head, cursor));
      // A journal that failed may fail again at its next record, after everything that the seat asks its model anew.
      if (isBroken) retryLater();
      else this.retries.delete(id);
    } catch (error) {
      if (this.lifetime.signal.aborted) return;
      if (isLockLost(error)) throw error;
      retryLater();
      this.ports.log.error(
        { requestId: id.toString(), attempt: progress.attempt, failures: failures + 1, error: messageOf(error) },
        "could not take a seat; trying again",
      );
    }
  }

  private async takeSeat(progress: Progress, head: Head, cursor: StoredCursor): Promise<void> {
    const seated = await seatedProgress(this.ports.chain, progress, head, this.lifetime.signal);
    if (seated.stage.kind !== "drawn") return;
    const { request, attempt, stage } = seated;
    const { domain } = this.ports.chain;
    const place = { domain, request, attempt, committee: stage.committee };
    try {
      await this.duties.take(place, awaitedOf(seated) as AwaitedRound, cursor);
    } catch (error) {
      if (!(error instanceof ConclaveError && error.code === "JOURNAL_CONFLICT")) throw error;
      // Another try would read the same journal.
      this.ports.log.error({ requestId: request.id.toString(), attempt, error: error.message }, "abstaining");
    }
    // Not before the seat is taken: `sit` passes over requests that are drawn.
    this.progresses.set(request.id, seated);
  }

  /** Returns the request's progress after the event; null if its first event was not seen. */
  private see(requestId: RequestId, event: ChainEvent): Progress | null {
    const progress = applyEvent(this.progresses.get(requestId) ?? null, event);
    if (progress === null) return null;
    this.trails.see(requestId, event, progress);
    this.retries.delete(requestId);
    if (isFinal(progress)) {
      this.progresses.delete(requestId);
      this.duties.forgetBudget(requestId);
    } else this.progresses.set(requestId, progress);
    this.keeper.see(progress, event.blockNumber);
    return progress;
  }

  /** CE18: compares the chain's certificate with the signatures that the seat holds. */
  private compare(committed: CommittedDecision): void {
    const duty = this.duties.find(committed.requestId, committed.decision.attempt);
    if (duty === null) return;
    const { attempt, seat, session } = duty;
    this.evidence.compare(attempt, seat, session.signedIn(committed.decision.round), committed);
  }

  private async refreshPeers(): Promise<void> {
    const { chain, signer } = this.ports;
    const agents = await chain.agents(this.lifetime.signal);
    this.keeper.agents(agents.filter((agent) => agent.active));
    const own = agents.find((agent) => agent.signer === signer.address);
    if (own?.asleep === true) void this.keeper.wake(own.agentId);
    this.peers.agents(agents);
  }
}

/** True if another process holds the journals: this one must not go on. */
function isLockLost(error: unknown): boolean {
  return error instanceof ConclaveError && error.code === "JOURNAL_LOCKED";
}

function openRequests(events: readonly ChainEvent[]): readonly RequestId[] {
  return events.flatMap((event) => (event.kind === "requested" ? [event.request.id] : []));
}
