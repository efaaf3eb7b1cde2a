import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { generateKeyPair } from "@libp2p/crypto/keys";
import type { MultiaddrConnection, PrivateKey, Stream } from "@libp2p/interface";
import { peerIdFromPublicKey as peerIdFromPublicKeyOf } from "@libp2p/peer-id";
import { multiaddr } from "@multiformats/multiaddr";
import { createSystemClock } from "../../agents/adapters/clock/system-clock.ts";
import { networkBounds, type NetworkBounds } from "../../agents/adapters/libp2p/bounds.ts";
import type { NetworkEvent } from "../../agents/adapters/libp2p/events.ts";
import { addressOfPeerId, identityFromSignerKey, peerIdFromPublicKey } from "../../agents/adapters/libp2p/identity.ts";
import { STREAM_WINDOW_BYTES } from "../../agents/adapters/libp2p/frames.ts";
import { createGate } from "../../agents/adapters/libp2p/gate.ts";
import { createLibp2pNetwork, type Libp2pNetwork } from "../../agents/adapters/libp2p/network.ts";
import { startNode, type AgentLibp2p } from "../../agents/adapters/libp2p/node.ts";
import { createMemoryHub } from "../../agents/adapters/memory/network.ts";
import { createMemoryClock } from "../../agents/adapters/memory/clock.ts";
import { utf8 } from "../../agents/core/encoding/bytes.ts";
import { networkSuite, peerOf, publicKeyOf, record, signerKey, signerOf } from "./network.suite.ts";
import { until } from "../support/until.ts";

const LOCAL = "/ip4/127.0.0.1/tcp/0";
const PROTOCOL = "/conclave/frames/1";

networkSuite("memory", () => {
  const hub = createMemoryHub({ clock: createSystemClock() });
  return { open: async (agent) => hub.join(signerOf(agent)) };
});

networkSuite("libp2p over TCP", () => ({
  open: (agent, at) =>
    createLibp2pNetwork({ privateKey: signerKey(agent), ...(at === undefined ? {} : { listen: at }) }),
}));

describe("network: memory, in virtual time", () => {
  it("delivers at the latency of each pair and never lets a frame overtake another", async () => {
    const clock = createMemoryClock();
    let latencyMs = 50;
    const hub = createMemoryHub({ clock, latencyMs: () => latencyMs });
    const [a, b] = [hub.join(signerOf(0)), hub.join(signerOf(1))];
    a.setPeers([peerOf(1, b)]);
    b.setPeers([peerOf(0, a)]);
    const received = record(b);
    clock.advance(50);
    a.send(signerOf(1), utf8("slow"));
    latencyMs = 1;
    a.send(signerOf(1), utf8("quick"));
    clock.advance(49);
    assert.deepEqual(received, []);
    clock.advance(1);
    assert.deepEqual(
      received.map(({ text }) => text),
      ["slow", "quick"],
    );
    assert.throws(() => hub.join(signerOf(0)), { code: "NETWORK_FAILED" });
  });
});

/** A node of ours and a raw libp2p node that the test controls. */
async function withAttacker(
  options: { readonly key?: PrivateKey; readonly configured: boolean; readonly bounds?: Partial<NetworkBounds> },
  body: (victim: Libp2pNetwork, attacker: AgentLibp2p, events: NetworkEvent[]) => Promise<void>,
): Promise<void> {
  const events: NetworkEvent[] = [];
  const victim = await createLibp2pNetwork({
    privateKey: signerKey(0),
    bounds: { ...options.bounds },
    report: (event) => events.push(event),
  });
  const identity = options.key ?? identityFromSignerKey(signerKey(1));
  const attacker = await startNode({ identity, listen: [LOCAL], bounds: networkBounds });
  try {
    if (options.configured) victim.setPeers([{ ...peerOf(1, victim), multiaddrs: [] }]);
    await body(victim, attacker, events);
  } finally {
    await victim.close();
    await attacker.stop();
  }
}

async function openRaw(attacker: AgentLibp2p, victim: Libp2pNetwork): Promise<Stream> {
  const target = victim.libp2p.getMultiaddrs()[0] ?? assert.fail("not listening");
  return attacker.dialProtocol(multiaddr(target.toString()), PROTOCOL);
}

function frame(bytes: Uint8Array, length = bytes.length): Uint8Array {
  const prefixed = new Uint8Array(4 + bytes.length);
  new DataView(prefixed.buffer).setUint32(0, length);
  prefixed.set(bytes, 4);
  return prefixed;
}

describe("network: libp2p against hostile peers", () => {
  it("refuses the stream of a stranger and of a peer with another kind of key", async () => {
    for (const key of [undefined, await generateKeyPair("Ed25519")]) {
      await withAttacker(
        { configured: false, ...(key === undefined ? {} : { key }) },
        async (victim, attacker, events) => {
          const received = record(victim);
          const stream = await openRaw(attacker, victim);
          try {
            stream.send(frame(utf8("let me in")));
          } catch {
            // Already reset.
          }
          await until(() => stream.status !== "open");
          assert.deepEqual(received, []);
          assert.ok(events.some(({ kind }) => kind === "streamRefused"));
        },
      );
    }
  });

  it("keeps 16 connections of strangers on one host, and lets an agent of the same host in", async () => {
    const many = 25;
    await withAttacker({ configured: true }, async (victim, attacker, events) => {
      const target = multiaddr((victim.libp2p.getMultiaddrs()[0] ?? assert.fail("not listening")).toString());
      const strangers = await Promise.all(
        Array.from({ length: many }, async () =>
          startNode({ identity: await generateKeyPair("Ed25519"), listen: [], bounds: networkBounds }),
        ),
      );
      const refusals = (): number => events.filter(({ kind }) => kind === "connectionRefused").length;
      const open = (): number => victim.libp2p.getConnections().length;
      try {
        // One after another: on a busy machine some of many handshakes at once take longer than one may.
        for (const stranger of strangers) await stranger.dial(target).catch(() => undefined);
        await until(() => refusals() === many - networkBounds.strangersPerHost);
        await until(() => open() === networkBounds.strangersPerHost);
        const received = record(victim);
        (await openRaw(attacker, victim)).send(frame(utf8("an agent")));
        await until(() => received.length === 1);
        // Whoever leaves makes room.
        await strangers[0]?.stop();
        const [late] = [
          await startNode({ identity: await generateKeyPair("Ed25519"), listen: [], bounds: networkBounds }),
        ];
        strangers.push(late);
        await until(() => open() === networkBounds.strangersPerHost);
        await late.dial(target);
        await until(() => open() === networkBounds.strangersPerHost + 1);
      } finally {
        for (const stranger of strangers) await stranger.stop();
      }
    });
  });

  it("forgets a stranger that has left, and no agent", async () => {
    await withAttacker({ configured: true }, async (victim, attacker) => {
      const target = multiaddr((victim.libp2p.getMultiaddrs()[0] ?? assert.fail("not listening")).toString());
      const known = async (): Promise<readonly string[]> =>
        (await victim.libp2p.peerStore.all()).map(({ id }) => id.toString()).toSorted();
      const stranger = await startNode({
        identity: await generateKeyPair("Ed25519"),
        listen: [],
        bounds: networkBounds,
      });
      const [agent, other] = [attacker.peerId, stranger.peerId].map(String) as [string, string];
      await attacker.dial(target);
      await stranger.dial(target);
      await until(async () => (await known()).includes(other));
      await stranger.stop();
      await attacker.hangUp(victim.libp2p.peerId);
      await until(async () => !(await known()).includes(other));
      await victim.libp2p.peerStore.patch(stranger.peerId, { protocols: ["/said/while/leaving"] });
      await until(async () => !(await known()).includes(other));
      assert.ok((await known()).includes(agent));
    });
  });

  it("keeps the newest 8 connections of one peer, so that another agent still finds a place", async () => {
    const [perPeer, more] = [networkBounds.connectionsPerPeer, 3];
    const bounds = { connections: perPeer + 2 };
    await withAttacker({ configured: true, bounds }, async (victim, attacker, events) => {
      victim.setPeers([1, 2].map((agent) => ({ ...peerOf(agent, victim), multiaddrs: [] })));
      const received = record(victim);
      const same = identityFromSignerKey(signerKey(1));
      const others = await Promise.all(
        [...Array.from({ length: perPeer + more - 1 }, () => same), identityFromSignerKey(signerKey(2))].map(
          (identity) => startNode({ identity, listen: [], bounds: networkBounds }),
        ),
      );
      const [honest, ...greedy] = others.toReversed();
      try {
        for (const node of [attacker, ...greedy]) await openRaw(node, victim);
        await until(() => victim.libp2p.getConnections().length === perPeer);
        assert.equal(events.filter(({ kind }) => kind === "connectionReplaced").length, more);
        (await openRaw(honest ?? attacker, victim)).send(frame(utf8("still a place")));
        await until(() => received.length === 1);
        assert.equal(received[0]?.from, signerOf(2));
      } finally {
        for (const node of others) await node.stop();
      }
    });
  });

  it("counts IPv4 addresses one by one and those of an IPv6 /64 together, up to a bound of all", async () => {
    const gate = createGate({ strangers: 4, strangersPerHost: 2, connectionsPerPeer: 8 }, () => undefined);
    const { publicKey } = await generateKeyPair("Ed25519");
    const isRefused = (address: string): unknown =>
      gate.gater.denyInboundEncryptedConnection?.(peerIdFromPublicKeyOf(publicKey), {
        remoteAddr: multiaddr(`/${address}/tcp/1`),
        addEventListener: () => undefined,
      } as unknown as MultiaddrConnection);
    const tries = ["ip6/2001:db8::1", "ip6/2001:db8:0:0:9::1", "ip6/2001:db8::2", "ip6/2001:db8:0:1::1"];
    assert.deepEqual(tries.map(isRefused), [false, false, true, false]);
    assert.deepEqual(["ip4/192.0.2.1", "ip4/192.0.2.2"].map(isRefused), [false, true]);
  });

  it("resets the streams of a peer that opens too many, and keeps the connection", async () => {
    await withAttacker({ configured: true, bounds: { streamsPerConnection: 4 } }, async (victim, attacker) => {
      const received = record(victim);
      const frames = await openRaw(attacker, victim);
      const target = multiaddr((victim.libp2p.getMultiaddrs()[0] ?? assert.fail("not listening")).toString());
      await victim.libp2p.handle("/slow", () => undefined, { maxInboundStreams: 100 });
      const slow = await Promise.all(
        Array.from({ length: 8 }, () => attacker.dialProtocol(target, "/slow").catch(() => null)),
      );
      const inbound = (): number =>
        victim.libp2p.getConnections()[0]?.streams.filter(({ direction }) => direction === "inbound").length ??
        Infinity;
      await until(() => inbound() < 5 && slow.filter((stream) => stream?.status === "open").length < 5);
      frames.send(frame(utf8("still here")));
      await until(() => received.length === 1);
    });
  });

  it("refuses another node at the address of the peer that it dials", async () => {
    const events: NetworkEvent[] = [];
    const a = await createLibp2pNetwork({ privateKey: signerKey(0), report: (event) => events.push(event) });
    const impostor = await createLibp2pNetwork({ privateKey: signerKey(2) });
    try {
      impostor.setPeers([peerOf(0, a)]);
      // The registry says that agent 1 lives where agent 2 listens.
      a.setPeers([{ ...peerOf(1, impostor) }]);
      a.send(signerOf(1), utf8("for agent 1 only"));
      const received = record(impostor);
      await until(() => events.some(({ kind }) => kind === "linkDown"));
      await sleep(300);
      assert.deepEqual([a.connected(), impostor.connected(), received], [[], [], []]);
    } finally {
      await Promise.all([a.close(), impostor.close()]);
    }
  });

  for (const [title, bytes] of [
    ["an empty", frame(new Uint8Array(0))],
    ["an oversize", frame(new Uint8Array(8), networkBounds.frameBytes + 1)],
    ["an absurdly long", frame(new Uint8Array(8), 0xffff_ffff)],
  ] as const) {
    it(`closes the stream on ${title} frame, keeps what came before and lets the peer return`, async () => {
      await withAttacker({ configured: true }, async (victim, attacker, events) => {
        const received = record(victim);
        const stream = await openRaw(attacker, victim);
        stream.send(Buffer.concat([frame(utf8("fine")), bytes]));
        await until(() => stream.status !== "open");
        assert.ok(events.some(({ kind }) => kind === "frameRefused"));
        const again = await openRaw(attacker, victim);
        again.send(frame(utf8("fine again")));
        await until(() => received.length === 2);
        assert.deepEqual(
          received.map(({ from, text }) => [from, text]),
          [
            [signerOf(1), "fine"],
            [signerOf(1), "fine again"],
          ],
        );
      });
    });
  }

  it("reassembles frames that arrive byte by byte and accepts the longest", async () => {
    await withAttacker({ configured: true }, async (victim, attacker) => {
      const sizes: number[] = [];
      victim.onFrame((_, bytes) => sizes.push(bytes.length));
      const stream = await openRaw(attacker, victim);
      for (const byte of frame(utf8("slow"))) stream.send(Uint8Array.of(byte));
      stream.send(frame(new Uint8Array(networkBounds.frameBytes)));
      await until(() => sizes.length === 2);
      assert.deepEqual(sizes, [4, networkBounds.frameBytes]);
    });
  });

  it("lets only the newest stream of a peer deliver", async () => {
    await withAttacker({ configured: true }, async (victim, attacker) => {
      const received = record(victim);
      const first = await openRaw(attacker, victim);
      first.send(frame(utf8("1")));
      await until(() => received.length === 1);
      const second = await openRaw(attacker, victim);
      second.send(frame(utf8("2")));
      await until(() => first.status !== "open" && received.length === 2);
    });
  });

  it("delivers nothing of a peer from the moment it is removed", async () => {
    await withAttacker({ configured: true }, async (victim, attacker) => {
      const received = record(victim);
      victim.onFrame(() => victim.setPeers([]));
      const stream = await openRaw(attacker, victim);
      stream.send(Buffer.concat([frame(utf8("1")), frame(utf8("2")), frame(utf8("3"))]));
      await until(() => stream.status !== "open");
      assert.deepEqual(
        received.map(({ text }) => text),
        ["1"],
      );
    });
  });

  for (const betweenMs of [0, 2])
    it(`slows a flooding peer down instead of buffering what it sends, ${betweenMs} ms between frames`, async () => {
      await withAttacker({ configured: true, bounds: { bytesPerSecond: 1_048_576 } }, async (victim, attacker) => {
        const sizes: number[] = [];
        victim.onFrame((_, bytes) => sizes.push(bytes.length));
        const stream = await openRaw(attacker, victim);
        let bufferedBytes = 0;
        const sample = setInterval(() => {
          const inbound = victim.libp2p.getConnections().flatMap(({ streams }) => streams);
          bufferedBytes = Math.max(bufferedBytes, ...inbound.map((each) => each.readBufferLength));
        }, 1);
        const startedAt = performance.now();
        try {
          for (let i = 0; i < 96; i++) {
            if (!stream.send(frame(new Uint8Array(32_768 - i)))) await stream.onDrain();
            if (betweenMs > 0) await sleep(betweenMs);
          }
          await until(() => sizes.length === 96);
        } finally {
          clearInterval(sample);
        }
        // 3 MiB, of which the first one and a window of 256 KiB go through at once.
        const durationMs = performance.now() - startedAt;
        assert.ok(durationMs > 1_500, `${durationMs} ms`);
        assert.ok(bufferedBytes <= STREAM_WINDOW_BYTES, `${bufferedBytes} bytes`);
        assert.deepEqual(
          sizes,
          Array.from({ length: 96 }, (_, i) => 32_768 - i),
        );
      });
    });

  it("reports invalid peers of the registry and keeps the others", async () => {
    const events: NetworkEvent[] = [];
    const a = await createLibp2pNetwork({ privateKey: signerKey(0), report: (event) => events.push(event) });
    const b = await createLibp2pNetwork({ privateKey: signerKey(1) });
    try {
      b.setPeers([peerOf(0, a)]);
      a.setPeers([
        { signer: signerOf(2), publicKey: new Uint8Array(64), multiaddrs: [] },
        { signer: signerOf(3), publicKey: publicKeyOf(4), multiaddrs: [] },
        { ...peerOf(1, b), multiaddrs: ["nonsense", "/ip4/1.2.3.4/udp/1", "/unix/tmp%2Fx", ...b.multiaddrs] },
      ]);
      await until(() => a.connected().length === 1);
      assert.deepEqual(
        events.flatMap((event) => (event.kind === "peerInvalid" ? [event.peer] : [])),
        [signerOf(2), signerOf(3), signerOf(1), signerOf(1), signerOf(1)],
      );
    } finally {
      await Promise.all([a.close(), b.close()]);
    }
  });

  it("survives listeners that throw", async () => {
    await withAttacker({ configured: true }, async (victim, attacker, events) => {
      victim.onFrame(() => assert.fail("a bug of ours"));
      const received = record(victim);
      const stream = await openRaw(attacker, victim);
      stream.send(frame(utf8("x")));
      await until(() => received.length === 1);
      assert.ok(events.some(({ kind }) => kind === "listenerFailed"));
    });
  });
});

describe("network: libp2p node", () => {
  it("derives peer id and address from the same key", () => {
    const peerId = peerIdFromPublicKey(publicKeyOf(1)) ?? assert.fail("no peer id");
    assert.equal(addressOfPeerId(peerId), signerOf(1));
    assert.match(peerId.toString(), /^16Uiu2HA/);
    assert.equal(peerIdFromPublicKey(new Uint8Array(64)), null);
    assert.equal(peerIdFromPublicKey(publicKeyOf(1).subarray(1)), null);
  });

  it("explains a wrong key and a taken address", async () => {
    await assert.rejects(createLibp2pNetwork({ privateKey: new Uint8Array(32) }), { code: "CONFIG_INVALID" });
    await assert.rejects(createLibp2pNetwork({ privateKey: await generateKeyPair("Ed25519") }), {
      code: "CONFIG_INVALID",
    });
    const a = await createLibp2pNetwork({ privateKey: signerKey(0) });
    try {
      await assert.rejects(createLibp2pNetwork({ privateKey: signerKey(1), listen: a.multiaddrs }), {
        code: "NETWORK_FAILED",
      });
    } finally {
      await a.close();
    }
  });

  it("leaves nothing behind that keeps a process alive", () => {
    const script = `
      import { createLibp2pNetwork } from "./agents/adapters/libp2p/network.ts";
      import { peerOf, signerKey, signerOf } from "./test/adapters/network.suite.ts";
      import { until } from "./test/support/until.ts";
      const [a, b] = await Promise.all([0, 1].map((agent) => createLibp2pNetwork({ privateKey: signerKey(agent) })));
      a.setPeers([peerOf(1, b), { ...peerOf(2, b), multiaddrs: ["/ip4/127.0.0.1/tcp/1"] }]);
      b.setPeers([peerOf(0, a)]);
      a.onAnnouncement("t", () => {});
      await until(() => a.connected().length + b.connected().length === 2);
      await Promise.all([a.close(), b.close()]);
      console.log("closed");
    `;
    const startedAt = performance.now();
    const child = spawnSync(process.execPath, ["--input-type=module-typescript", "-e", script], {
      timeout: 240_000,
      encoding: "utf8",
    });
    assert.deepEqual(
      [child.status, child.stdout],
      [0, "closed\n"],
      `${child.stderr} ${performance.now() - startedAt} ms`,
    );
  });
});
