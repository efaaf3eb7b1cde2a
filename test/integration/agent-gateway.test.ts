import assert from "node:assert/strict";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { readCar } from "../../agents/adapters/ipfs/car.ts";
import { openKeystore } from "../../agents/adapters/keystore/keystore.ts";
import { loadAgentConfig } from "../../agents/cli/shared/config.ts";
import { joinAgent, type JoinedAgent } from "../../agents/cli/agent/join.ts";
import { cidString } from "../../agents/core/encoding/cid.ts";
import { sha256 } from "../../agents/core/encoding/bytes.ts";
import type { Log } from "../../agents/ports/log.ts";
import { startDecidedChain, type DecidedChain } from "../../devnet/decided-chain.ts";
import { freshBlock } from "../adapters/content-store.suite.ts";
import { createCli, PASSWORD, type Cli, type ConfigJson } from "./cli-world.ts";

let world: DecidedChain;
let cli: Cli;

before(async () => {
  world = await startDecidedChain(1);
  cli = createCli(world.folder);
  const model = ["--model-url", "http://127.0.0.1:1/v1", "--model-name", "none"];
  assert.equal((await cli.run(["agent", "init", "--dir", "a", "--deployment", "deployment.json", ...model])).code, 0);
});

after(() => world.close());

async function configure(gateway: unknown): Promise<void> {
  const path = join(world.folder, "a", "conclave.json");
  const config = JSON.parse(await readFile(path, "utf8")) as ConfigJson;
  await writeFile(path, JSON.stringify({ ...config, gateway }));
}

/** Opens the adapters of an agent as `agent run` does, and returns them with the gateway that the log names. */
async function openAgent(): Promise<{ readonly joined: JoinedAgent; readonly url: string | null }> {
  let url: string | null = null;
  const quiet = (): void => {};
  const info = (data: object, message: string): void => {
    if (message.includes("gateway")) url = (data as { readonly url: string }).url;
  };
  const log: Log = { debug: quiet, info, warn: quiet, error: quiet };
  const config = await loadAgentConfig(join(world.folder, "a", "conclave.json"));
  const joined = await joinAgent(config, await openKeystore(config.keystore, PASSWORD), log);
  return { joined, url };
}

describe("AV5: the gateway of an agent", () => {
  it("is not opened by default", async () => {
    const { joined, url } = await openAgent();
    assert.equal(url, null);
    await joined.close();
  });

  it("serves what the agent's own store holds, read only, and ends with the agent", async () => {
    await configure("127.0.0.1:0");
    const { joined, url: opened } = await openAgent();
    const url = opened ?? assert.fail("no gateway");
    const { certificate, blocks } = world.decisions[0] ?? assert.fail();
    const cid = cidString(certificate.decision.transcript);
    const place = `${url}/ipfs/${cid}`;
    try {
      assert.equal((await fetch(`${place}?format=raw`)).status, 404);
      for (const bytes of blocks) await joined.store.put(bytes);
      const raw = await fetch(`${place}?format=raw`);
      assert.equal(sha256(new Uint8Array(await raw.arrayBuffer())), certificate.decision.transcript);
      const car = await readCar((await fetch(`${place}?format=car`)).body ?? assert.fail("no body"));
      let count = 0;
      for await (const _ of car.blocks) count += 1;
      assert.deepEqual([car.root, count], [certificate.decision.transcript, blocks.length]);

      const fresh = freshBlock();
      for (const method of ["POST", "PUT", "DELETE", "PATCH"]) {
        const { status } = await fetch(`${url}/ipfs/${cidString(fresh.digest)}`, { method, body: fresh.bytes.slice() });
        assert.equal(status, 405, method);
      }
      assert.equal(await joined.store.has(fresh.digest), false);
      const pinned = await cli.json("pin", cid, "--gateway", url, "--into", "from-agent");
      assert.deepEqual([pinned.code, pinned.value["blocks"]], [0, blocks.length]);
    } finally {
      await joined.close();
    }
    await assert.rejects(fetch(place));
  });

  it("names a value that is no HOST:PORT, and a port that is taken; closes what it opened", async () => {
    for (const gateway of ["8080", 8080, "127.0.0.1:", "http://127.0.0.1:8080"]) {
      await configure(gateway);
      const { code, data } = await cli.failure("gc", "--dir", "a");
      assert.deepEqual([code, data["field"]], ["CONFIG_INVALID", "gateway"], String(gateway));
    }
    const taken = createServer();
    await new Promise<void>((resolve) => void taken.listen(0, "127.0.0.1", resolve));
    const { port } = taken.address() as AddressInfo;
    await configure(`127.0.0.1:${port}`);
    await assert.rejects(openAgent(), { code: "NETWORK_FAILED", data: { host: "127.0.0.1", port } });
    taken.close();
    await configure("127.0.0.1:0");
    // The store's lock was also given back.
    const { joined } = await openAgent();
    await joined.close();
  });
});
