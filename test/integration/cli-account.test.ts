// Accounts and own stake on the command line, and what it says of a chain without new blocks.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { parseEther, parseGwei, toHex } from "viem";
import { tokenAbi } from "@conclave/contracts/abi";
import { give } from "../../agents/adapters/chain/faucet.ts";
import { openKeystore } from "../../agents/adapters/keystore/keystore.ts";
import { runCli } from "../../agents/cli/run-cli.ts";
import { KEYSTORE_FILE } from "../../agents/cli/shared/config.ts";
import { waitForDecision } from "../../agents/cli/shared/wait.ts";
import { ConclaveError } from "../../agents/core/errors.ts";
import type { Address } from "../../agents/core/types.ts";
import type { ChainReader } from "../../agents/ports/chain.ts";
import { asked, wordOf } from "../adapters/chain-questions.ts";
import { startCliNode, type CliNode } from "./cli-node.ts";
import { PASSWORD } from "./cli-world.ts";
import { until } from "../support/until.ts";

let harness: CliNode["harness"];
let reader: ChainReader;
let cli: CliNode["cli"];
let accountOf: CliNode["accountOf"];
let stop: CliNode["stop"];
before(async () => {
  ({ harness, cli, accountOf, stop } = await startCliNode());
  reader = await harness.reader();
});
after(() => stop());

const tokensOf = (account: Address): Promise<bigint> =>
  harness.client.readContract({
    address: harness.deployment.token,
    abi: tokenAbi,
    functionName: "balanceOf",
    args: [account],
  });

describe("command line: accounts", () => {
  it("makes keystores that cost 128 MiB to open, unless a test wants others", async () => {
    const host = {
      cwd: cli.folder,
      environment: { CONCLAVE_PASSWORD: PASSWORD },
      signal: new AbortController().signal,
    };
    const output = { stdout: () => undefined, stderr: () => undefined };
    const costOf = async (name: string, scryptN?: number): Promise<string | undefined> => {
      const words = ["account", "new", "--keystore", name];
      const code = await runCli(words, { ...host, ...output, ...(scryptN === undefined ? {} : { scryptN }) });
      assert.equal(code, 0);
      return /"n": (\d+)/.exec(await readFile(join(cli.folder, name), "utf8"))?.[1];
    };
    assert.deepEqual([await costOf("product.json"), await costOf("test.json", 2_048)], ["131072", "2048"]);
  });

  it("makes an account whose password opens it, and gives it what it asks with", async () => {
    const made = await cli.json("account", "new", "--keystore", "new.json");
    const address = made.value["address"] as Address;
    assert.equal((await openKeystore(join(cli.folder, "new.json"), PASSWORD)).address, address);
    const again = await cli.run(["account", "new", "--keystore", "new.json"]);
    assert.match(again.stderr, /^error KEYSTORE_EXISTS: .*\nway out: .*--keystore of `account new`/);
    const short = await cli.run(["account", "new", "--keystore", "weak.json"], {
      environment: { CONCLAVE_PASSWORD: "short" },
    });
    assert.equal(short.code, 2);
    assert.match(
      short.stderr,
      /^error CONFIG_INVALID: .*fewer than 8 .*\nway out: see `conclave account new --help`\n$/,
    );
    const example = /fund (0x\S+) /.exec((await cli.run(["account", "fund", "--help"])).stdout)?.[1] ?? "";
    const chain = ["--deployment", "deployment.json"];
    const given = await cli.json(
      "account",
      "fund",
      "--keystore",
      "new.json",
      "--tokens",
      "7.5",
      "--coins",
      "2",
      ...chain,
    );
    assert.deepEqual(
      [given.code, given.value["heldTokens"], given.value["heldCoins"], await tokensOf(address)],
      [0, String(parseEther("7.5")), String(parseEther("2")), parseEther("7.5")],
    );
    assert.equal((await cli.run(["account", "fund", address, "--coins", "0", ...chain])).code, 0);
    assert.equal(await tokensOf(address), parseEther("10007.5"));
    assert.equal((await cli.run(["account", "fund", example, ...chain])).code, 0);
    const precompile = await cli.failure("account", "fund", `0x${"00".repeat(19)}01`, ...chain);
    assert.equal(precompile.code, "CHAIN_REVERTED");
    assert.match(precompile.message, /^Give to 0x0+1: it took no coins/);
    const absent = await cli.run(["account", "fund", "--keystore", "absent.json", ...chain]);
    assert.match(absent.stderr, /^error KEYSTORE_MISSING: .*\nway out: .*`conclave account new`/);
    const foreign = await cli.run(["account", "fund", "--keystore", "deployment.json", ...chain]);
    assert.match(foreign.stderr, /^error CONFIG_INVALID: .*\nway out: name a keystore: `conclave account new` .*\n$/);
    const both = await cli.failure("account", "fund", address, "--keystore", "new.json", ...chain);
    assert.match(both.message, /^Find the account: two are named; give an address or --keystore FILE, and not both$/);
    const much = await cli.run(["account", "fund", address, "--coins", "99999999999999999", ...chain]);
    assert.match(
      much.stderr,
      /^error CONFIG_INVALID: Give to 0x\w+: the node's own account, .* less with --coins\nway out: see `conclave account fund --help`\n$/,
    );
    for (const wrong of [[], [address, "--keystore", "new.json"], ["0x12"]])
      assert.equal((await cli.failure("account", "fund", ...wrong, ...chain)).code, "USAGE", wrong.join(" "));
  });

  it("pays for gas at most what --max-fee-per-gas says, without an agent's folder", async (test) => {
    await accountOf("dear", 0n);
    const keystore = join("dear", KEYSTORE_FILE);
    const create = ["subscription", "create", "--keystore", keystore, "--deployment", "deployment.json"];
    const proxied = [...create, "--rpc", harness.options.rpcUrl];
    harness.proxy.intercept = ({ method }) =>
      method === "eth_maxPriorityFeePerGas" ? ({ result: toHex(parseGwei("501")) } as never) : null;
    test.after(() => (harness.proxy.intercept = () => null));
    const { code, data, message } = await cli.failure(...proxied);
    assert.deepEqual([code, data["most"]], ["GAS_TOO_DEAR", "500"]);
    assert.match(message, /--max-fee-per-gas/);
    assert.equal((await cli.failure(...proxied, "--max-fee-per-gas", "500.5")).data["most"], "500.5");
    assert.equal((await cli.run([...proxied, "--max-fee-per-gas", "600"])).code, 0);
  });

  it("gives nothing away on a chain that is not local", async () => {
    const { rpcUrl } = harness.chain;
    const gift = { to: wordOf(1n).slice(0, 42) as Address, coins: 1n, tokens: 1n, token: harness.deployment.token };
    await assert.rejects(
      give({ rpcUrl, chainId: 1 }, gift, new AbortController().signal),
      (error) => error instanceof ConclaveError && /chain 1 is not local/.test(error.message),
    );
  });

  it("adds stake to the operator's own agent, within what it holds and what there is room for", async () => {
    const operator = await accountOf("staker", parseEther("4"));
    const registered = await cli.json("agent", "register", "--dir", "staker", "--stake", "1");
    assert.equal(registered.code, 0, JSON.stringify(registered.value));
    const much = await cli.failure("agent", "stake", "3.5", "--dir", "staker");
    assert.deepEqual([much.code, much.data["balance"]], ["STAKE_MISSING", String(parseEther("3"))]);
    assert.match(much.message, /^Add 3\.5 \w+ to agent \d+: /);
    const added = await cli.run(["agent", "stake", "2", "--dir", "staker"]);
    assert.match(added.stdout, /^own stake +3 \w+ in all/m);
    assert.equal(await tokensOf(operator), parseEther("1"));
    const { value } = await cli.json("agent", "status", "--dir", "staker");
    assert.equal(value["ownStake"], String(parseEther("3")));
  });

  it("shows when no block comes: in the status of an agent, and to who waits for a decision", async (test) => {
    const status = async (): Promise<string> => (await cli.run(["agent", "status", "--dir", "staker"])).stdout;
    const { timestamp } = await reader.head();
    test.mock.method(Date, "now", () => (timestamp + 29) * 1_000);
    assert.match(await status(), /^latest block +\d+, of 20[^:]+:\d\d:\d\dZ$/m);
    test.mock.method(Date, "now", () => (timestamp + 31) * 1_000);
    assert.match(await status(), /^latest block +\d+, of 20.*no new block for 30 s/m);
    test.mock.restoreAll();

    const { request } = await asked(harness);
    const requestId = request.id;
    const now = performance.now.bind(performance);
    let skippedMs = 0;
    test.mock.method(performance, "now", () => now() + skippedMs);
    const told: string[] = [];
    const ended = new AbortController();
    const waiting = waitForDecision(reader, requestId, ended.signal, (line) => {
      told.push(line);
      skippedMs = 31_000;
    });
    await until(() => told.some((line) => line.startsWith("warning: no new block for 30 s")));
    ended.abort();
    await assert.rejects(waiting);
    const goesOn = `request ${requestId}: it goes on; see what becomes of it with conclave decision ${requestId}`;
    assert.equal(told.at(-1), goesOn);
  });
});
