import assert from "node:assert/strict";
import { readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { parseEther } from "viem";
import { createFileJournals } from "../../agents/adapters/journal/file-journal.ts";
import { createFileEvidence } from "../../agents/adapters/evidence/file-evidence.ts";
import { openKeystore } from "../../agents/adapters/keystore/keystore.ts";
import { committeeHash, hashedRequest } from "../../agents/core/encoding/typed-data.ts";
import { limits } from "../../agents/core/limits.ts";
import { protocols } from "../../agents/core/protocols/index.ts";
import type { Address, SeatIndex } from "../../agents/core/types.ts";
import { proofBy } from "../adapters/chain-questions.ts";
import { wideId } from "../support/core/committee.ts";
import { MIN_UNBONDING_SECONDS } from "../../scripts/deploy/settings.ts";
import {
  PASSWORD,
  assertNoSecrets,
  assertUndecided,
  startCliWorld,
  type CliWorld,
  type ConfigJson,
} from "./cli-world.ts";

let world: CliWorld;

describe("command line", () => {
  before(async () => {
    world = await startCliWorld();
  });
  after(() => world.close());

  it("explains every command with an example", async () => {
    const commands = [
      ...["init", "register", "run", "status", "stake", "unstake", "withdraw", "claim", "commission"].map((name) => [
        "agent",
        name,
      ]),
      ...["list", "submit", "claim"].map((name) => ["evidence", name]),
      ...["new", "fund"].map((name) => ["account", name]),
      ...["create", "fund", "withdraw", "consumer", "transfer", "accept", "show"].map((name) => ["subscription", name]),
      ...["request", "cancel", "appeal", "withdraw"].map((name) => [name]),
      ["delegate"],
      ["undelegate"],
      ["delegations"],
      ["decision"],
      ["verify"],
      ["transcript"],
      ["pin"],
      ["serve"],
      ["protocols"],
      ["doctor"],
      ["calibrate"],
    ];
    for (const command of commands) {
      const { code, stdout } = await world.run([...command, "--help"]);
      assert.equal(code, 0);
      assert.match(stdout, new RegExp(`Example:\n {2}\\$ conclave ${command.join(" ")} `));
      assert.match(stdout, /--json/);
    }
    const { stdout } = await world.run(["request", "--help"]);
    assert.match(stdout, /\n {2}\$ conclave request .* --kind policies --options 4\n/);
  });

  it("ends usage errors with 2, on one line with a way out, or as JSON", async () => {
    const plain = await world.run(["agent", "register"]);
    assert.equal(plain.code, 2);
    assert.match(plain.stderr, /^error USAGE: required option '--stake <amount>' not specified\nway out: .+\n$/);
    for (const args of [
      ["bogus"],
      ["agent"],
      ["agent", "bogus"],
      ["decision"],
      ["decision", "1", "2"],
      ["decision", "zero"],
      ["verify", "-1"],
    ]) {
      const { code } = await world.run(args);
      assert.equal(code, 2, args.join(" "));
    }
    assert.equal((await world.failure("decision", "zero")).code, "USAGE");
    for (const [id, code] of [
      [2n ** 128n - 1n, "REQUEST_UNKNOWN"],
      [2n ** 128n, "USAGE"],
      [10n ** 77n, "USAGE"],
    ] as const) {
      const failed = await world.failure("decision", String(id), "--deployment", "deployment.json");
      assert.equal(failed.code, code, String(id));
      if (code === "USAGE") assert.match(failed.message, /the number of a request, 1 or more and below 2\^128$/);
    }
    const sources = ["--kubo", "http://127.0.0.1:1", "--store", "."];
    const two = await world.failure("verify", "1", ...sources, "--deployment", "deployment.json");
    assert.equal(two.code, "USAGE");
  });

  it("init makes an encrypted key and a config that only the owner reads, and never overwrites", async () => {
    assert.equal((await world.run(["agent", "init", "--dir", "fresh", "--deployment", "deployment.json"])).code, 0);
    for (const file of ["keystore.json", "operator.json", "conclave.json"]) {
      assert.equal((await stat(join(world.folder, "fresh", file))).mode & 0o777, 0o600);
    }
    const again = await world.failure("agent", "init", "--dir", "fresh", "--deployment", "deployment.json");
    assert.deepEqual([again.exit, again.code], [2, "CONFIG_INVALID"]);
    await rm(join(world.folder, "fresh", "conclave.json"));
    const key = await world.failure("agent", "init", "--dir", "fresh", "--deployment", "deployment.json");
    assert.deepEqual([key.exit, key.code], [1, "KEYSTORE_EXISTS"]);
    const none = await world.run(["agent", "init", "--dir", "other", "--deployment", "deployment.json"], {
      environment: { CONCLAVE_PASSWORD: "" },
    });
    assert.equal(none.code, 1);
    assert.match(none.stderr, /^error KEYSTORE_PASSWORD_MISSING: .* by --password-file FILE, /);
  });

  it("config errors name the field and the value, but no secret", async () => {
    await world.init("crooked");
    const cases: readonly (readonly [Record<string, unknown>, RegExp])[] = [
      [{ listen: ["/ip4/1.2.3.4"] }, /listen\.0: "\/ip4\/1\.2\.3\.4" is wrong: expected a multiaddr/],
      [{ surprise: true }, /top level: .*"surprise"/],
      [{ chain: { rpcUrl: "sekret" } }, /chain\.rpcUrl: its value \(not shown\) is wrong/],
      [{ dataDir: 7 }, /dataDir: 7 is wrong/],
      [{ model: { kind: "llama", path: "m", tokensPerRequest: 5 } }, /model\.tokensPerRequest: 5 is wrong/],
      [{ content: { kind: "floppy" } }, /content\.kind/],
      [{ timing: { relayBatchMs: 5_000 } }, /timing\.relayBatchMs: 5000 is wrong: expected less than relayStaggerMs/],
    ];
    const path = join(world.folder, "crooked", "conclave.json");
    const good = JSON.parse(await readFile(path, "utf8")) as ConfigJson;
    for (const [changes, pattern] of cases) {
      await writeFile(path, JSON.stringify({ ...good, ...changes }));
      const { exit, code, message } = await world.failure("agent", "status", "--dir", "crooked");
      assert.deepEqual([exit, code], [2, "CONFIG_INVALID"]);
      assert.match(message, pattern);
      assert.doesNotMatch(message, /sekret/);
    }
    await writeFile(path, "{");
    assert.equal((await world.failure("agent", "status", "--dir", "crooked")).code, "CONFIG_INVALID");
    assert.equal((await world.failure("agent", "status", "--dir", "nowhere")).code, "CONFIG_MISSING");
    const bad = await world.failure(
      "agent",
      "init",
      "--dir",
      "new",
      "--deployment",
      "deployment.json",
      "--listen",
      "nonsense",
    );
    assert.match(bad.message, /listen\.0: "nonsense"/);
    assert.equal(
      (await world.failure("agent", "init", "--dir", "new", "--deployment", "absent.json")).code,
      "CONFIG_MISSING",
    );
    assert.equal((await world.failure("decision", "1")).code, "CONFIG_MISSING");
  });

  it("registers only with enough stake and a decrypted key", async () => {
    const signer = await world.init("poor");
    assert.deepEqual((await world.failure("agent", "status", "--dir", "poor")).code, "AGENT_NOT_REGISTERED");
    const register = ["agent", "register", "--dir", "poor", "--stake"];
    assert.match(
      (await world.failure(...register, "9.5")).message,
      /^Stake 9\.5 \w+: the registry takes 10 \w+ to 160 /,
    );
    const broke = await world.failure(...register, "10");
    assert.equal(broke.code, "STAKE_MISSING");
    assert.match(broke.message, new RegExp(`^Stake 10 \\w+: ${signer} holds 0 \\w+; send it 10 \\w+ more$`));
    assert.equal((await world.failure(...register, "ten")).code, "USAGE");
    await world.bank.mint(signer, parseEther("50"));
    const wrong = await world.run([...register, "10"], { environment: { CONCLAVE_PASSWORD: "not the password" } });
    assert.equal(wrong.code, 1);
    assert.match(wrong.stderr, /^error KEYSTORE_PASSWORD_WRONG: /);
    assert.equal((await world.failure(...register, "12.5")).code, "BALANCE_TOO_LOW");
    await world.bank.fund(signer, 0n);
    const { code, value } = await world.json(...register, "12.5");
    assert.deepEqual([code, value["stake"], value["model"]], [0, "12500000000000000000", "openai:truthful"]);
    assert.deepEqual([(await world.failure(...register, "12.5")).code], ["USAGE"]);
    const status = await world.json("agent", "status", "--dir", "poor");
    const { stake, active, operator, duties, reputation, services, proven } = status.value;
    assert.deepEqual(
      { stake, active, operator, duties, reputation },
      { stake: "12500000000000000000", active: true, operator: signer, duties: [], reputation: 1_000_000 },
    );
    assert.deepEqual([services, proven], [0, false]);
    const journal = await createFileJournals(join(world.folder, "poor", "data", "journals")).open(
      `request-${wideId}-2`,
    );
    await journal.close();
    const busy = await world.json("agent", "status", "--dir", "poor");
    assert.deepEqual(busy.value["duties"], [{ requestId: String(wideId), attempt: 2 }]);
    const { stdout } = await world.run(["agent", "status", "--dir", "poor"]);
    assert.match(stdout, /^stake +12\.5 \w+$/m);
    assert.match(stdout, /^services +0 of 16 settled requests: fresh, its stake weighs half in the draw$/m);
    assert.match(stdout, new RegExp(`^open duties +${wideId}$`, "m"));
  });

  it("lets only the operator's key move the stake, not the agent's key", async () => {
    const cold = await world.init("cold");
    await world.bank.fund(cold, parseEther("20"));
    await world.init("hot");
    const operator = ["--operator-keystore", "cold/keystore.json", "--operator-password-file", "cold/password"];
    await writeFile(join(world.folder, "cold", "password"), `${PASSWORD}\n`);
    const { value } = await world.json("agent", "register", "--dir", "hot", "--stake", "10", ...operator);
    assert.equal(value["operator"], cold);
    const alone = await world.failure("agent", "unstake", "--dir", "hot", "--amount", "all");
    assert.deepEqual([alone.exit, alone.code], [2, "CONFIG_INVALID"]);
    // Before the chain or a password is asked for anything.
    for (const amount of ["0", "abc"]) {
      const { message } = await world.failure("agent", "stake", amount, "--dir", "hot");
      assert.equal(message, `Read <amount>: "${amount}" is invalid; give an amount above 0 such as 12.5`);
    }
    assert.equal((await world.json("agent", "unstake", "--dir", "hot", "--amount", "all", ...operator)).code, 0);
  });

  it("RW4: lowers the commission at once and raises it after the delay", async () => {
    const commission = ["agent", "commission", "--dir", "poor"];
    for (const wrong of [[], ["--set", "5", "--raise"], ["--set", "50.1"], ["--set", "5 %"]])
      assert.equal((await world.failure(...commission, ...wrong)).code, "USAGE", wrong.join(" "));
    const none = await world.failure(...commission, "--raise");
    assert.deepEqual([none.code, none.data["error"]], ["CHAIN_REVERTED", "NoRaiseAnnounced"]);
    const lowered = await world.json(...commission, "--set", "7.5");
    assert.deepEqual([lowered.code, lowered.value["commission"], lowered.value["raise"]], [0, 75_000, null]);
    const announced = await world.json(...commission, "--set", "20");
    const { time, ...raise } = announced.value["raise"] as { time: number; commission: number };
    assert.deepEqual([announced.value["commission"], raise], [75_000, { commission: 200_000 }]);
    const status = ["agent", "status", "--dir", "poor"];
    assert.match(
      (await world.run(status)).stdout,
      /^commission +7\.50 %; 20\.00 % may take effect from 20\d\d-.* on$/m,
    );
    const early = await world.failure(...commission, "--raise");
    assert.deepEqual([early.data["error"], early.data["raiseTime"]], ["RaiseNotDue", String(time)]);
    await world.passTime(MIN_UNBONDING_SECONDS);
    const raised = await world.json(...commission, "--raise");
    assert.deepEqual([raised.code, raised.value["commission"], raised.value["raise"]], [0, 200_000, null]);
    assert.match((await world.run(status)).stdout, /^commission +20\.00 %\nrewards +none$/m);
  });

  it("unstakes, waits for the delay, withdraws", async () => {
    const dir = ["--dir", "poor"];
    assert.equal((await world.failure("agent", "withdraw", ...dir)).code, "STAKE_MISSING");
    const much = await world.failure("agent", "unstake", ...dir, "--amount", "13");
    assert.match(much.message, /^Unstake 13 \w+: the operator's stake is 12\.5 /);
    const some = await world.json("agent", "unstake", ...dir, "--amount", "2.5");
    assert.deepEqual([some.value["unbonding"], some.value["stake"]], ["2500000000000000000", "10000000000000000000"]);
    const early = await world.run(["agent", "withdraw", ...dir]);
    assert.match(early.stderr, /^error STAKE_MISSING: Withdraw 2\.5 \w+: it is bound until 20.* come back in 1[56]d/);
    assert.match(early.stderr, /\nway out: wait until then, and repeat the command\n$/);
    await world.passTime(MIN_UNBONDING_SECONDS);
    const late = await world.json("agent", "withdraw", ...dir);
    assert.deepEqual([late.code, late.value["amount"]], [0, "2500000000000000000"]);
    assert.equal((await world.json("agent", "unstake", ...dir, "--amount", "all")).code, 0);
    const status = await world.json("agent", "status", ...dir);
    assert.deepEqual([status.value["active"], status.value["stake"]], [false, "0"]);
    assert.match((await world.run(["agent", "status", ...dir])).stdout, /not active/);
  });

  it("lists and submits the evidence that an agent keeps, and shows the reward", async () => {
    const dir = ["--dir", "hot"];
    const names = ["victim", "second", "third", "fourth"];
    for (const name of names) {
      await world.bank.fund(await world.init(name), parseEther("20"));
      assert.equal((await world.json("agent", "register", "--dir", name, "--stake", "10")).code, 0);
    }
    const keys = await openKeystore(join(world.folder, "victim", "keystore.json"), PASSWORD);
    const { chainId, oracle } = world.deployment;
    const agentId = Number((await world.json("agent", "status", "--dir", "victim")).value["agentId"]);
    const { request, committee, decide } = await world.ask("second");
    await assertUndecided(world, String(request.id));
    const seat = committee.findIndex((one) => one.agentId === agentId) as SeatIndex;
    const place = { committeeHash: committeeHash(committee), seat };
    const proof = proofBy(keys, agentId, { chainId, oracle }, hashedRequest(request), place);
    const unknown = { ...hashedRequest(request), id: wideId };
    const premature = proofBy(keys, agentId, { chainId, oracle }, unknown);
    assert.deepEqual((await world.json("evidence", "list", ...dir)).value, { proofs: [], unreadable: [], reward: "0" });
    await createFileEvidence(join(world.folder, "hot", "data", "evidence")).keep(proof);

    const { stdout } = await world.run(["evidence", "list", ...dir]);
    assert.match(stdout, new RegExp(`^open +request 1\\.0: agent \\d+, seat ${seat}, phase 2`, "m"));
    await createFileEvidence(join(world.folder, "second", "data", "evidence")).keep(premature);
    const early = await world.run(["evidence", "submit", "--dir", "second"]);
    assert.equal(early.code, 1);
    assert.match(early.stdout, new RegExp(`^refused \\(.* no usable request .*\\) +request ${wideId}\\.0`, "m"));
    // ST10: the committee has not decided.
    const undecided = await world.run(["evidence", "submit", ...dir]);
    assert.equal(undecided.code, 1);
    assert.match(undecided.stdout, /^refused \(.*no decision .*submit it again when .*\) +request 1\.0/m);
    await decide(names);
    const hot = (await world.json("agent", "status", ...dir)).value["signer"] as Address;
    await world.bank.fund(hot, 0n);
    const { code, value } = await world.json("evidence", "submit", ...dir);
    // The least reward: a twentieth of the least stake, 10.
    assert.deepEqual([code, value["reward"]], [0, String(parseEther("0.5"))]);
    assert.deepEqual((await world.json("evidence", "submit", ...dir)).value["submitted"], []);
    assert.match((await world.run(["evidence", "list", ...dir])).stdout, /^slashed +request 1\.0/m);
    const victim = await world.json("agent", "status", "--dir", "victim");
    assert.deepEqual([victim.value["ownStake"], victim.value["active"]], [String(parseEther("9")), false]);
    assert.equal((await world.json("evidence", "claim", ...dir)).value["amount"], String(parseEther("0.5")));
    assert.match((await world.run(["evidence", "claim", ...dir])).stdout, /^claimed +nothing is owed/m);
  });

  it("lists the registered protocols without a chain, an agent or a config", async () => {
    const { code, value } = await world.json("protocols");
    assert.equal(code, 0);
    assert.deepEqual(
      value["protocols"],
      protocols.map(({ id, code: number, version, title, assurance }) => ({
        id,
        code: number,
        version,
        title,
        assurance,
      })),
    );
    const { stdout } = await world.run(["protocols"]);
    for (const { id, code: number, version, assurance } of protocols)
      assert.match(stdout, new RegExp(`^${id} +${number} +${version} +${assurance} `, "m"));
    assert.match(stdout, /^byzantine +with fewer than a third/m);
    assert.equal((await world.failure("protocols", "mbft")).code, "USAGE");
  });

  it("tells a wrong chain from an unreachable one", async () => {
    await world.init("lost");
    await world.editConfig("lost", (config) => ({ ...config, chain: { ...config.chain, chainId: 1 } }));
    const wrong = await world.failure("agent", "status", "--dir", "lost");
    assert.deepEqual(
      [wrong.exit, wrong.code, wrong.data],
      [1, "CHAIN_WRONG_ID", { expected: 1, found: world.chain.chainId }],
    );
    await world.editConfig("lost", (config) => ({
      ...config,
      chain: { ...config.chain, chainId: world.chain.chainId, rpcUrl: "http://127.0.0.1:1/v3/sekret" },
    }));
    const down = await world.failure("agent", "status", "--dir", "lost");
    assert.equal(down.code, "CHAIN_UNREACHABLE");
    assert.doesNotMatch(down.message, /sekret/);
    await world.editConfig("lost", (config) => ({
      ...config,
      chain: { ...config.chain, rpcUrl: world.chain.rpcUrl, oracle: `0x${"12".repeat(20)}` },
    }));
    assert.equal((await world.failure("agent", "run", "--dir", "lost")).code, "CHAIN_NO_CONTRACT");
    const flags = ["--deployment", "deployment.json", "--chain-id", "5"];
    assert.equal((await world.failure("decision", "1", ...flags)).code, "CHAIN_WRONG_ID");
    const { oracle, registry } = world.deployment;
    const explicit = ["--rpc", world.chain.rpcUrl, "--oracle", oracle, "--registry", registry];
    for (const [command, id] of [
      ["decision", "99"],
      ["decision", String(wideId)],
      ["verify", String(wideId)],
    ] as const) {
      const { code, data } = await world.failure(command, id, ...explicit);
      assert.deepEqual([code, data["requestId"]], ["REQUEST_UNKNOWN", id]);
    }
  });

  it("checks a question before anything is paid", async () => {
    const ask = (...args: string[]) =>
      world.failure("request", "--dir", "poor", "--question", "Is 17 a prime number?", "--kind", "boolean", ...args);
    const look = ["--question", "?", "--kind", "boolean", "--fee", "7.5", "--dry-run"];
    const looked = await world.run(["request", ...look, "--dir", "poor"]);
    assert.match(looked.stdout, /^fee +7\.5 \w+ \(the least is 0 \w+\)$/m);
    const unknown = await ask("--protocol", "paxos");
    assert.equal(unknown.code, "PROTOCOL_UNKNOWN");
    assert.match(unknown.message, /"paxos" is unknown; known are .*mbft/);
    const long = await world.failure(
      "request",
      "--dir",
      "poor",
      "--kind",
      "text",
      "--question",
      "é".repeat(limits.questionBytes / 2 + 1),
    );
    const { bytes, maxBytes } = long.data;
    assert.deepEqual(
      [long.code, bytes, maxBytes],
      ["QUESTION_TOO_LONG", limits.questionBytes + 2, limits.questionBytes],
    );
    for (const [args, field] of [
      [["--options", "3"], "options"],
      [["--decimals", "2"], "decimals"],
      [["--tolerance", "1"], "tolerance"],
      [["--kind", "choice"], "options"],
      [["--kind", "policies"], "options"],
      [["--kind", "policies", "--options", "4", "--decimals", "1"], "decimals"],
      [["--kind", "policies", "--options", "4", "--tolerance", "1"], "tolerance"],
      // These terms are fine: only agents are missing.
      [["--kind", "policies", "--options", "26", "--committee", "31"], "committee"],
      [["--kind", "text", "--options", "4"], "options"],
      [["--kind", "number", "--decimals", "1", "--tolerance", "0.25"], "tolerance"],
      [["--question", ""], "question"],
      [["--duration", "31d"], "duration"],
      [["--duration", "1799s"], "duration"],
      [["--kind", "text", "--appeals", "1"], "appeals"],
      [["--committee", "32", "--appeals", "1"], "committee"],
      [["--kind", "text", "--protocol", "leaderless", "--assurance", "high"], "protocol"],
      [["--committee", "31"], "committee"],
    ] as const) {
      const { code, data } = await ask(...args);
      assert.deepEqual([code, data["field"]], ["TERMS_INVALID", field], args.join(" "));
    }
    for (const args of [
      ["--kind", "essay"],
      ["--kind", "policies", "--options", "1"],
      ["--kind", "policies", "--options", "27"],
      ["--committee", "3"],
      ["--fee", "1e3"],
      ["--duration", "soon"],
      ["--deadline-in", "10m"],
      ["--appeals", "4"],
      ["--retries", "4"],
      ["--currency", "shells"],
      ["--subscription", "0"],
      ["--assurance", "low"],
    ]) {
      assert.equal((await ask(...args)).code, "USAGE", args.join(" "));
    }
  });

  it("prints no key and no password", () => assertNoSecrets(world));
});
