import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { sha256, hexToBytes, utf8 } from "../../agents/core/encoding/bytes.ts";
import { publicKeyToAddress } from "../../agents/core/encoding/digest.ts";
import { ConclaveError } from "../../agents/core/errors.ts";
import { limits } from "../../agents/core/limits.ts";
import type { Address } from "../../agents/core/types.ts";
import type { Network, Peer } from "../../agents/ports/network.ts";
import { until } from "../support/until.ts";

/** World in which the nodes of one test live. */
export interface NetworkWorld {
  /** Starts the node of an agent, at the multiaddrs of an earlier one when given. */
  open(agent: number, at?: readonly string[]): Promise<Network>;
}

/** Deterministic signer keys. */
export function signerKey(agent: number): Uint8Array {
  return hexToBytes(sha256(utf8(`network test ${agent}`)));
}

const publicKeys = Array.from({ length: 8 }, (_, agent) => secp256k1.getPublicKey(signerKey(agent), false).slice(1));
const signers = publicKeys.map(publicKeyToAddress);

export function publicKeyOf(agent: number): Uint8Array {
  return publicKeys[agent] ?? assert.fail(`no agent ${agent}`);
}

export function signerOf(agent: number): Address {
  return signers[agent] ?? assert.fail(`no agent ${agent}`);
}

export function peerOf(agent: number, network: Pick<Network, "multiaddrs">): Peer {
  return { signer: signerOf(agent), publicKey: publicKeyOf(agent), multiaddrs: network.multiaddrs };
}

/** All frames a node gets, as text. */
export function record(network: Network): { from: Address; text: string }[] {
  const frames: { from: Address; text: string }[] = [];
  network.onFrame((from, frame) => frames.push({ from, text: Buffer.from(frame).toString() }));
  return frames;
}

export function networkSuite(name: string, createWorld: () => NetworkWorld): void {
  describe(`network: ${name}`, () => {
    const world = createWorld();
    const opened: Network[] = [];

    async function open(agent: number, at?: readonly string[]): Promise<Network> {
      const network = await world.open(agent, at);
      opened.push(network);
      return network;
    }

    /** Agents 0 and 1, each other's only peer and connected. */
    async function openPair(): Promise<readonly [Network, Network]> {
      const [a, b] = await Promise.all([open(0), open(1)]);
      a.setPeers([peerOf(1, b)]);
      b.setPeers([peerOf(0, a)]);
      await until(() => a.connected().length === 1 && b.connected().length === 1);
      return [a, b];
    }

    async function closeAll(): Promise<void> {
      await Promise.all(opened.splice(0).map((network) => network.close()));
    }

    function test(title: string, body: () => Promise<void>): void {
      it(title, async () => {
        try {
          await body();
        } finally {
          await closeAll();
        }
      });
    }

    test("delivers frames with the proven sender and tells of connections", async () => {
      const [a, b] = await Promise.all([open(0), open(1)]);
      const connects: Address[] = [];
      b.onConnect((peer) => connects.push(peer));
      const [atA, atB] = [record(a), record(b)];
      a.setPeers([peerOf(1, b)]);
      b.setPeers([peerOf(0, a)]);
      await until(() => a.connected().length === 1 && connects.length === 1);
      assert.deepEqual([a.connected(), b.connected(), connects], [[signerOf(1)], [signerOf(0)], [signerOf(0)]]);
      a.send(signerOf(1), utf8("from a"));
      b.send(signerOf(0), utf8("from b"));
      await until(() => atA.length + atB.length === 2);
      assert.deepEqual(atB, [{ from: signerOf(0), text: "from a" }]);
      assert.deepEqual(atA, [{ from: signerOf(1), text: "from b" }]);
    });

    test("keeps the order of each peer's frames, also when they are many", async () => {
      const [a, b, c] = await Promise.all([open(0), open(1), open(2)]);
      const received = record(c);
      a.setPeers([peerOf(2, c)]);
      b.setPeers([peerOf(2, c)]);
      c.setPeers([peerOf(0, a), peerOf(1, b)]);
      await until(() => a.connected().length === 1 && b.connected().length === 1);
      for (let batch = 0; batch < 5; batch++) {
        for (let i = batch * 200; i < (batch + 1) * 200; i++) {
          a.send(signerOf(2), utf8(`a${i} ${"x".repeat(i)}`));
          b.send(signerOf(2), utf8(`b${i}`));
        }
        await until(() => received.length === (batch + 1) * 400);
      }
      for (const [agent, letter] of [
        [0, "a"],
        [1, "b"],
      ] as const) {
        const heads = received.filter(({ from }) => from === signerOf(agent)).map(({ text }) => text.split(" ")[0]);
        assert.deepEqual(
          heads,
          Array.from({ length: 1_000 }, (_, i) => `${letter}${i}`),
        );
      }
    });

    test("holds frames until the other side has configured us; when too many wait, drops the oldest", async () => {
      const [a, b] = await Promise.all([open(0), open(1)]);
      const received = record(b);
      a.setPeers([peerOf(1, b)]);
      const extra = 10;
      for (let i = 0; i < limits.bufferedFramesPerPeer + extra; i++) a.send(signerOf(1), utf8(`${i}`));
      await sleep(300);
      assert.deepEqual([a.connected(), b.connected(), received], [[], [], []]);
      b.setPeers([peerOf(0, a)]);
      await until(() => received.length === limits.bufferedFramesPerPeer);
      assert.deepEqual(
        received.map(({ text }) => Number(text)),
        Array.from({ length: limits.bufferedFramesPerPeer }, (_, i) => i + extra),
      );
    });

    test("ignores frames for peers that are not configured", async () => {
      const [a, b] = await openPair();
      const received = record(b);
      a.send(signerOf(7), utf8("nobody"));
      a.send(signerOf(1), utf8("somebody"));
      await until(() => received.length === 1);
    });

    test("sends the longest allowed frame; the sender refuses a longer one", async () => {
      const [a, b] = await openPair();
      const sizes: number[] = [];
      b.onFrame((_, frame) => sizes.push(frame.length));
      a.send(signerOf(1), new Uint8Array(limits.certifyMessageBytes));
      assert.throws(
        () => a.send(signerOf(1), new Uint8Array(2 * limits.certifyMessageBytes)),
        (error) => error instanceof ConclaveError && error.code === "NETWORK_FAILED",
      );
      assert.throws(() => a.send(signerOf(1), new Uint8Array(0)), { code: "NETWORK_FAILED" });
      a.send(signerOf(1), new Uint8Array(3));
      await until(() => sizes.length === 2);
      assert.deepEqual(sizes, [limits.certifyMessageBytes, 3]);
    });

    test("reconnects to a peer that restarts at the same address", async () => {
      const [a, b] = await openPair();
      const connects: Address[] = [];
      a.onConnect((peer) => connects.push(peer));
      await b.close();
      await until(() => a.connected().length === 0);
      a.send(signerOf(1), utf8("while you were away"));
      const again = await open(1, b.multiaddrs);
      const received = record(again);
      again.setPeers([peerOf(0, a)]);
      await until(() => received.length === 1);
      assert.deepEqual(connects, [signerOf(1)]);
      again.send(signerOf(0), utf8("back"));
      const atA = record(a);
      await until(() => atA.length === 1);
    });

    test("follows a peer to another address", async () => {
      const [a, b] = await openPair();
      await b.close();
      await until(() => a.connected().length === 0);
      const moved = await open(1);
      const received = record(moved);
      moved.setPeers([{ ...peerOf(0, a), multiaddrs: [] }]);
      a.send(signerOf(1), utf8("found you"));
      a.setPeers([peerOf(1, moved)]);
      await until(() => received.length === 1);
    });

    test("cuts off a peer that is removed, in both directions", async () => {
      const [a, b] = await openPair();
      const [atA, atB] = [record(a), record(b)];
      a.setPeers([]);
      await until(() => a.connected().length === 0 && b.connected().length === 0);
      a.send(signerOf(1), utf8("x"));
      b.send(signerOf(0), utf8("y"));
      await sleep(300);
      assert.deepEqual([atA, atB], [[], []]);
      a.setPeers([peerOf(1, b)]);
      await until(() => atA.length === 1);
    });

    test("lets others send whom it does not dial, until they are named no more", async () => {
      const [a, b] = await Promise.all([open(0), open(1)]);
      const [atA, atB] = [record(a), record(b)];
      a.setPeers([peerOf(1, b)]);
      b.setPeers([], new Set([signerOf(0)]));
      a.send(signerOf(1), utf8("from a"));
      b.send(signerOf(0), utf8("to nobody"));
      await until(() => atB.length === 1);
      assert.deepEqual([a.connected(), b.connected(), atB[0]?.from], [[signerOf(1)], [], signerOf(0)]);
      b.setPeers([]);
      await until(() => a.connected().length === 0);
      assert.deepEqual(atA, []);
    });

    test("is never its own peer", async () => {
      const a = await open(0);
      a.setPeers([peerOf(0, a)]);
      await sleep(50);
      assert.deepEqual(a.connected(), []);
      a.send(signerOf(0), utf8("me"));
    });

    test("announces to everybody who subscribed, until they unsubscribe", async () => {
      const nodes = await Promise.all([open(0), open(1), open(2)]);
      const heard: string[] = [];
      const stops = nodes.map((node, i) =>
        node.onAnnouncement("test", (data) => heard.push(`${i}:${Buffer.from(data).toString()}`)),
      );
      for (const [i, node] of nodes.entries()) {
        node.setPeers(nodes.flatMap((other, j) => (i === j ? [] : [peerOf(j, other)])));
      }
      await until(() => nodes.every((node) => node.connected().length === 2));
      // Best effort: the first ones may come before the subscriptions have spread.
      await until(async () => {
        await nodes[0]?.announce("test", utf8("hello"));
        return heard.includes("1:hello") && heard.includes("2:hello");
      });
      assert.equal(
        heard.some((text) => text.startsWith("0")),
        false,
      );
      for (const stop of stops) stop();
      const count = heard.length;
      await sleep(100);
      await nodes[0]?.announce("test", utf8("unheard"));
      await sleep(200);
      assert.equal(heard.slice(count).includes("1:unheard"), false);
      await assert.rejects(nodes[0]?.announce("test", new Uint8Array(1_000_000)) ?? Promise.resolve(), {
        code: "NETWORK_FAILED",
      });
    });

    test("stops listening when told, and closes more than once", async () => {
      const [a, b] = await openPair();
      const kept = record(b);
      let calls = 0;
      const stop = b.onFrame(() => calls++);
      stop();
      stop();
      a.send(signerOf(1), utf8("x"));
      await until(() => kept.length === 1);
      assert.equal(calls, 0);
      await Promise.all([a.close(), a.close()]);
      await a.close();
      a.send(signerOf(1), utf8("after close"));
      a.setPeers([peerOf(1, b)]);
      assert.deepEqual(a.connected(), []);
    });
  });
}
