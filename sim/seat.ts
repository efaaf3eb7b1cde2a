import { sha256 } from "../agents/core/encoding/bytes.ts";
import { PROMPT_SETS, type PromptSet } from "../agents/core/prompts/prompt.ts";
import { CRITERIA, TOTAL_MAX } from "../agents/core/phases/scores.ts";
import type { MemoryHub } from "../agents/adapters/memory/network.ts";
import type { Digest, Header, Message, SeatIndex } from "../agents/core/types.ts";
import type { SessionPorts } from "../agents/node/seat/host.ts";
import { createIngress, type Sink } from "../agents/node/seat/ingress.ts";
import { createInputReader } from "../agents/node/seat/records.ts";
import { createResend } from "../agents/node/seat/resend.ts";
import { openSession, type Session } from "../agents/node/seat/session.ts";
import { createRequestBudget } from "../agents/node/seat/token-budget.ts";
import type { Clock } from "../agents/ports/clock.ts";
import type { Log } from "../agents/ports/log.ts";
import type { Network } from "../agents/ports/network.ts";
import { misbehave } from "./byzantine/index.ts";
import { deceiving } from "./byzantine/deceiving.ts";
import { misreading } from "./byzantine/misreading.ts";
import { createSimDisk } from "./disk.ts";
import { createLife, type Life } from "./life.ts";
import type { Links } from "./links.ts";
import { simSourceReader } from "./source-reader.ts";
import { isDataQuestion } from "./sources.ts";
import { honestModel, readPrompt, sourcesIn, type ForeignModels } from "./model.ts";
import type { CrashPlan, Plan } from "./plan.ts";
import type { Random } from "./random.ts";
import type { RecordedSeat, Recorder } from "./recorder.ts";
import { simSigner } from "./signer.ts";
import { createMemorySourceReader } from "../agents/adapters/memory/source-reader.ts";
import { createSimStore, type SharedBlocks } from "./store.ts";
import type { Watch } from "./watch.ts";

/** What all seats of a world share. */
export interface World {
  readonly plan: Plan;
  readonly clock: Clock;
  readonly hub: MemoryHub;
  readonly links: Links;
  readonly content: SharedBlocks;
  readonly random: Random;
  readonly recorder: Recorder;
  readonly watch: Watch;
  /** Null = simulated ones. */
  readonly models: ForeignModels | null;
  readonly fail: (error: Error) => void;
}

/** One agent and its disk, which survives its crashes. */
export interface SimSeat {
  readonly seat: SeatIndex;
  start(): void;
  silent(): string | null;
  backlog(): number;
  journalBytes(): number;
  /** Returns the journal's messages in these slots, without those that came when the seat was done or nearly done. */
  took(slots: ReadonlySet<string>): ReadonlyMap<string, readonly Message[]>;
  readonly blocks: ReadonlyMap<Digest, Uint8Array>;
}

/** Time until an append is durable; a crash may come in between. */
const SYNC_MS = 2;

export function createSeat(world: World, seat: SeatIndex): SimSeat {
  const { plan, recorder, clock, random } = world;
  const disk = createSimDisk();
  const blocks = new Map((plan.documents ?? []).map((block): [Digest, Uint8Array] => [sha256(block), block]));
  const crashes: CrashPlan[] = [...(plan.crashes.get(seat) ?? [])];
  const mayCrash = crashes.length > 0;
  const model =
    world.models?.of(seat, clock) ??
    honestModel(plan, PROMPT_SETS[seat % 2] as PromptSet, clock, random.fork(`model ${seat}`), (kind) =>
      recorder.count(`model ${kind}`),
    );
  const reading = random.fork(`reading ${seat}`);
  let sessions: readonly Session[] = [];

  const start = (): void => {
    run().catch(world.fail);
  };

  const run = async (): Promise<void> => {
    const network = world.links.wrap(seat, world.hub.join(addressOf(plan, seat)));
    const crash = crashes.shift();
    let effects = 0;
    const life = createLife(() => {
      if (crash === undefined || ++effects < crash.afterEffects || clock.now() >= plan.healAt) return;
      life.end();
      recorder.count("crash");
      if (disk.crash(crash.survivingTail) > 0) recorder.count("lost tail");
      sessions = [];
      world.content.holders.delete(seat);
      void network.close();
      clock.schedule(Math.min(crash.downMs, plan.healAt - clock.now()), start);
    });
    world.content.holders.set(seat, blocks);
    const store = createSimStore(world.content, clock, seat, blocks);
    const ports: SessionPorts = {
      network,
      store,
      sources:
        plan.sources === undefined
          ? createMemorySourceReader(store)
          : simSourceReader(plan.sources, seat, {
              clock,
              recorder,
              latencyMs: () => 1 + reading.below(2 * plan.latencyMs),
            }),
      model: recordedModel(world, seat, model),
      budget: createRequestBudget(plan.tokensPerRequest ?? Infinity),
      signer: simSigner(seat),
      journal: disk.open(clock, mayCrash ? SYNC_MS : 0),
      clock: skewedClock(clock, plan.speedPpm[seat] as number),
      log: quietLog,
    };
    sessions = await connect(world, seat, life, ports, network);
  };

  return {
    seat,
    start,
    blocks,
    silent: () => sessions.map((session) => session.silent()).find((reason) => reason !== null) ?? null,
    backlog: () => sessions.reduce((sum, session) => sum + session.backlog().length, 0),
    journalBytes: () => disk.bytes,
    took(slots) {
      const { certificates, takenAt } = recorder.seats[seat] as RecordedSeat;
      const until = (certificates[0]?.at ?? Infinity) - 2 * SYNC_MS;
      return messagesIn(disk.records, slots, (message) => (takenAt.get(message.signature) ?? 0) < until);
    },
  };
}

/** Wires sessions, ingress and resending as agents/node/agent.ts does; a Byzantine seat may run two. */
async function connect(
  world: World,
  seat: SeatIndex,
  life: Life,
  ports: SessionPorts,
  network: Network,
): Promise<readonly Session[]> {
  const { plan, recorder } = world;
  const kind = plan.byzantine.get(seat) ?? null;
  const guarded = life.guard(ports);
  const random = world.random.fork(`byzantine ${seat}`);
  const lives = kind === null ? [guarded] : await misbehave(kind, guarded, { plan, seat, recorder, random });
  const opened: Session[] = [];
  const lifetime = new AbortController();
  for (const own of lives) {
    const ingress = createIngress(own.log, own.clock);
    const resend = createResend(own, lifetime.signal);
    const mine: Session[] = [];
    own.network.onFrame((from, frame) => ingress.receive(from, frame));
    own.network.onConnect((peer) => resend(peer, mine));
    if (own === lives[0]) network.setPeers(peersOf(plan));
    const watched = world.watch.session(seat, plan.protocol, own.signer);
    const sessionPorts = { ...own, signer: watched.signer };
    const liar = isDataQuestion(plan.attempt) ? misreading : deceiving;
    const protocol =
      kind === null || plan.sources === undefined
        ? watched.protocol
        : liar(watched.protocol, plan.sources, { plan, seat, recorder, random: random.fork("sources") });
    const session = await openSession(protocol, plan.attempt, seat, plan.timing, sessionPorts, {
      onBroadcast: () => {},
      onCertified: (certificate) => recorder.certified(seat, certificate),
      onEvidence: (evidence) => recorder.evidence(seat, evidence),
      onConflict: (conflict) => recorder.conflict(seat, conflict),
      onUnread: () => {},
      onSilence: () => {},
    });
    if (!life.alive()) return [];
    mine.push(session);
    opened.push(session);
    ingress.opened(observed(world, seat, session));
  }
  return opened;
}

function observed({ recorder }: World, seat: SeatIndex, session: Session): Sink {
  return {
    attempt: session.attempt,
    wants: (header: Header) => session.wants(header),
    refuses: (message: Message) => session.refuses(message),
    deliver(message: Message) {
      recorder.delivered(seat, message);
      session.deliver(message);
    },
  };
}

function recordedModel(world: World, seat: SeatIndex, model: SessionPorts["model"]): SessionPorts["model"] {
  return {
    ...model,
    async ask(request, signal) {
      world.recorder.asked(seat);
      for (const { place, text } of sourcesIn(readPrompt(request.user)))
        world.recorder.shown(seat, { source: place, text });
      const response = await model.ask(request, signal);
      const { answer, derived } = response.fields;
      if (answer !== undefined) world.recorder.answered(seat, answer);
      // P10: a verifier that derives an answer accepts that one; it states no verdict.
      const accepted = isApproval(response.fields) ? readPrompt(request.user).get("answer") : derived;
      if (accepted !== undefined) world.recorder.approved(seat, accepted);
      return response;
    },
  };
}

/** True for an accepting verdict, and for marks above the middle. */
function isApproval(fields: Readonly<Record<string, string>>): boolean {
  const marks = CRITERIA.map((name) => Number(fields[name] ?? Number.NaN));
  return fields["verdict"] === "accept" || marks.reduce((sum, mark) => sum + mark, 0) > TOTAL_MAX / 2;
}

function messagesIn(
  records: readonly Uint8Array[],
  slots: ReadonlySet<string>,
  isMeant: (message: Message) => boolean,
): ReadonlyMap<string, readonly Message[]> {
  const found = new Map<string, Message[]>();
  const read = createInputReader();
  // The first record names the attempt.
  for (const record of records.slice(1)) {
    const input = read(record);
    if (input?.kind !== "message" || !isMeant(input.message)) continue;
    const { phase, round, seat } = input.message.header;
    const slot = `${phase}.${round}.${seat}`;
    if (slots.has(slot)) found.set(slot, [...(found.get(slot) ?? []), input.message]);
  }
  return found;
}

function peersOf(plan: Plan): Parameters<Network["setPeers"]>[0] {
  return plan.attempt.committee.map(({ signer }, seat) => ({
    signer,
    publicKey: simSigner(seat).publicKey,
    multiaddrs: ["/memory"],
  }));
}

function addressOf(plan: Plan, seat: SeatIndex): SessionPorts["signer"]["address"] {
  return (plan.attempt.committee[seat] as { readonly signer: SessionPorts["signer"]["address"] }).signer;
}

/** Returns a clock whose timers run at another speed. */
function skewedClock(clock: Clock, speedPpm: number): Clock {
  if (speedPpm === 1_000_000) return clock;
  return {
    now: () => Math.floor((clock.now() * speedPpm) / 1_000_000),
    schedule: (afterMs, callback) => clock.schedule(Math.ceil((afterMs * 1_000_000) / speedPpm), callback),
  };
}

const quietLog: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
