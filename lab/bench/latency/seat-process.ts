// One seat in a process of its own: the session, network, journal and store of the product, and a model that answers at once.
//   node seat-process.ts SEAT SEATS FOLDER disk|memory     (a child of the bench, which talks to it)
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createSystemClock } from "../../../agents/adapters/clock/system-clock.ts";
import { createHeliaContentStore } from "../../../agents/adapters/ipfs/helia-content-store.ts";
import { createFileJournals } from "../../../agents/adapters/journal/file-journal.ts";
import { keysFromPrivateKey } from "../../../agents/adapters/keystore/keys.ts";
import { networkBounds } from "../../../agents/adapters/libp2p/bounds.ts";
import { createLibp2pNetwork } from "../../../agents/adapters/libp2p/network.ts";
import { createMemoryJournals } from "../../../agents/adapters/memory/journal.ts";
import { createMemoryModel } from "../../../agents/adapters/memory/model.ts";
import { createMemorySourceReader } from "../../../agents/adapters/memory/source-reader.ts";
import { decodeEnvelope } from "../../../agents/core/encoding/transcript.ts";
import { mbft } from "../../../agents/core/protocols/mbft/index.ts";
import { quorumOf } from "../../../agents/core/quorum.ts";
import { PRECOMMIT, PREVOTE, PROPOSE } from "../../../agents/core/seat/certify/messages.ts";
import { proposerOf } from "../../../agents/core/seat/certify/proposals.ts";
import type { Address, RequestId, SeatIndex } from "../../../agents/core/types.ts";
import { createIngress } from "../../../agents/node/seat/ingress.ts";
import { createResend } from "../../../agents/node/seat/resend.ts";
import { openSession, type Session } from "../../../agents/node/seat/session.ts";
import { createRequestBudget } from "../../../agents/node/seat/token-budget.ts";
import type { Log } from "../../../agents/ports/log.ts";
import type { Network } from "../../../agents/ports/network.ts";
import { honestMind, respond } from "../../../sim/model.ts";
import { addressOf, attemptOf, keyOf, withId } from "../../../test/support/core/committee.ts";
import { createMemoryContentStore } from "../../../test/support/memory/content-store.ts";
import { createExchange } from "./exchange.ts";
import { decodeBare, encodeBare, type FromSeat, type Sizes, type Stages, type ToSeat } from "./messages.ts";

const [, , own = "", size = "", folder = "", place = ""] = process.argv;
const seat = Number(own) as SeatIndex;
const seats = Number(size);
const quorum = quorumOf(seats);
/** No time-out ends a step: what is measured is how long it takes. */
const TIMING = { phaseMs: 120_000, graceMs: 60_000, certifyMs: 120_000, certifyDeltaMs: 10_000 };
const TRUTH = "yes";
/** Many seats that dial each other at once replace each other's connections for a while: longer than a dial may take. */
const QUIET_MS = networkBounds.openTimeoutMs + 2_000;

const keys = keysFromPrivateKey(keyOf(seat));
const clock = createSystemClock();
const silent: Log = { debug() {}, info() {}, warn() {}, error: (data, message) => console.error(message, data) };
/** When a link last came or went. */
let linkedAt = performance.now();
const libp2pNetwork = await createLibp2pNetwork({
  privateKey: keys.libp2pPrivateKey(),
  report: ({ kind }) => {
    if (kind === "linkUp" || kind === "linkDown") linkedAt = performance.now();
  },
});
const others = Array.from({ length: seats }, (_, index) => addressOf(index)).filter((other) => other !== keys.address);
const ingress = createIngress(silent, clock);
await mkdir(join(folder, "journals"), { recursive: true });
const isOnDisk = place === "disk";
const journals = isOnDisk ? createFileJournals(join(folder, "journals")) : createMemoryJournals();
const store = isOnDisk
  ? await createHeliaContentStore({ libp2p: libp2pNetwork.libp2p, path: join(folder, "ipfs") })
  : createMemoryContentStore({ clock });

const tell = (message: FromSeat): void => void process.send?.(message);
const now = (): bigint => process.hrtime.bigint();

/** A frame of the product that came or went, with its moment. */
interface Passed {
  readonly at: bigint;
  readonly frame: Uint8Array;
  readonly isOwn: boolean;
}
let passed: Passed[] = [];
const pass = (frame: Uint8Array, isOwn: boolean): void => void passed.push({ at: now(), frame, isOwn });
const cpuMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};

const network: Network = {
  ...libp2pNetwork,
  send(to, frame) {
    pass(frame, true);
    libp2pNetwork.send(to, frame);
  },
};
/** The session of this decision, which sends again what a connection lost, as an agent does. */
let current: readonly Session[] = [];
const resend = createResend({ network: libp2pNetwork, clock }, new AbortController().signal);
network.onConnect((peer) => resend(peer, current));
let startedAt: bigint | null = null;
const exchange = createExchange(libp2pNetwork, others, () => tell({ kind: "exchanged", startedAt, doneAt: now() }));
let pinging: { readonly bytes: number; readonly to: Address; left: number; readonly delaysMs: number[] } | null = null;

libp2pNetwork.onFrame((from, frame) => {
  const at = now();
  const bare = decodeBare(frame);
  if (bare === null) {
    pass(frame, false);
    ingress.receive(from, frame);
  } else if (bare.kind === "ping") {
    // The answer carries how long the ping took; both processes have one clock.
    libp2pNetwork.send(from, encodeBare({ kind: "pong", repetition: 0, sentAt: at - bare.sentAt }, 0));
  } else if (bare.kind === "pong") ponged(Number(bare.sentAt) / 1e6);
  else exchange.receive(bare);
});

function ping(): void {
  if (pinging === null) return;
  const { to, bytes } = pinging;
  libp2pNetwork.send(to, encodeBare({ kind: "ping", repetition: 0, sentAt: now() }, bytes));
}

function ponged(delayMs: number): void {
  if (pinging === null) return;
  pinging.delaysMs.push(delayMs);
  pinging.left--;
  if (pinging.left > 0) return ping();
  tell({ kind: "pinged", delaysMs: pinging.delaysMs });
  pinging = null;
}

async function decide(repetition: number): Promise<void> {
  const attempt = withId(attemptOf(seats), BigInt(repetition + 1) as RequestId);
  passed = [];
  const mind = honestMind(attempt, TRUTH);
  const model = createMemoryModel((request) => respond(request, attempt.request.terms, mind), {
    confidence: () => 900_000,
  });
  const journal = await journals.open(`request-${repetition}`);
  const budget = createRequestBudget(Infinity);
  const sources = createMemorySourceReader(store);
  const certified = Promise.withResolvers<bigint>();
  const cpuBefore = cpuMs();
  const ports = { network, store, sources, model, budget, signer: keys, journal, clock, log: silent };
  const session = await openSession(mbft, attempt, seat, TIMING, ports, {
    onCertified: () => certified.resolve(now()),
    onBroadcast() {},
    onEvidence() {},
    onConflict() {},
    onUnread() {},
    onSilence() {},
  });
  current = [session];
  ingress.opened(session);
  const certifiedAt = await certified.promise;
  const spentMs = cpuMs() - cpuBefore;
  const isProposer = proposerOf(attempt, 0) === seat;
  const told = toldBy(attempt.request.id, certifiedAt);
  tell({
    kind: "decided",
    proposer: isProposer ? { lastMessageAt: told.lastMessageAt, sizes: told.sizes } : null,
    certifiedAt,
    stages: told.stages,
    cpuMs: spentMs,
  });
}

/** What the frames of a request tell, each when it first passed: the last message of the deliberation, the sizes of those that certify, and what each step took here. */
function toldBy(
  requestId: RequestId,
  certifiedAt: bigint,
): {
  readonly lastMessageAt: bigint;
  readonly sizes: Sizes;
  readonly stages: Stages;
} {
  const seen = new Set<string>();
  const phased = passed.flatMap((one) => {
    const slot = decodeEnvelope(one.frame)?.slot;
    const name = `${slot?.phase}.${slot?.round}.${slot?.seat}`;
    if (slot?.requestId !== requestId || one.at > certifiedAt || seen.has(name)) return [];
    seen.add(name);
    return [{ ...one, phase: slot.phase }];
  });
  const of = (phase: number): typeof phased => phased.filter((one) => one.phase === phase);
  const sentAt = (phase: number): bigint | null => of(phase).find(({ isOwn }) => isOwn)?.at ?? null;
  /** When this seat had a quorum of the votes, its own included. */
  const quorumAt = (phase: number): bigint | null => of(phase).filter(({ isOwn }) => !isOwn)[quorum - 2]?.at ?? null;
  const between = (from: bigint | null, to: bigint | null): number | null =>
    from === null || to === null || to < from ? null : Number(to - from) / 1e6;
  const lastMessageAt = phased.findLast(({ phase }) => phase < PROPOSE)?.at;
  if (lastMessageAt === undefined) throw new Error(`Seat ${seat} certified before any message of the deliberation`);
  return {
    lastMessageAt,
    sizes: [PROPOSE, PREVOTE, PRECOMMIT].map((phase) => of(phase)[0]?.frame.length ?? 0) as unknown as Sizes,
    stages: [
      between(lastMessageAt, sentAt(PROPOSE)),
      between(of(PROPOSE)[0]?.at ?? null, sentAt(PREVOTE)),
      between(quorumAt(PREVOTE), sentAt(PRECOMMIT)),
      between(quorumAt(PRECOMMIT), certifiedAt),
    ],
  };
}

async function connect(multiaddrs: readonly (readonly string[])[]): Promise<void> {
  const peers = multiaddrs.map((addresses, index) => {
    const { address: signer, publicKey } = keysFromPrivateKey(keyOf(index));
    return { signer, publicKey, multiaddrs: addresses };
  });
  libp2pNetwork.setPeers(peers.filter(({ signer }) => signer !== keys.address));
  while (libp2pNetwork.connected().length < others.length || performance.now() < linkedAt + QUIET_MS) await sleep(50);
  tell({ kind: "connected" });
}

process.on("message", (message: ToSeat) => {
  switch (message.kind) {
    case "peers":
      return void connect(message.multiaddrs);
    case "decide":
      return void decide(message.repetition);
    case "exchange": {
      const isFirst = message.repetition % seats === seat;
      startedAt = isFirst ? now() : null;
      return exchange.begin(message.repetition, message.sizes, isFirst);
    }
    case "ping":
      pinging = { to: addressOf(message.to), bytes: message.bytes, left: message.count, delaysMs: [] };
      return ping();
    case "close":
      // Everything is in a folder that the bench removes.
      return process.exit(0);
  }
});
tell({ kind: "listening", multiaddrs: libp2pNetwork.multiaddrs });
await once(process, "disconnect");
process.exit(0);
