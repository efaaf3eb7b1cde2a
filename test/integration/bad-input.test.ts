import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { loadAgentConfig } from "../../agents/cli/shared/config.ts";
import { createCli, type Cli } from "./cli-world.ts";

const small = join(import.meta.dirname, "../../models/conclave-small.gguf");
let cli: Cli;

before(async () => {
  cli = createCli(await mkdtemp(join(tmpdir(), "conclave-bad-input-")));
});
after(() => rm(cli.folder, { recursive: true }));

const runScript = (script: string, ...words: readonly string[]) =>
  spawnSync(process.execPath, [script, ...words], { encoding: "utf8" });

describe("options that do not go together", () => {
  it("are refused if two give the same value in different ways, and both are named", async () => {
    for (const [command, first, second] of [
      ["gc", "--from", "--dir"],
      ["unpin bafy", "--from-kubo", "--from"],
      ["pin 1", "--into-kubo", "--into"],
      ["pin", "--car", "--store"],
      ["pin", "--car", "--kubo"],
      ["pin", "--car", "--gateway"],
      ["pin", "--car", "--peer"],
    ] as const) {
      const { exit, code, message } = await cli.failure(...command.split(" "), first, "here", second, "there");
      assert.deepEqual([exit, code], [2, "USAGE"], message);
      for (const option of [first, second]) assert.ok(message.includes(option), message);
    }
  });

  it("do not include defaults", async () => {
    for (const args of [
      ["gc", "--from", "nowhere"],
      ["pin", "--car", "nowhere"],
    ]) {
      const { code, data } = await cli.failure(...args);
      assert.equal(code, "CONFIG_INVALID");
      assert.equal(data["path"], join(cli.folder, "nowhere"));
    }
  });
});

describe("deployment files of several chains", () => {
  it("are named in the order of the chains' numbers", async () => {
    const folder = await mkdtemp(join(tmpdir(), "conclave-deployments-"));
    try {
      await mkdir(join(folder, "deployments"));
      for (const chain of [31_337, 10, 8_453, 1]) await writeFile(join(folder, `deployments/${chain}.json`), "{}");
      const { code, message } = await createCli(folder).failure("decision", "1");
      assert.equal(code, "CONFIG_MISSING");
      const names = [1, 10, 8_453, 31_337].map((chain) => `deployments/${chain}.json`);
      assert.ok(message.includes(`(one of ${names.join(", ")})`), message);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

describe("a file that cannot be read", () => {
  for (const [args, message] of [
    [
      ["verify", "1", "--deployment", "none.json"],
      /^Read the deployment file .*none\.json failed: it does not exist; name a file .* with --deployment$/,
    ],
    [
      ["agent", "init", "--dir", "new", "--deployment", "none.json"],
      /^Read the deployment file .*none\.json failed: it does not exist; name a file .* with --deployment$/,
    ],
    [
      ["calibrate", "--dir", "none"],
      /^Read the agent's config .*none\/conclave\.json failed: it does not exist; name an agent's folder with --dir, or make /,
    ],
    [
      ["calibrate", "--model", small, "--questions", "none.jsonl"],
      /^Read the questions .*none\.jsonl failed: it does not exist; name a file of questions with --questions$/,
    ],
  ] as const)
    it(`is named by conclave ${args[0]} with its option, the reason and the way out: ${args.at(-1)}`, async () => {
      const failure = await cli.failure(...args);
      assert.deepEqual([failure.exit, failure.code], [2, "CONFIG_MISSING"], failure.message);
      assert.match(failure.message, message);
    });

  it("is called a folder if it is one", async () => {
    await mkdir(join(cli.folder, "folder.json"));
    const { message } = await cli.failure("verify", "1", "--deployment", "folder.json");
    assert.match(message, /folder\.json failed: it is a folder; /);
  });
});

// The system makes no folders in /proc: Node's recursive mkdir would try for ever, and no signal would end it.
describe("a folder that cannot be made", () => {
  const deployment = { chainId: 31_337, oracle: `0x${"12".repeat(20)}`, registry: `0x${"12".repeat(20)}` };
  for (const [option, script, ...args] of [
    ["--dir", "devnet/cli.ts", "dev", "--port", "0", "--dir", "/proc/nope"],
    ["--dir", "devnet/cli.ts", "agent", "init", "--rpc", "http://127.0.0.1:1", "--dir", "/proc/nope"],
    ["--dir", "devnet/cli.ts", "model", "pull", "https://127.0.0.1:1/a.gguf", "--dir", "/proc/nope"],
    ["--keystore", "devnet/cli.ts", "account", "new", "--keystore", "/proc/nope/key.json"],
    ["--out", "scripts/subgraph.ts", "--out", "/proc/nope/build"],
    ["--dir", "scripts/model.ts", "pull", "smollm2", "--dir", "/proc/nope"],
  ] as const)
    it(`is named with ${option}, the reason and the way out by ${script} ${args.slice(0, 2).join(" ")}`, async () => {
      const file = join(cli.folder, "made.json");
      await writeFile(file, JSON.stringify({ ...deployment, deploymentBlock: 0 }));
      const { status, stderr } = spawnSync(process.execPath, [script, ...args], {
        encoding: "utf8",
        env: {
          ...process.env,
          CONCLAVE_DEPLOYMENT: file,
          CONCLAVE_PASSWORD: "a long password",
          CONCLAVE_OPERATOR_PASSWORD: "a longer password",
        },
        timeout: 60_000,
        killSignal: "SIGKILL",
      });
      assert.equal(status, 2, stderr);
      const message = `error CONFIG_INVALID: Make the folder "/proc/nope" failed: ENOENT: no such file or directory, mkdir '/proc/nope'; name another place with ${option}\n`;
      assert.ok(stderr.includes(message), stderr);
    });
});

describe("a deployment file of the tools", () => {
  for (const script of ["scripts/subgraph.ts", "devnet/subgraph/main.ts"])
    it(`is named with its option, the reason and the way out by ${script}`, async () => {
      const bare = join(cli.folder, "bare.json");
      await writeFile(bare, "{}");
      for (const [file, reason] of [
        [join(cli.folder, "none.json"), "it does not exist"],
        [bare, "it has no registry"],
      ] as const) {
        const { status, stderr } = runScript(script, "--deployment", file);
        assert.deepEqual(
          [status, stderr],
          [
            2,
            `error USAGE: Correct --deployment ${JSON.stringify(file)}: ${reason}; name a file that npm run deploy or the demo wrote\nway out: see \`node ${script} --help\`\n`,
          ],
        );
      }
    });

  it("needs no rpcUrl, which npm run deploy writes into none: subgraph:dev asks for --rpc, as every command calls it", async () => {
    const file = join(cli.folder, "deployed.json");
    const [oracle, registry, settlement, slasher] = Array.from({ length: 4 }, () => `0x${"12".repeat(20)}`);
    const deployed = { chainId: 1, oracle, registry, settlement, slasher, deploymentBlock: 0 };
    await writeFile(file, JSON.stringify(deployed));
    const run = (...more: readonly string[]): string =>
      runScript("devnet/subgraph/main.ts", "--deployment", file, ...more).stderr;
    assert.match(run(), /deployed\.json has no rpcUrl; name it with --rpc/);
    assert.doesNotMatch(run("--rpc", "http://127.0.0.1:1"), /rpcUrl|unknown option/);
  });
});

describe("a name that no contract has", () => {
  for (const flags of [["--planted"], ["--list"], ["--planted", "--list"], []])
    it(`is refused by mutate ${flags.join(" ")}: a run of nothing would report a full score`, () => {
      const { status, stdout, stderr } = runScript("scripts/mutate.ts", "--file", "nosuchfile", ...flags);
      assert.deepEqual([status, stdout], [2, ""], stderr);
      const what = flags.includes("--planted") ? "planted fault" : "mutant";
      assert.match(
        stderr,
        new RegExp(`^error USAGE: Choose mutants: no ${what} stands in .* --file "nosuchfile"; .+\nway out: see .+\n$`),
      );
    });
});

describe("a sample of the planted faults", () => {
  it("is refused by mutate: it tries all of them", () => {
    const { status, stderr } = runScript("scripts/mutate.ts", "--planted", "--sample", "3", "--list");
    assert.equal(status, 2, stderr);
    assert.match(stderr, /^error USAGE: option '--sample <count>' cannot be used with option '--planted'/);
  });
});

describe("an option of request that is wrong by itself", () => {
  for (const [flags, code, ...parts] of [
    [["--kind", "bad"], "USAGE", '--kind: "bad"', "boolean, choice, number, text, policies"],
    [["--kind", "choice"], "TERMS_INVALID", "--kind choice needs --options N"],
    [["--committee", "3"], "USAGE", '--committee: "3"', "from 4 to 64"],
    [["--protocol", "bad"], "PROTOCOL_UNKNOWN", '"bad"', "mbft, mbft-bayesian"],
    [["--currency", "usd"], "USAGE", '--currency: "usd"', "token, native"],
    [["--fee", "free"], "USAGE", '--fee: "free"', "such as 12.5"],
    [["--duration", "long"], "USAGE", '--duration: "long"', "such as 90s"],
    [["--duration", "8d"], "TERMS_INVALID", 'duration = "8d"', "7d is the longest"],
    [["--finality", "95"], "TERMS_INVALID", 'finality = "95"', "--appeals 1"],
    [["--security", "some"], "USAGE", '--security: "some"', "none, secured"],
    [["--subscription", "mine"], "USAGE", '--subscription: "mine"', "1 or more"],
    [["--source", "none.txt", "http://example.com/"], "USAGE", '--source: "http://example.com/"', "https only"],
    [["--source", "none.txt", "--registry", "0x1"], "USAGE", '--registry: "0x1"', "20-byte address"],
    [["--chain-id", "main"], "USAGE", '--chain-id: "main"', "from 1 to"],
    [["--max-fee-per-gas", "0"], "USAGE", '--max-fee-per-gas: "0"', "0.001 to 1000000"],
    [["--max-fee-per-gas", "1e3"], "USAGE", '--max-fee-per-gas: "1e3"', "0.001 to 1000000"],
    [["--rpc", "localhost"], "CONFIG_INVALID", "--rpc", "http or https URL"],
    [["--question", ""], "TERMS_INVALID", "question"],
  ] as const)
    it(`is told before any file or chain is read: ${flags.join(" ")}`, async () => {
      const args = ["--question", "Is 2 more than 1?", "--kind", "boolean", "--deployment", "none.json"];
      const failure = await cli.failure("request", ...args, ...flags);
      assert.equal(failure.code, code, failure.message);
      for (const part of parts) assert.ok(failure.message.includes(part), failure.message);
    });
});

describe("a deployment file", () => {
  it("is refused if an address in it has a wrong checksum, which names the field", async () => {
    const oracle = "0x5FbDB2315678afecb367f032d93F642f64180aa3";
    const file = { chainId: 31_337, oracle: oracle.replace("5F", "5f"), registry: oracle.toLowerCase() };
    await writeFile(join(cli.folder, "wrong.json"), JSON.stringify(file));
    const { code, message } = await cli.failure("decision", "1", "--deployment", "wrong.json");
    assert.equal(code, "CONFIG_INVALID", message);
    assert.match(message, /oracle.*expected a 20-byte hex address, in lower case or with the right checksum/);
  });
});

describe("a mistyped option", () => {
  it("is refused on one line with the option that may be meant", async () => {
    const { code, stderr } = await cli.run(["doctor", "--dirr", "x"]);
    assert.equal(code, 2);
    assert.match(
      stderr,
      /^error USAGE: unknown option '--dirr'; did you mean --dir\?\nway out: see `conclave doctor --help`\n$/,
    );
  });

  it("is named before a missing one, which the help marks as required", async () => {
    const bogus = await cli.run(["agent", "register", "--bogus"]);
    assert.match(bogus.stderr, /^error USAGE: unknown option '--bogus'\n/);
    const missing = await cli.run(["agent", "register"]);
    assert.match(
      missing.stderr,
      /^error USAGE: required option '--stake <amount>' not specified\nway out: see `conclave agent register --help`\n$/,
    );
    const { stdout } = await cli.run(["agent", "register", "--help"]);
    assert.match(stdout, /--stake <amount> [^-]*\(required\)/);
  });
});

describe("verify without a request", () => {
  it("names a deployment file that cannot be read, else the missing id", async () => {
    const file = await cli.run(["verify", "--deployment", "/nope"]);
    assert.match(file.stderr, /^error CONFIG_MISSING: Read the deployment file \/nope failed: /);
    const none = await cli.run(["verify"]);
    assert.match(none.stderr, /^error USAGE: Read <id>: it is missing; .+\nway out: see `conclave verify --help`\n$/);
  });
});

describe("a prompt over the context", () => {
  it("is the error of calibrate, with its way out, when no call was answered", async () => {
    const lines = Array.from({ length: 50 }, (_, index) =>
      JSON.stringify({ question: `Is ${index} odd? ${"x y ".repeat(1000)}`, kind: "boolean", answer: "yes" }),
    );
    await writeFile(join(cli.folder, "long.jsonl"), lines.join("\n"));
    const { code, stderr } = await cli.run(["calibrate", "--model", small, "--questions", "long.jsonl"]);
    assert.equal(code, 1);
    assert.match(
      stderr,
      /\nerror MODEL_FAILED: Ask model conclave-small.* failed \(prompt-too-long\): the prompt has /,
    );
    assert.match(stderr, /\nway out: shorten the question, raise model\.contextSize .*\n$/);
    assert.equal(existsSync(join(cli.folder, "calibration.json")), false);
  });
});

describe("agent init", () => {
  it("makes no agent in the working folder where an unset variable of a shell names none", async () => {
    const { code, message } = await cli.failure("agent", "init", "--dir", "", "--deployment", "none.json");
    assert.equal(code, "USAGE");
    assert.match(message, /^Read --dir: "" is invalid; give the path of a folder, \. for this one$/);
  });
});

describe("agent init with an unusable model", () => {
  const address = `0x${"12".repeat(20)}`;
  const chain = ["--rpc", "http://127.0.0.1:1", "--chain-id", "1", "--oracle", address, "--registry", address];
  const init = ["agent", "init", "--dir", "new", ...chain];
  const isMade = (): boolean => existsSync(join(cli.folder, "new"));

  it("names option, path and reason of a missing, foreign, cut or endless file, and creates nothing", async () => {
    const bytes = await readFile(small);
    await writeFile(join(cli.folder, "text.gguf"), "a text, and no model");
    await writeFile(join(cli.folder, "empty.gguf"), "");
    await writeFile(join(cli.folder, "cut.gguf"), bytes.subarray(0, bytes.length - 1));
    await writeFile(join(cli.folder, "header.gguf"), bytes.subarray(0, 1000));
    await mkdir(join(cli.folder, "folder.gguf"));
    execFileSync("mkfifo", [join(cli.folder, "pipe.gguf")]);
    for (const [name, expected, reason] of [
      ["absent.gguf", "MODEL_FILE_MISSING", /it cannot be opened \(ENOENT\)/],
      ["folder.gguf", "MODEL_FILE_MISSING", /it cannot be opened \(not a file\)/],
      ["pipe.gguf", "MODEL_FILE_MISSING", /it cannot be opened \(not a file\)/],
      ["text.gguf", "MODEL_FILE_BROKEN", /it is not a GGUF file/],
      ["empty.gguf", "MODEL_FILE_BROKEN", /it is empty/],
      ["cut.gguf", "MODEL_FILE_BROKEN", /it is cut short: its tensors end at byte \d+, the file at \d+/],
      ["header.gguf", "MODEL_FILE_BROKEN", /its header is cut short/],
    ] as const) {
      const { exit, code, message, data } = await cli.failure(...init, "--model-path", name);
      const path = join(cli.folder, name);
      assert.deepEqual([exit, code, data["option"], data["path"]], [1, expected, "--model-path", path], message);
      assert.match(message, reason);
      assert.ok(message.startsWith(`Choose the model: --model-path ${path} is unusable: `), message);
      assert.match(message, /; name a GGUF file, or a server with --model-url$/);
      assert.equal(isMade(), false);
    }
  });

  it("refuses server options without a server, or beside a file, by name and without their value", async () => {
    for (const option of ["--model-name", "--model-provider", "--api-key-env", "--api-key-file"]) {
      const { code, message, data } = await cli.failure(...init, option, "sekret");
      assert.deepEqual([code, data], ["USAGE", { option }]);
      assert.match(message, /give --model-url/);
      assert.doesNotMatch(message, /sekret/);
    }
    const both = await cli.failure(...init, "--model-path", small, "--model-url", "http://127.0.0.1:1/v1");
    assert.deepEqual([both.code, /--model-url.*--model-path/.test(both.message)], ["USAGE", true]);
    assert.equal(isMade(), false);
  });

  it("accepts a file that is a model", async () => {
    await copyFile(small, join(cli.folder, "own.gguf"));
    assert.equal((await cli.json(...init, "--model-path", "own.gguf")).code, 0);
    const config = JSON.parse(await readFile(join(cli.folder, "new", "conclave.json"), "utf8")) as {
      readonly model: { readonly path: string };
    };
    assert.equal(config.model.path, join(cli.folder, "own.gguf"));
  });
});

describe("an agent's config", () => {
  it("names files relative to its own folder, also files with keys, wherever the command runs", async () => {
    const address = `0x${"12".repeat(20)}`;
    const chain = ["--rpc", "http://127.0.0.1:1", "--chain-id", "1", "--oracle", address, "--registry", address];
    assert.equal((await cli.json("agent", "init", "--dir", "keyed", ...chain, "--model-path", small)).code, 0);
    const path = join(cli.folder, "keyed", "conclave.json");
    const server = { provider: "openai", url: "http://127.0.0.1:1/v1", model: "m" };
    const model = {
      kind: "openai",
      ...server,
      apiKeyFile: "key.txt",
      calibration: "table.json",
      fallbacks: [{ ...server, apiKeyFile: "more/key.txt" }],
    };
    await writeFile(path, JSON.stringify({ ...(JSON.parse(await readFile(path, "utf8")) as object), model }));
    const loaded = (await loadAgentConfig(path)).model;
    assert.ok(loaded.kind === "openai");
    const files = [loaded.apiKeyFile, loaded.calibration, loaded.fallbacks[0]?.apiKeyFile];
    const folder = join(cli.folder, "keyed");
    assert.deepEqual(
      files,
      ["key.txt", "table.json", "more/key.txt"].map((name) => join(folder, name)),
    );
  });
});
