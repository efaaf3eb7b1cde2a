// `conclave dev` as its users meet it: a process that prints what to use, serves questions, and leaves nothing behind.
import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, readFile, readdir, rename, rm, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, it } from "node:test";
import { runCli } from "../../agents/cli/run-cli.ts";
import { dev } from "../../devnet/dev/entry.ts";
import { beginWorld, keepWorld, readKept } from "../../devnet/dev/folder.ts";
import { renderWorld } from "../../devnet/dev/report.ts";
import { snippetsFor } from "../../devnet/dev/snippets.ts";
import type { DevFacts } from "../../devnet/dev/start.ts";
import { keysFromPrivateKey } from "../../agents/adapters/keystore/keys.ts";
import type { AgentId } from "../../agents/core/types.ts";
import { startAgent, stopProcess } from "../../devnet/world/agents.ts";
import { isOpen } from "../../devnet/world/world.ts";
import { createCli, type Cli } from "./cli-world.ts";
import { AUTHORITY, withPages, type Handler } from "../support/pages.ts";
import { until } from "../support/until.ts";

const root = join(import.meta.dirname, "../..");

interface Ready extends DevFacts {
  readonly event: string;
}

interface Dev {
  readonly child: ChildProcess;
  readonly facts: Ready;
  /** Resolves when the process says that all agents serve. */
  readonly serving: Promise<void>;
}

async function startDev(...flags: readonly string[]): Promise<Dev> {
  const args = ["devnet/cli.ts", "dev", "--json", "--port", "0", "--block-time", "1", "--agents", "4", ...flags];
  const child = spawn(process.execPath, args, { cwd: root, stdio: ["ignore", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout });
  const [line] = (await once(lines, "line")) as [string];
  const serving = once(lines, "line").then(([second]) => assert.equal(second, '{"event":"serving"}'));
  return { child, facts: JSON.parse(line) as Ready, serving };
}

/** Kills a first start when all agents are there and the world is not. */
async function killedHalfWay(world: string): Promise<void> {
  const args = ["devnet/cli.ts", "dev", "--port", "0", "--agents", "4", "--dir", world];
  const child = spawn(process.execPath, args, { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
  const exited = once(child, "exit");
  await until(() => existsSync(join(world, "asker.json")));
  child.kill("SIGKILL");
  await exited;
  assert.equal(await readFile(join(world, "world.json"), "utf8"), '{"isBegun":true}\n');
}

/** Ports of the chain, of the gateways and of the live streams. */
function portsOf({ rpcUrl, gateways, live }: DevFacts): readonly number[] {
  return [rpcUrl, ...gateways, ...live].map((url) => Number(new URL(url).port));
}

async function areClosed(facts: DevFacts): Promise<boolean> {
  return (await Promise.all(portsOf(facts).map(isOpen))).every((open) => !open);
}

async function end({ child }: Dev, signal: NodeJS.Signals): Promise<number | null> {
  const exited = once(child, "exit");
  child.kill(signal);
  const [code] = (await exited) as [number | null];
  return code;
}

async function printed(commands: Parameters<typeof runCli>[2], ...args: readonly string[]) {
  const texts: string[] = [];
  const host = {
    stdout: (text: string) => void texts.push(text),
    stderr: () => undefined,
    environment: {},
    cwd: tmpdir(),
    signal: new AbortController().signal,
  };
  return { code: await runCli(args, host, commands), text: texts.join("") };
}

interface Failure {
  readonly code: string;
  readonly message: string;
}

async function failure(...args: readonly string[]): Promise<Failure> {
  const { code, text } = await printed([dev], ...args);
  assert.notEqual(code, 0);
  return (JSON.parse(text) as { readonly error: Failure }).error;
}

describe("conclave dev", () => {
  let folder: string;
  let cli: Cli;
  let running: Dev;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "conclave-dev-test-"));
    cli = createCli(folder);
    const world = join(folder, "world");
    await killedHalfWay(world);
    running = await startDev("--dir", world);
  });
  after(async () => {
    if (running.child.exitCode === null && running.child.signalCode === null) await end(running, "SIGKILL");
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  });

  const ask = async (question: string, ...more: readonly string[]): Promise<string> => {
    const { deploymentFile, asker } = running.facts;
    const account = ["--keystore", asker.keystore, "--password-file", asker.passwordFile];
    const place = more.includes("--dir") ? [] : ["--deployment", deploymentFile];
    const asked = ["request", "--question", question, "--kind", "number", "--wait", ...place];
    const { code, value } = await cli.json(...asked, ...account, ...more);
    assert.equal(code, 0, JSON.stringify(value));
    return JSON.stringify(value);
  };

  it("says what to use, and decides the question that its asker asks", async () => {
    const { event, agents, subgraphUrl } = running.facts;
    assert.deepEqual([event, agents.map(({ agentId }) => agentId), subgraphUrl], ["ready", [1, 2, 3, 4], null]);
    for (const { agentId, directory } of agents) assert.equal(basename(directory), `agent-${agentId}`);
    assert.match(await ask("What is 27 plus 38?"), /"answer":"65"/);
  });

  it("serves transcripts to browsers: each gateway has what its agent sat for, and the dashboard's own what any did", async () => {
    await running.serving;
    const { gateways, pageUrl } = running.facts;
    for (const gateway of [...gateways, ...(pageUrl === null ? [] : [pageUrl])]) {
      const args = ["verify", "1", "--gateway", gateway, "--deployment", running.facts.deploymentFile];
      assert.equal((await cli.run(args)).code, 0, gateway);
    }
  });

  it("lets pages watch each agent, and says how long a committee has", async () => {
    await running.serving;
    assert.equal(running.facts.live.length, 4);
    for (const stream of running.facts.live) {
      const answer = await fetch(`${stream}/live/1/0`, { headers: { origin: "http://page.example" } });
      assert.deepEqual([answer.status, answer.headers.get("access-control-allow-origin")], [204, "*"]);
    }
    // Epochs of 320 blocks, one a second: a busy machine may need minutes to load all models.
    assert.deepEqual(running.facts.committeeSeconds, { least: 320, most: 640 });
    assert.match(
      renderWorld(running.facts),
      /their model +conclave-small[^\n]*; it adds and subtracts numbers of two digits/,
    );
    assert.match(
      renderWorld(running.facts),
      /refunds +a committee has between 5m20s and 10m40s to decide, [^\n]* then the question is refunded/,
    );
  });

  it("is alone in its folder, whose agents stay as many", async () => {
    const again = ["dev", "--json", "--port", "0", "--dir", join(folder, "world")];
    const { message } = await failure(...again);
    const { pid } = running.child;
    assert.equal(
      message,
      `Open the world in ${join(folder, "world")}: another \`conclave dev\` runs there (process ${pid}); end it with \`kill ${pid}\`, or name another --dir`,
    );
  });

  it("ends by one Ctrl-C, and goes on where it stopped", async () => {
    assert.equal(await end(running, "SIGINT"), 0);
    assert.ok(await areClosed(running.facts));
    const { message } = await failure("dev", "--json", "--dir", join(folder, "world"), "--agents", "6");
    assert.match(message, /: it has 4 agents; leave out --agents, or name another --dir$/);
    const other = await failure(
      "dev",
      "--json",
      "--dir",
      join(folder, "world"),
      "--model",
      "models/conclave-tiny.gguf",
    );
    assert.match(
      other.message,
      /: its agents are registered with the repository's model; leave out --model, or name another --dir$/,
    );
    const { deploymentFile } = running.facts;
    const whole = await readFile(deploymentFile, "utf8");
    const again = ["dev", "--json", "--port", "0", "--dir", join(folder, "world")];
    for (const text of ["{", '{"chainId":31337}']) {
      await writeFile(deploymentFile, text);
      const damaged = await failure(...again);
      assert.equal(damaged.code, "CONFIG_INVALID");
      assert.match(
        damaged.message,
        /: deployment\.json names no contracts of its chain \(.*deployment\.json.*\); start it again/,
      );
    }
    await writeFile(deploymentFile, whole);
    const keystore = join(folder, "world", "agent-2", "keystore.json");
    await rename(keystore, `${keystore}.away`);
    assert.match(
      (await failure(...again)).message,
      /: one of its agents is damaged \(.+\); start it again, or remove the folder$/,
    );
    await rename(`${keystore}.away`, keystore);
    const { oracle } = running.facts.deployment;
    running = await startDev("--dir", join(folder, "world"));
    assert.equal(running.facts.deployment.oracle, oracle);
    assert.match(
      await ask("What is 27 plus 39?", "--subscription", "1"),
      /"requestId":"281474976710657".*"answer":"66"/s,
    );
    const { code, value } = await cli.json("verify", "--since", "0", "--deployment", running.facts.deploymentFile);
    assert.deepEqual([code, value["proven"]], [0, 2]);
  });

  it("lets its agents read pages of this machine, and its asker as one of them", async () => {
    await end(running, "SIGINT");
    const price: Handler = (_, response) =>
      response.writeHead(200, { "content-type": "application/json" }).end('{"price":12.5}');
    await withPages(price, async (port) => {
      const file = join(folder, "sources.json");
      await copyFile(AUTHORITY, join(folder, "authority.pem"));
      const hosts = { "api.test": { address: "127.0.0.1", port, ca: "authority.pem" } };
      await writeFile(file, JSON.stringify({ hosts }));
      running = await startDev("--dir", join(folder, "world"), "--sources", file);
      const [{ directory } = assert.fail()] = running.facts.agents;
      const source = ["--source", "https://api.test/rates#/price", "--decimals", "1", "--dir", directory];
      assert.match(await ask("What does one token cost?", ...source), /"answer":"12\.5"/);
    });
  });

  it("leaves no process behind, even if it is killed", async () => {
    await running.serving;
    await end(running, "SIGKILL");
    await until(() => areClosed(running.facts));
  });
});

describe("agents of a local world", () => {
  it("share one listener of this process, however many they are", async () => {
    const directory = await mkdtemp(join(tmpdir(), "conclave-dev-agents-"));
    const listeners = process.listenerCount("exit");
    const agent = {
      agentId: 1 as AgentId,
      directory,
      keys: keysFromPrivateKey(new Uint8Array(32).fill(1)),
      lies: false,
    };
    const children = [startAgent(agent, ""), startAgent(agent, "")];
    assert.equal(process.listenerCount("exit"), listeners + 1);
    await Promise.all(children.map(stopProcess));
    assert.equal(process.listenerCount("exit"), listeners);
    await rm(directory, { recursive: true });
  });
});

describe("what conclave dev prints", () => {
  it("names files in words that a shell reads as one", () => {
    const facts = {
      rpcUrl: "http://127.0.0.1:1",
      deployment: { chainId: 31_337, oracle: `0x${"1".repeat(40)}`, registry: `0x${"2".repeat(40)}` },
      deploymentFile: "/my world/it's.json",
      asker: { keystore: "/plain/asker.json", passwordFile: "/my world/password", subscriptionId: 1 },
    };
    const { shell, allow } = snippetsFor(facts as unknown as Parameters<typeof snippetsFor>[0]);
    const account = String.raw`--deployment '/my world/it'\''s.json' --keystore /plain/asker.json --password-file '/my world/password'`;
    for (const text of [shell.split("\n")[0] ?? "", allow]) assert.ok(text.endsWith(account), text);
    assert.ok(shell.endsWith(String.raw`--deployment '/my world/it'\''s.json'`));
  });
});

describe("conclave dev refuses", () => {
  const messageOf = async (...args: readonly string[]): Promise<string> =>
    (await failure("dev", "--json", ...args)).message;

  it("a port that is taken, before it starts anything", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    assert.match(await messageOf("--port", String(port)), new RegExp(`listens on port ${port} of 127.0.0.1 already`));
    server.close();
  });

  it("a folder that keeps no whole world, and says how to remove it", async () => {
    const folder = await mkdtemp(join(tmpdir(), "conclave-dev-half-"));
    await writeFile(join(folder, "chain.json"), "{}");
    const message = await messageOf("--dir", folder);
    assert.match(message, /keeps no whole world: a file is gone or damaged; /);
    assert.ok(message.endsWith(`remove the folder with \`rm -r ${folder}\``), message);
    await writeFile(join(folder, "thesis.txt"), "mine");
    const other = (await readKept(folder).catch((error: Error) => error)) as Error;
    assert.match(other.message, /other files, too, such as thesis\.txt; name another --dir$/);
    assert.ok(existsSync(join(folder, "chain.json")));
    await rm(folder, { recursive: true });
  });

  it("a folder whose first start did not end, if somebody put files there", async () => {
    const folder = await mkdtemp(join(tmpdir(), "conclave-dev-begun-"));
    await beginWorld(folder, assert.fail);
    await mkdir(join(folder, "agent-1", "data"), { recursive: true });
    const made = ["chain.json", "agent-1/keystore.json", "agent-1/data/beacon"];
    for (const name of made) await writeFile(join(folder, name), "{}");
    for (const other of ["notes.txt", "agent-1/notes.txt", "my-agent-1", "asker.json.txt"]) {
      await writeFile(join(folder, other), "");
      await assert.rejects(beginWorld(folder, assert.fail), {
        code: "CONFIG_INVALID",
        message: `Open the world in ${folder}: its first start did not end, and it holds other files, such as ${other}; move them away and start again, or name another --dir`,
      });
      for (const name of [...made, other]) assert.ok(existsSync(join(folder, name)), name);
      await rm(join(folder, other));
    }
    const said: string[] = [];
    await beginWorld(folder, (line) => void said.push(line));
    assert.deepEqual(said, [`the first start in ${folder} did not end: it begins anew`]);
    assert.deepEqual(await readdir(folder), ["world.json"]);
    assert.equal(await readKept(folder), null);
    await keepWorld(folder, { agents: 4, liar: false, model: null });
    await assert.rejects(readKept(folder), /keeps no whole world/);
    await rm(folder, { recursive: true });
  });

  it("a folder whose chain is damaged", { skip: process.platform !== "linux" || process.arch !== "x64" }, async () => {
    const folder = await mkdtemp(join(tmpdir(), "conclave-dev-damaged-"));
    await writeFile(join(folder, "world.json"), '{"agents":4,"liar":false}');
    for (const name of ["chain.json", "deployment.json"]) await writeFile(join(folder, name), "{");
    const { code, message } = await failure("dev", "--json", "--port", "0", "--dir", folder);
    assert.equal(code, "CONFIG_INVALID");
    assert.match(
      message,
      /: its chain does not go on from chain\.json \(Start anvil: .*\); start it again, or remove the folder$/,
    );
    await rm(folder, { recursive: true });
  });

  it("a folder with other files, and a file", async () => {
    const folder = await mkdtemp(join(tmpdir(), "conclave-dev-other-"));
    const file = join(folder, "notes.txt");
    await writeFile(file, "");
    assert.match(await messageOf("--dir", folder), /holds other files, such as notes\.txt; name a new folder/);
    assert.match(
      await messageOf("--dir", file),
      /^Make the folder ".*notes\.txt" failed: EEXIST.*; name another place with --dir$/,
    );
    await rm(folder, { recursive: true });
  });

  it("a file of sources that is not there, or that names what no config has", async () => {
    const folder = await mkdtemp(join(tmpdir(), "conclave-dev-sources-"));
    const file = join(folder, "sources.json");
    assert.match(
      await messageOf("--sources", file),
      /Read the agents' sources .*sources\.json failed: it does not exist/,
    );
    await writeFile(file, '{"hosts":{"localhost":{"address":"127.0.0.1"}}}');
    assert.match(await messageOf("--sources", file), /failed at hosts\.localhost: .*the full name of a host/);
    await rm(folder, { recursive: true });
  });

  it("a folder without a name, as an unset variable of a shell gives it", async () => {
    assert.match(await messageOf("--dir", ""), /Read --dir: "" is invalid; give the path of a folder, \. for this one/);
  });

  it("times that make no blocks, and committees that cannot be drawn", async () => {
    assert.match(await messageOf("--block-time", "0"), /Read --block-time: "0" is invalid; give seconds such as 1/);
    assert.match(await messageOf("--agents", "3"), /Read --agents: "3" is invalid; give a whole number from 4/);
  });

  it("nothing of its help: the product alone knows no such command", async () => {
    const { code, text } = await printed(undefined, "--help");
    assert.equal(code, 0);
    assert.doesNotMatch(text, /^Try:$|^ {2}dev /m);
    assert.match(text, /^Ask:\n {2}account /m);
  });
});
