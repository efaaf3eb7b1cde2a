import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { cidString } from "../../agents/core/encoding/cid.ts";
import { sha256 } from "../../agents/core/encoding/bytes.ts";
import { PASSWORD, assertNoSecrets, startCliWorld, type CliWorld } from "./cli-world.ts";

const main = join(import.meta.dirname, "../../agents/cli/main.ts");

let world: CliWorld;

describe("command line with agents that run", () => {
  before(async () => {
    world = await startCliWorld();
  });
  after(() => world.close());

  it("asks, waits, shows, proves and claims with four running agents", async () => {
    const names = ["a", "b", "c", "d"];
    for (const name of names) await world.enlist(name, "100");
    const stop = new AbortController();
    const agents = names.map((name) =>
      world.run(["agent", "run", "--dir", name, "--json", "--log-level", "error"], { signal: stop.signal }),
    );
    try {
      await Promise.race([
        waitForEndpoints(names),
        Promise.all(agents).then((ended) => assert.fail(JSON.stringify(ended))),
      ]);
      const fee = await world.failure("request", "--dir", "a", "--question", "?", "--kind", "boolean", "--fee", "1000");
      assert.equal(fee.code, "BALANCE_TOO_LOW");
      assert.match(fee.message, /^Pay the fee of 1000 /);

      const asked = await world.run([
        "request",
        "--dir",
        "a",
        "--question",
        "Is 17 prime?\u001b[2J",
        "--kind",
        "boolean",
        "--fee",
        "4",
        "--wait",
      ]);
      assert.equal(asked.code, 0, asked.stderr);
      assert.match(asked.stderr, /requested[\s\S]*drawn[\s\S]*decided/);
      assert.match(asked.stdout, /^answer +yes$/m);
      assert.match(asked.stdout, /^question +Is 17 prime\?\\u001b\[2J$/m);

      const shown = await world.json("decision", "1", "--deployment", "deployment.json");
      const { status, answer, signers, seats, transcript, commitGas } = shown.value as Record<string, unknown> as {
        status: string;
        answer: string;
        signers: number[];
        seats: object[];
        transcript: string;
        commitGas: number;
      };
      assert.deepEqual(
        [status, answer, signers.length >= 3, seats.length, commitGas > 50_000],
        ["decided", "yes", true, 4, true],
      );

      const proof = await world.json("verify", "1", "--deployment", "deployment.json");
      assert.deepEqual([proof.code, proof.value["ok"], proof.value["root"]], [0, true, transcript]);
      const [peer] = (await world.json("agent", "status", "--dir", "b")).value["peers"] as string[];
      const alone = await world.json("verify", "1", "--deployment", "deployment.json", "--peer", peer!);
      assert.equal(alone.value["ok"], true);
      await refutesFlippedBytes();

      await decidesPolicies();

      for (const id of ["1", "2"]) await untilSettled(id);
      assert.equal((await world.json("agent", "status", "--dir", "a")).value["services"], 2);
      const held = await balances("a");
      const claimed = await world.json("agent", "claim", "--dir", "a");
      const [withdrawal] = claimed.value["rewards"] as { currency: string; amount: string }[];
      assert.ok(withdrawal !== undefined);
      assert.deepEqual(
        [claimed.code, claimed.value["requestIds"], withdrawal.currency, BigInt(withdrawal.amount) > 0n],
        [0, [], "token", true],
      );
      assert.equal(await balances("a"), held + BigInt(withdrawal.amount));
    } finally {
      stop.abort(new Error("test is over"));
    }
    for (const { code, stdout } of await Promise.all(agents)) {
      assert.equal(code, 0);
      assert.match(stdout, /"event":"ready".*\n\{"event":"stopped"/);
    }
  });

  it("verify without any agent says that nobody answered", async () => {
    const { code } = await world.failure("verify", "1", "--deployment", "deployment.json");
    assert.equal(code, "NETWORK_FAILED");
    assert.equal(
      (await world.failure("verify", "1", "--deployment", "deployment.json", "--peer", "/ip4/127.0.0.1/tcp/1")).code,
      "USAGE",
    );
    const offline = await world.json("verify", "1", "--deployment", "deployment.json", "--store", "a/data/ipfs");
    assert.equal(offline.value["ok"], true);
  });

  it("sets exit codes as a process, and warns of a model that is not the registered one; SIGTERM ends an agent gracefully", async () => {
    assert.deepEqual(await exec(["nonsense"]), { code: 2, stdout: "" });
    await world.editConfig("a", (config) => ({ ...config, model: { ...(config["model"] as object), model: "other" } }));
    const agent = spawn(process.execPath, [main, "agent", "run", "--dir", "a", "--json"], {
      cwd: world.folder,
      env: { ...process.env, CONCLAVE_PASSWORD: PASSWORD },
    });
    let stdout = "";
    agent.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
    agent.stderr.on("data", (chunk: Buffer) => world.printed.push(chunk.toString()));
    const exited = once(agent, "exit");
    while (!stdout.includes("ready"))
      await Promise.race([sleep(50), exited.then(([early]) => assert.fail(`ended with ${early}`))]);

    // A second process for the same agent is refused before it tells the chain where it would listen.
    const published = async (): Promise<unknown> =>
      (await world.json("agent", "status", "--dir", "a")).value["endpoint"];
    const atFirst = await published();
    const second = await exec(["agent", "run", "--dir", "a", "--json"]);
    assert.equal(second.code, 1);
    assert.match(second.stdout, /STORE_LOCKED/);
    assert.deepEqual(await published(), atFirst);

    agent.kill("SIGTERM");
    const [code] = (await exited) as [number | null];
    assert.equal(code, 0);
    assert.match(stdout, /"event":"stopped"/);
    assert.match(world.printed.join(""), /"configured":"openai:other".*another model.*conclave agent model --set/);
    world.printed.push(stdout);
  });

  it("prints no key and no password", () => assertNoSecrets(world));
});

async function waitForEndpoints(names: readonly string[]): Promise<void> {
  for (const name of names) {
    for (;;) {
      const { value } = await world.json("agent", "status", "--dir", name);
      if ((value["endpoint"] as string[]).length > 0) break;
      await sleep(200);
    }
  }
}

/** Waits until the keeper of an agent has settled the request. */
async function untilSettled(requestId: string): Promise<void> {
  while ((await world.json("decision", requestId, "--deployment", "deployment.json")).value["settled"] !== true)
    await sleep(200);
}

async function balances(name: string): Promise<bigint> {
  const { value } = await world.json("agent", "status", "--dir", name);
  return BigInt(String(value["operatorTokens"]));
}

/** Flips a byte in each block of one agent's folder in turn, and checks that verify refutes the transcript's blocks. */
async function refutesFlippedBytes(): Promise<void> {
  const store = join("b", "data", "ipfs");
  const verify = () => world.json("verify", "1", "--deployment", "deployment.json", "--store", store);
  assert.equal((await verify()).value["ok"], true);
  const files = globSync("blocks/**/*", { cwd: join(world.folder, store), withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  assert.ok(files.length > 16, `${files.length} blocks`);
  let refuted = 0;
  for (const { parentPath, name } of files) {
    const path = join(parentPath, name);
    const bytes = await readFile(path);
    await writeFile(path, bytes.with(bytes.length - 1, bytes.at(-1)! ^ 1));
    const { code, value } = await verify();
    await writeFile(path, bytes);
    // The store also holds blocks of the certification, which do not belong to the transcript.
    if (code === 0) continue;
    refuted += 1;
    assert.equal((value["failure"] as { cid: string }).cid, cidString(sha256(bytes)));
  }
  const { messages } = (await verify()).value as { messages: number };
  assert.equal(refuted, messages + 1);
}

/** Checks that the same agents decide a question of policies, which is shown and proven. */
async function decidesPolicies(): Promise<void> {
  const question = "What first? (A) levee (B) pumps (C) alarms (D) maps";
  const policies = ["--kind", "policies", "--options", "4"];
  const asked = await world.run(["request", "--dir", "a", "--question", question, ...policies, "--fee", "4", "--wait"]);
  assert.equal(asked.code, 0, asked.stderr);
  assert.match(asked.stdout, /^kind +policies, any of 4$/m);
  assert.match(asked.stdout, /^answer +A,C$/m);
  assert.match(asked.stdout, /^assurance +normal, byzantine: /m);

  const deployment = ["--deployment", "deployment.json"];
  const { value } = await world.json("decision", "2", ...deployment);
  assert.deepEqual(
    [value["answer"], value["policies"], BigInt(String(value["outcome"])), value["protocolAssurance"]],
    ["A,C", [0, 2], 0b101n, "byzantine"],
    JSON.stringify(value),
  );
  assert.deepEqual((await world.json("decision", "1", ...deployment)).value["policies"], null);
  const proof = await world.run(["verify", "2", ...deployment]);
  assert.equal(proof.code, 0, proof.stdout);
  assert.match(proof.stdout, /^decision +A,C$/m);
  assert.match(proof.stdout, /^verdict +PROVEN/m);
}

async function exec(args: readonly string[]): Promise<{ readonly code: number | null; readonly stdout: string }> {
  const child = spawn(process.execPath, [main, ...args], {
    cwd: world.folder,
    stdio: ["ignore", "pipe", "ignore"],
    env: { ...process.env, CONCLAVE_PASSWORD: PASSWORD },
  });
  let stdout = "";
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, stdout };
}
