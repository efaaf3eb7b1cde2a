import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { runCli } from "../../agents/cli/run-cli.ts";
import type { Address } from "../../agents/core/types.ts";
import { booleanTerms } from "../support/core/committee.ts";
import { readMetrics, servedMetrics } from "../adapters/fixtures/metrics.ts";
import { PASSWORD, startCliWorld, type CliWorld } from "./cli-world.ts";
import { memoryWorld } from "./memory-world.ts";
import { truthful } from "./world.ts";
import { until } from "../support/until.ts";

const consumer = `0x${"cc".repeat(20)}` as Address;

describe("metrics of agents that decide", () => {
  it("count peers, seats, attempts by outcome and relays, and follow the chain", async () => {
    const world = memoryWorld([0, 1, 2, 3].map(() => truthful("yes")));
    const running = world.agents.map((agent) => agent.start());
    const metrics = await Promise.all(
      running.map(async ({ agent }) => {
        const one = await servedMetrics();
        one.showAgent(() => agent.facts());
        return one;
      }),
    );
    const read = async (series: string): Promise<readonly (number | undefined)[]> =>
      await Promise.all(metrics.map(async (one) => (await one.read()).get(series)));
    assert.deepEqual(await read("conclave_agent_seats"), [0, 0, 0, 0]);
    const ticker = setInterval(() => world.chain.mine(), 50);
    try {
      await until(() => running.every(({ agent }) => agent.facts().peers === 3));
      world.chain.ask(consumer, booleanTerms, "Is 17 prime?");
      await until(() => running.every(({ agent }) => agent.facts().seats === 1));
      assert.deepEqual(await read("conclave_agent_seats"), [1, 1, 1, 1]);
      await until(() => running.every(({ agent }) => agent.facts().seats === 0));
      await until(() =>
        running.every(({ agent }) => agent.facts().relays.committed + agent.facts().relays.already === 1),
      );
      assert.deepEqual(await read("conclave_agent_peers"), [3, 3, 3, 3]);
      const ended = await Promise.all(
        ["decided", "hung", "left"].map((outcome) => read(`conclave_agent_attempts_total{outcome="${outcome}"}`)),
      );
      // A seat may be overtaken by the others' certificate; what counts is that every attempt is counted once, and as it ended.
      const [decided, hung, left] = ended;
      assert.deepEqual(hung, [0, 0, 0, 0]);
      for (const seat of [0, 1, 2, 3]) assert.equal((decided?.[seat] ?? 0) + (left?.[seat] ?? 0), 1);
      assert.ok(decided?.includes(1));
      const committed = await read('conclave_agent_relays_total{outcome="committed"}');
      assert.equal(
        committed.reduce((sum: number, count) => sum + (count ?? 0), 0),
        1,
      );
      for (const block of await read("conclave_chain_block_number")) assert.ok((block ?? 0) > 0);
      for (const at of await read("conclave_chain_followed_timestamp_seconds"))
        assert.ok(Math.abs((at ?? 0) - Date.now() / 1000) < 60);
    } finally {
      clearInterval(ticker);
      for (const one of running) await one.stop();
      for (const one of metrics) await one.close();
    }
  });
});

describe("agent run with metrics", () => {
  let world: CliWorld;
  before(async () => {
    world = await startCliWorld();
    await world.enlist("a", "20");
  });
  after(() => world.close());

  /** Runs the body while `agent run` runs, with what it printed when it was ready. */
  async function running(body: (ready: Readonly<Record<string, unknown>>) => Promise<void>): Promise<void> {
    const stop = new AbortController();
    let stdout = "";
    const ended = runCli(["agent", "run", "--dir", "a", "--json", "--log-level", "error"], {
      stdout: (text) => void (stdout += text),
      stderr: () => {},
      environment: { CONCLAVE_PASSWORD: PASSWORD },
      cwd: world.folder,
      signal: stop.signal,
    });
    try {
      const over = ended.then((code) => assert.fail(`ended with ${code}: ${stdout}`));
      const ready = until(() => (stdout.includes("\n") ? stdout : null));
      await body(JSON.parse(await Promise.race([ready, over])) as Readonly<Record<string, unknown>>);
    } finally {
      stop.abort();
      assert.equal(await ended, 0);
    }
  }

  it("serves no metrics by default", async () => {
    await running(async (ready) => {
      assert.equal(ready["event"], "ready");
      assert.equal(ready["metrics"], null);
    });
  });

  it("serves metrics on loopback if the config says so, until it ends", async () => {
    await world.editConfig("a", (config) => ({ ...config, metrics: { port: 0 }, live: { port: 0 } }));
    let url = "";
    await running(async (ready) => {
      url = String(ready["metrics"]);
      assert.match(url, /^http:\/\/127\.0\.0\.1:\d+\/metrics$/);
      const series = await until(async () => {
        const read = await readMetrics(url);
        return (read.get("conclave_chain_block_number") ?? 0) > 0 ? read : null;
      });
      assert.equal(series.get("conclave_agent_seats"), 0);
      assert.equal(series.get('conclave_model_failures_total{kind="timeout"}'), 0);
      assert.equal(series.get("conclave_model_calls_waiting"), 0);
      assert.equal(series.get("conclave_live_watchers"), 0);
      for (const name of series.keys())
        assert.match(
          name,
          /^conclave_(agent|chain|live|model|network|source)_[a-z_]+(\{(kind|outcome|reason|result|le)="[^"]+"(,(kind|result|le)="[^"]+")?\})?$/,
        );
    });
    await assert.rejects(fetch(url));
  });

  it("refuses a wrong config, and one that would show metrics to others without saying so", async () => {
    for (const [metrics, field, text] of [
      [{ port: 9464, host: "0.0.0.0" }, "metrics.host", /other machines reach it.*"public": true/],
      [{ port: 9464, host: "agent.example.org" }, "metrics.host", /"public": true/],
      [{ port: 9464, host: "127.0.0.1:80" }, "metrics.host", /./],
      [{ port: 65_536 }, "metrics.port", /65536 is wrong/],
      [{ port: "9464" }, "metrics.port", /"9464" is wrong/],
      [{}, "metrics.port", /missing/],
      [{ port: 9464, path: "/" }, "metrics", /path/],
      ["127.0.0.1:9464", "metrics", /./],
    ] as const) {
      await world.editConfig("a", (config) => ({ ...config, metrics }));
      const { exit, code, data, message } = await world.failure("agent", "run", "--dir", "a");
      assert.deepEqual([exit, code, data["field"]], [2, "CONFIG_INVALID", field], message);
      assert.match(message, text);
    }
    await world.editConfig("a", (config) => ({ ...config, metrics: { port: 0, host: "0.0.0.0", public: true } }));
    await running(async (ready) => assert.match(String(ready["metrics"]), /^http:\/\/0\.0\.0\.0:\d+\/metrics$/));
  });
});
