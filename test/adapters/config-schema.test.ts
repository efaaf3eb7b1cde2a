// The JSON Schema of an agent's config, as `conclave agent schema` prints it for editors.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { z } from "zod";
import { runCli } from "../../agents/cli/run-cli.ts";
import { checkAgentConfig } from "../../agents/cli/shared/config.ts";

const config = {
  $schema: "./conclave.schema.json",
  chain: {
    rpcUrl: "http://127.0.0.1:8545",
    chainId: 1,
    oracle: `0x${"01".repeat(20)}`,
    registry: `0x${"02".repeat(20)}`,
  },
  model: { kind: "llama", path: "/models/small.gguf" },
};

async function printed(): Promise<Parameters<typeof z.fromJSONSchema>[0]> {
  let text = "";
  const host = {
    stdout: (said: string) => void (text += said),
    stderr: () => {},
    environment: {},
    cwd: ".",
    signal: new AbortController().signal,
  };
  assert.equal(await runCli(["agent", "schema"], host), 0);
  return JSON.parse(text) as Parameters<typeof z.fromJSONSchema>[0];
}

describe("conclave agent schema", () => {
  it("accepts what the agent accepts, and says where a config is wrong", async () => {
    const schema = z.fromJSONSchema(await printed());
    checkAgentConfig(config, "a test");
    assert.equal(schema.safeParse(config).error, undefined);
    const all = {
      ...config,
      model: { kind: "openai", url: "http://127.0.0.1:8000/v1", model: "m", apiKeyEnv: "KEY" },
      content: { kind: "kubo", url: "http://127.0.0.1:5001" },
      metrics: { port: 9_464 },
      live: { port: 8_090, origins: ["*"] },
      collection: { retentionDays: 60 },
    };
    checkAgentConfig(all, "a test");
    assert.equal(schema.safeParse(all).error, undefined);
    const wrong = [
      { ...config, modle: {} },
      { ...config, metrics: { port: 65_536 } },
      { ...config, live: { port: 1, origins: ["page.example"] } },
      { ...config, model: { kind: "lama", path: "x" } },
      { ...config, chain: { ...config.chain, oracle: "0x12" } },
      { model: config.model },
    ];
    for (const one of wrong) {
      assert.ok(!schema.safeParse(one).success, JSON.stringify(one));
      assert.throws(() => checkAgentConfig(one, "a test"));
    }
  });
});
