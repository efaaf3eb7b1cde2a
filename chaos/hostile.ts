// A peer that means harm, under the key of an agent that is down: node chaos/hostile.ts FOLDER HOW MULTIADDR...
import { randomBytes } from "node:crypto";
import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { multiaddr } from "@multiformats/multiaddr";
import { openKeystore } from "../agents/adapters/keystore/keystore.ts";
import { networkBounds } from "../agents/adapters/libp2p/bounds.ts";
import { createFrameWriter, FRAMES_PROTOCOL } from "../agents/adapters/libp2p/frames.ts";
import { identityFromSignerKey } from "../agents/adapters/libp2p/identity.ts";
import { startNode, type AgentLibp2p } from "../agents/adapters/libp2p/node.ts";
import { KEYSTORE_FILE } from "../agents/cli/shared/config.ts";
import { encodeMessage } from "../agents/core/encoding/transcript.ts";
import { journalsIn } from "./disk.ts";
import { messagesIn } from "./journals.ts";
import { MOST_FOR_MS, type HARMS } from "./manifest.ts";

interface Victim {
  readonly node: AgentLibp2p;
  readonly address: string;
  /** Frames of sessions that the agent has seen. */
  readonly recorded: readonly Uint8Array[];
}

/** Bytes that a flood sends to one victim at most. */
const MOST_BYTES = 64 << 20;
const MOST_STREAMS = 1_000;
const SILENT_SOCKETS = 20;
const SLOW_EVERY_MS = 100;
const AGAIN_AFTER_MS = 200;
const REPLAY_BURST = 20;

const harms: Readonly<Record<(typeof HARMS)[number], (victim: Victim) => Promise<void>>> = {
  /** As many frames as the victim takes: chance bytes, and old messages with a byte changed. */
  async flood(victim) {
    const write = await openWriter(victim);
    for (let sent = 0, count = 0; sent < MOST_BYTES; count++) {
      const old = victim.recorded[count % Math.max(1, victim.recorded.length)];
      const frame = old === undefined || count % 2 === 0 ? randomBytes(1 + (count % 60_000)) : changed(old);
      await write(frame);
      sent += frame.length;
    }
  },
  /** Old messages again and again, as they were. */
  async replay(victim) {
    const write = await openWriter(victim);
    for (let turn = 0; victim.recorded.length > 0; turn++) {
      await write(victim.recorded[turn % victim.recorded.length] as Uint8Array);
      if (turn % REPLAY_BURST === 0) await sleep(SLOW_EVERY_MS);
    }
  },
  /** Sockets that say nothing, and a long frame byte by byte. */
  async slow({ node, address }) {
    const port = Number(address.split("/").at(-1));
    for (let count = 0; count < SILENT_SOCKETS; count++) connect(port, "127.0.0.1").on("error", () => undefined);
    const stream = await node.dialProtocol(multiaddr(address), FRAMES_PROTOCOL);
    stream.send(Uint8Array.of(0, 3, 0, 0));
    while (stream.status === "open") {
      stream.send(Uint8Array.of(1));
      await sleep(SLOW_EVERY_MS);
    }
  },
  /** More streams than anybody takes. */
  async streams({ node, address }) {
    const connection = await node.dial(multiaddr(address));
    for (let count = 0; count < MOST_STREAMS && connection.status === "open"; count++)
      await connection.newStream(FRAMES_PROTOCOL).catch(() => sleep(1));
  },
};

async function openWriter({ node, address }: Victim): Promise<(frame: Uint8Array) => Promise<void>> {
  const writer = createFrameWriter(await node.dialProtocol(multiaddr(address), FRAMES_PROTOCOL));
  return (frame) => writer.write(frame);
}

function changed(bytes: Uint8Array): Uint8Array {
  const copy = Uint8Array.from(bytes);
  const at = randomBytes(4).readUInt32BE() % copy.length;
  copy[at] = (copy[at] ?? 0) ^ 1;
  return copy;
}

/** Reads what the agent has journalled; from copies, since an agent's journals are its own. */
async function recordedBy(directory: string): Promise<readonly Uint8Array[]> {
  const journals = join(directory, "data", "journals");
  const copies = await mkdtemp(join(directory, "recorded-"));
  const frames: Uint8Array[] = [];
  try {
    for (const file of await journalsIn(journals).catch(() => [])) {
      await copyFile(join(journals, file), join(copies, file));
      for await (const message of messagesIn(copies, file.slice(0, -".journal".length)))
        frames.push(encodeMessage(message));
    }
  } finally {
    await rm(copies, { recursive: true, force: true });
  }
  return frames;
}

async function harass(victim: Victim, harm: (victim: Victim) => Promise<void>): Promise<never> {
  for (;;) {
    // The victim may refuse and hang up as it likes.
    await harm(victim).catch(() => undefined);
    await sleep(AGAIN_AFTER_MS);
  }
}

const [directory = "", how = "", ...addresses] = process.argv.slice(2);
if (!Object.hasOwn(harms, how)) throw new Error(`Harm others: ${JSON.stringify(how)} is unknown`);
const keys = await openKeystore(join(directory, KEYSTORE_FILE), process.env["CONCLAVE_PASSWORD"] ?? "");
const node = await startNode({
  identity: identityFromSignerKey(keys.libp2pPrivateKey()),
  listen: [],
  bounds: { ...networkBounds, streamsPerConnection: MOST_STREAMS },
});
const recorded = await recordedBy(directory);
setTimeout(() => process.exit(0), MOST_FOR_MS);
for (const address of addresses) void harass({ node, address, recorded }, harms[how as keyof typeof harms]);
