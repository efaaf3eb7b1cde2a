// What `npm run chaos` breaks is broken, and mended.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type ClientRequest, type IncomingMessage } from "node:http";
import { get } from "node:https";
import { connect, createServer as createTcpServer, type AddressInfo } from "node:net";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createFileJournals } from "../../agents/adapters/journal/file-journal.ts";
import { createKeystore } from "../../agents/adapters/keystore/keystore.ts";
import { createLibp2pNetwork } from "../../agents/adapters/libp2p/network.ts";
import { KEYSTORE_FILE } from "../../agents/cli/shared/config.ts";
import { encodeMessage } from "../../agents/core/encoding/transcript.ts";
import { encodeInput } from "../../agents/node/seat/records.ts";
import { attemptOf, keyOf, signMessage } from "../support/core/committee.ts";
import { createGatewaySource } from "../../agents/adapters/ipfs/gateway-source.ts";
import { sha256 } from "../../agents/core/encoding/bytes.ts";
import { encode } from "../../agents/core/encoding/codec.ts";
import { CONTROLS } from "../../chaos/controls.ts";
import { createLinks, GOOD_WIRE } from "../../chaos/links.ts";
import { AGENTS, HARMS, type Perturbation } from "../../chaos/manifest.ts";
import { questionOf, startModelServer, sumIn } from "../../chaos/model-server.ts";
import { wireOf } from "../../chaos/perturb.ts";
import { LAG_BLOCKS, startRpcProxy } from "../../chaos/rpc-proxy.ts";
import { sourceOf, startSourceServer } from "../../chaos/source-server.ts";
import { startWrongGateway } from "../../chaos/wrong-gateway.ts";
import { assertAtLeast } from "../support/assertions.ts";
import { until } from "../support/until.ts";

const when = { afterMs: 0, forMs: 1_000 };
const hex = (block: number): string => `0x${block.toString(16)}`;

describe("what chaos breaks", () => {
  it("the wires: partitions cut both ways, one-way cuts one, delays add up", () => {
    const partition: Perturbation = { kind: "partition", side: [0, 1], ...when };
    assert.equal(wireOf([partition], 0, 2), null);
    assert.equal(wireOf([partition], 2, 1), null);
    assert.deepEqual(wireOf([partition], 0, 1), GOOD_WIRE);
    assert.deepEqual(wireOf([partition], 3, 4), GOOD_WIRE);
    const oneWay = { kind: "oneWay", from: 0, to: 1, ...when } as const;
    assert.deepEqual([wireOf([oneWay], 0, 1), wireOf([oneWay], 1, 0)], [null, GOOD_WIRE]);
    const delay = { kind: "delay", ms: 20, ...when } as const;
    assert.equal(wireOf([delay, { ...delay, ms: 3 }], 2, 3)?.delayMs, 23);
    const narrow = (bytesPerSecond: number): Perturbation => ({ kind: "bandwidth", bytesPerSecond, ...when });
    assert.equal(wireOf([narrow(9_000), narrow(7_000)], 2, 3)?.bytesPerSecond, 7_000);
    const loss = { kind: "loss", percent: 5, ...when } as const;
    assert.equal(wireOf([loss, { ...loss, percent: 9 }], 2, 3)?.lossPercent, 9);
  });

  it(
    "a connection: bytes wait while it is cut or lost, arrive in order after it, and take as long as they are told to",
    { skip: process.platform !== "linux" && "only Linux tells who dials" },
    async () => {
      const received: Buffer[] = [];
      const listener = createTcpServer((socket) => socket.on("data", (bytes: Buffer) => received.push(bytes)));
      listener.listen(0, "127.0.0.1");
      await once(listener, "listening");
      const links = createLinks(() => [process.pid], AGENTS);
      const taken = (): string => Buffer.concat(received).toString();
      const reaches = async (wanted: string): Promise<void> => {
        await until(() => taken().length >= wanted.length);
        assert.equal(taken(), wanted);
      };
      try {
        const port = Number((await links.open(1, (listener.address() as AddressInfo).port)).split("/").at(-1));
        const dialer = connect(port, "127.0.0.1");
        dialer.write("a");
        await reaches("a");
        // This process dials as agent 0.
        links.shape((from, to) => (from === 0 && to === 1 ? null : GOOD_WIRE));
        dialer.write("b");
        dialer.write("c");
        await sleep(100);
        assert.equal(taken(), "a");
        links.shape(() => GOOD_WIRE);
        await reaches("abc");
        links.shape(() => ({ ...GOOD_WIRE, delayMs: 200 }));
        const delayedAt = Date.now();
        dialer.write("d");
        await reaches("abcd");
        assertAtLeast(Date.now() - delayedAt, 195);
        links.shape(() => ({ ...GOOD_WIRE, bytesPerSecond: 10 }));
        const narrowedAt = Date.now();
        dialer.write("ef");
        await reaches("abcdef");
        assertAtLeast(Date.now() - narrowedAt, 195);
        links.shape(() => ({ ...GOOD_WIRE, lossPercent: 100 }));
        dialer.write("g");
        await sleep(100);
        assert.equal(taken(), "abcdef");
        // What waited for a bad wire does not wait for it when it is mended.
        links.shape(() => GOOD_WIRE);
        await reaches("abcdefg");
      } finally {
        await links.close();
        listener.close();
      }
    },
  );

  it("an RPC node: it refuses, breaks off, hangs or shows an old head, and is mended", async () => {
    let head = 7;
    const seen: string[] = [];
    const node = createServer((request, response) => {
      void (async () => {
        let body = "";
        for await (const chunk of request) body += String(chunk);
        seen.push(body);
        response.end(JSON.stringify({ jsonrpc: "2.0", id: 1, result: `0x${head.toString(16)}` }));
      })();
    });
    node.listen(0, "127.0.0.1");
    await once(node, "listening");
    const proxy = await startRpcProxy(`http://127.0.0.1:${(node.address() as AddressInfo).port}`);
    const ask = async (method: string, params: readonly unknown[] = [], limitMs = 30_000): Promise<unknown> => {
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
      const answer = await fetch(proxy.url, { method: "POST", body, signal: AbortSignal.timeout(limitMs) });
      return ((await answer.json()) as { readonly result: unknown }).result;
    };
    try {
      assert.equal(await ask("eth_blockNumber"), "0x7");
      for (const fault of ["refuse", "reset", "hang"] as const) {
        await proxy.fail(fault);
        await assert.rejects(ask("eth_blockNumber", [], 300), fault);
      }
      await proxy.fail("stale");
      head = 9;
      assert.equal(await ask("eth_blockNumber"), "0x7");
      await ask("eth_call", [{ to: "0x" }, "latest"]);
      assert.deepEqual((JSON.parse(seen.at(-1) as string) as { readonly params: unknown }).params, [
        { to: "0x" },
        "0x7",
      ]);
      await proxy.fail(null);
      assert.equal(await ask("eth_blockNumber"), "0x9");
      let stolen = 0;
      proxy.onSend(async () => void stolen++);
      await ask("eth_sendRawTransaction", ["0x"]);
      assert.equal(stolen, 1);
    } finally {
      await proxy.close();
      node.closeAllConnections();
      node.close();
    }
  });

  it("two RPC nodes that disagree, one of which knows no block of the last eight", async () => {
    const [head, hidden] = [20, 15];
    const results: Readonly<Record<string, unknown>> = {
      eth_blockNumber: hex(head),
      eth_getBlockByNumber: { number: hex(hidden) },
      eth_getBlockByHash: { number: hex(hidden) },
      eth_getTransactionReceipt: { blockNumber: hex(hidden) },
    };
    const node = createServer((request, response) => {
      void (async () => {
        let body = "";
        for await (const chunk of request) body += String(chunk);
        const { method, params } = JSON.parse(body) as { readonly method: string; readonly params: unknown };
        response.end(JSON.stringify({ jsonrpc: "2.0", id: 1, result: results[method] ?? params }));
      })();
    });
    node.listen(0, "127.0.0.1");
    await once(node, "listening");
    let turn = 0;
    const url = `http://127.0.0.1:${(node.address() as AddressInfo).port}`;
    const proxy = await startRpcProxy(url, () => turn++ % 2 === 1);
    /** What the node that follows the chain says, and then what the other one says. */
    const both = async (method: string, params: readonly unknown[]): Promise<readonly unknown[]> => {
      const said: unknown[] = [];
      for (let count = 0; count < 2; count++) {
        const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
        const answer = await fetch(proxy.url, { method: "POST", body });
        const { result, error } = (await answer.json()) as { readonly result?: unknown; readonly error?: object };
        said.push(error ?? result);
      }
      return said;
    };
    const old = hex(head - LAG_BLOCKS);
    try {
      await proxy.fail("disagree");
      assert.deepEqual(await both("eth_blockNumber", []), [hex(head), old]);
      assert.deepEqual(await both("eth_call", [{}, "latest"]), [
        [{}, "latest"],
        [{}, old],
      ]);
      assert.deepEqual(await both("eth_estimateGas", [{}]), [[{}], [{}, old]]);
      const refusal = { code: -32_000, message: "header not found" };
      assert.deepEqual(await both("eth_call", [{}, hex(hidden)]), [[{}, hex(hidden)], refusal]);
      for (const [method, params] of [
        ["eth_getBlockByNumber", [hex(hidden), false]],
        ["eth_getBlockByHash", ["0xaa", false]],
        ["eth_getTransactionReceipt", ["0xaa"]],
      ] as const)
        assert.deepEqual(await both(method, params), [results[method], null], method);
      // It leaves logs out without a word, unless it is asked for those of one block by its hash.
      const range = { fromBlock: "0x1", toBlock: hex(hidden) };
      assert.deepEqual(await both("eth_getLogs", [range]), [[range], [{ ...range, toBlock: old }]]);
      assert.deepEqual((await both("eth_getLogs", [{ fromBlock: hex(14), toBlock: hex(hidden) }]))[1], []);
      assert.deepEqual((await both("eth_getLogs", [{ blockHash: "0xaa" }]))[1], {
        code: -32_000,
        message: "unknown block",
      });
    } finally {
      await proxy.close();
      node.closeAllConnections();
      node.close();
    }
  });

  it("a source: the sum stands there, or another one, or nothing that ends", async () => {
    const server = await startSourceServer();
    const [place] = Object.values(server.hosts);
    assert.ok(place !== undefined);
    const read = async (timeout = 60_000): Promise<unknown> => {
      const url = new URL(sourceOf(27, 38));
      const { address: host, port, ca } = place;
      const [response] = (await once(
        get({ host, port, servername: url.hostname, path: url.pathname, ca: readFileSync(ca), timeout }).on(
          "timeout",
          function (this: ClientRequest) {
            this.destroy(new Error("it does not answer"));
          },
        ),
        "response",
      )) as [IncomingMessage];
      let body = "";
      for await (const chunk of response) if ((body += String(chunk)).length > 1 << 18) throw new Error("too long");
      return response.statusCode === 200 ? JSON.parse(body) : response.statusCode;
    };
    try {
      assert.deepEqual(await read(), { sum: 65 });
      server.fail("lie");
      assert.deepEqual(await read(), { sum: 75 });
      server.fail("die");
      assert.equal(await read(), 500);
      for (const fault of ["hang", "reset", "endless"] as const) {
        server.fail(fault);
        await assert.rejects(read(300), fault);
      }
      server.fail(null);
      assert.deepEqual(await read(), { sum: 65 });
    } finally {
      await server.close();
    }
  });

  it("a gateway: every second block is changed, cut or another one", async () => {
    const blocks = Array.from({ length: 6 }, (_, index) => encode({ index }));
    const byDigest = new Map(blocks.map((block) => [sha256(block), block]));
    const gateway = await startWrongGateway(async (digest) => byDigest.get(digest) ?? assert.fail(), 0);
    const source = createGatewaySource(gateway.url);
    try {
      for (const [index, block] of blocks.entries())
        if (index % 2 === 0) assert.deepEqual(Buffer.from(await source.get(sha256(block))), Buffer.from(block));
        else await assert.rejects(source.get(sha256(block)), { code: "BLOCK_INVALID" });
      assert.equal(gateway.wrong(), 3);
    } finally {
      await gateway.close();
    }
  });

  it("a peer: it floods, replays what an agent has journalled, sends slowly and opens streams, under the agent's key", async () => {
    const folder = await mkdtemp(join(tmpdir(), "conclave-chaos-test-"));
    const frames: Uint8Array[] = [];
    const victim = await createLibp2pNetwork({ privateKey: keyOf(0) });
    victim.onFrame((_, frame) => frames.push(frame));
    try {
      const { address, publicKey } = await createKeystore(join(folder, KEYSTORE_FILE), "chaos", { scryptN: 4_096 });
      victim.setPeers([{ signer: address, publicKey, multiaddrs: [] }]);
      const attempt = attemptOf(4);
      const message = signMessage(attempt, 1, 1, 0, { commitment: new Uint8Array(32) });
      const journals = join(folder, "data", "journals");
      await mkdir(journals, { recursive: true });
      const journal = await createFileJournals(journals).open(`request-${attempt.request.id}-0`);
      await journal.append(Buffer.from("opening"));
      for (const record of encodeInput({ kind: "message", message })) await journal.append(record);
      await journal.close();
      const recorded = Buffer.from(encodeMessage(message));
      const streams = (): number => victim.libp2p.getConnections().reduce((sum, one) => sum + one.streams.length, 0);
      const seen: Readonly<Record<(typeof HARMS)[number], () => boolean>> = {
        flood: () => frames.length > 200,
        replay: () => frames.filter((frame) => recorded.equals(frame)).length > 50,
        slow: () => streams() > 0,
        streams: () => streams() > 3,
      };
      for (const harm of HARMS) {
        frames.length = 0;
        const script = join(import.meta.dirname, "../../chaos/hostile.ts");
        const child = spawn(process.execPath, [script, folder, harm, victim.multiaddrs[0] ?? assert.fail()], {
          stdio: "ignore",
          env: { ...process.env, CONCLAVE_PASSWORD: "chaos" },
        });
        const exited = once(child, "exit");
        await until(seen[harm]);
        child.kill("SIGKILL");
        await exited;
        await until(() => streams() === 0);
      }
      // A slow frame and streams without one tell nothing.
      assert.deepEqual(frames, []);
    } finally {
      await victim.close();
      await rm(folder, { recursive: true, force: true });
    }
  });

  it("a model: it knows sums, lies, babbles, dies and hangs", async () => {
    const server = await startModelServer();
    const ask = async (limitMs = 60_000): Promise<string> => {
      const body = {
        messages: [{ role: "user", content: `task: propose\nquestion: ${JSON.stringify(questionOf(27, 38))}` }],
        response_format: { json_schema: { schema: { properties: { answer: { type: "string" } } } } },
      };
      const answer = await fetch(`${server.url}/chat/completions`, {
        method: "POST",
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(limitMs),
      });
      return answer.ok ? await answer.text() : String(answer.status);
    };
    try {
      assert.equal(sumIn(questionOf(27, 38)), 65);
      assert.match(await ask(), /\\"answer\\":\\"65\\"/);
      server.fail("lie");
      assert.match(await ask(), /\\"answer\\":\\"75\\"/);
      server.fail("babble");
      assert.match(await ask(), /Well, let me think/);
      server.fail("die");
      assert.equal(await ask(), "500");
      server.fail("hang");
      await assert.rejects(ask(1_500));
      server.fail(null);
      assert.match(await ask(), /\\"answer\\":\\"65\\"/);
    } finally {
      await server.close();
    }
  });

  it("a safety of the product: the text that a control replaces occurs once", () => {
    for (const { file, edits } of Object.values(CONTROLS)) {
      const source = readFileSync(join(import.meta.dirname, "../..", file), "utf8");
      for (const [find] of edits) assert.equal(source.split(find).length, 2, `${file}: ${find}`);
    }
  });
});
