// Money of accounts on the command line. No agents run here: the test certifies with their keys, so that it controls
// what they decide.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { parseEther } from "viem";
import { tokenAbi } from "@conclave/contracts/abi";
import { createOperatorActions } from "../../agents/adapters/chain/operator.ts";
import { unpackRound } from "../../agents/core/request/rounds.ts";
import type { Address, AgentId, Decision, RequestId } from "../../agents/core/types.ts";
import type { ChainReader, ChainWriter } from "../../agents/ports/chain.ts";
import { awaitedOf, roundsOf } from "../../agents/core/request/progress.ts";
import { MIN_UNBONDING_SECONDS } from "../../scripts/deploy/settings.ts";
import { progressNow, drawNext, lastOf, wordOf } from "../adapters/chain-questions.ts";
import { startCliNode, type CliNode } from "./cli-node.ts";
import { assertNoSecrets } from "./cli-world.ts";
import { until } from "../support/until.ts";

const hung: Partial<Decision> = { status: "hung", outcome: wordOf(0n), answer: "" };
const no: Partial<Decision> = { outcome: wordOf(0n), answer: "no" };
const yes: Partial<Decision> = { outcome: wordOf(1n), answer: "yes" };

let harness: CliNode["harness"];
let reader: ChainReader;
let writer: ChainWriter;
let bank: CliNode["bank"];
let cli: CliNode["cli"];
let accountOf: CliNode["accountOf"];
let stop: CliNode["stop"];
before(async () => {
  ({ harness, bank, cli, accountOf, stop } = await startCliNode());
  [reader, writer] = [await harness.reader(), await harness.writer(0)];
});
after(() => stop());

/** Draws the committee that the request waits for and commits this decision of it. */
async function decide(requestId: RequestId, decision: Partial<Decision>): Promise<number> {
  const { request, awaited, committee, certifying } = await drawNext(harness, requestId);
  assert.notEqual(await writer.commit(request, awaited, certifying(decision)), "already");
  return committee.length;
}

/**
 * Moves the clock just beyond the end of the running period: a command that waits would give up if it moved further.
 */
async function passDeadline(requestId: RequestId): Promise<void> {
  const { round } = await progressNow(reader, requestId);
  await harness.passTime(unpackRound(round).deadline - (await reader.head()).timestamp + 5);
}

async function finalize(requestId: RequestId): Promise<void> {
  await passDeadline(requestId);
  const { request } = await progressNow(reader, requestId);
  assert.notEqual(await writer.finalize(request, await lastOf(reader, requestId)), "already");
}

async function settle(requestId: RequestId): Promise<void> {
  const progress = await progressNow(reader, requestId);
  assert.notEqual(await writer.settle(progress.request, roundsOf(progress) ?? []), "already");
}

const tokensOf = (account: Address): Promise<bigint> =>
  harness.client.readContract({
    address: harness.deployment.token,
    abi: tokenAbi,
    functionName: "balanceOf",
    args: [account],
  });

const allowanceOf = (account: Address): Promise<bigint> =>
  harness.client.readContract({
    address: harness.deployment.token,
    abi: tokenAbi,
    functionName: "allowance",
    args: [account, harness.deployment.oracle],
  });

async function ask(name: string, ...terms: string[]): Promise<RequestId> {
  const question = ["request", "--dir", name, "--question", "Is it so?", "--kind", "boolean", "--duration", "1h"];
  const { code, value } = await cli.json(...question, ...terms);
  assert.equal(code, 0, JSON.stringify(value));
  return BigInt(String(value["requestId"])) as RequestId;
}

describe("command line: money", () => {
  it("SE4, SE6: request --wait shows a retry, the provisional and the final decision; the rest of the fee comes back", async () => {
    const asker = await accountOf("asker", parseEther("35"));
    // The fee is for 2 units for each of 4 and of 9 seats, and 1 for each of 9 seats that hang: a unit is 1.
    const terms = ["--kind", "boolean", "--retries", "1", "--appeals", "1", "--fee", "35", "--duration", "1h"];
    const waiting = cli.run(["request", "--dir", "asker", "--question", "Is it so?", ...terms, "--wait"]);
    const requestId = await until(async () => ((await tokensOf(asker)) === 0n ? (1n as RequestId) : null));
    await decide(requestId, hung);
    await decide(requestId, yes);
    const { deadline } = unpackRound((await progressNow(reader, requestId)).round);
    await finalize(requestId);
    const { code, stdout, stderr } = await waiting;
    assert.equal(code, 0, stderr);
    const [shared, secures, captured, silenced, first, ...steps] = stderr.trimEnd().split("\n");
    assert.match(shared ?? "", /^warning: all 13 agents that are active and awake state the model test: /);
    assert.equal(secures, "secures 0: no stake stands behind the answer");
    // A fifth of 13 equal agents are two of them.
    assert.match(
      captured ?? "",
      /^captured by who holds 20.00 % of the weight: never \(the last committee, 9 seats: never\), 33/,
    );
    assert.match(silenced ?? "", /^silenced by who holds 20.00 % of the weight: once in 13 \(/);
    assert.match(first ?? "", /^request 1: asked in 0x/);
    const day = new Date(deadline * 1_000).toISOString().slice(0, 10);
    assert.match(
      steps.splice(6, 1)[0] ?? "",
      new RegExp(`^request 1: provisional until ${day}\\S+Z: yes; to appeal: conclave appeal 1$`),
    );
    const reopened = "reopened, the committee hung: attempt 1, committee of 4";
    assert.deepEqual(
      steps,
      ["requested", "drawn", "hung", reopened, "drawn", "decided", "final"].map((step) => `request 1: ${step}`),
    );
    assert.match(stdout, /^status +decided$/m);
    assert.match(stdout, /^attempt 0 +4 seats: hung; another committee was called$/m);
    assert.match(stdout, /^answer +yes$/m);
    assert.equal(await allowanceOf(asker), 0n);

    await settle(requestId);
    const { value } = await cli.json("withdraw", "--dir", "asker");
    const [withdrawal] = value["withdrawals"] as { amount: string }[];
    // 4 went to the committee that hung and 8 to the one that decided, less what three seats cannot share.
    const rest = parseEther("23") + 3n;
    assert.equal(withdrawal?.amount, String(rest));
    assert.equal(await tokensOf(asker), rest);
  });

  it("SE23: cancel gives the whole fee back, and is refused to others and when the committee may be known", async () => {
    const asker = await accountOf("rash", parseEther("1"));
    await accountOf("meddler", 0n);
    const refusal = async (id: RequestId, name = "rash"): Promise<string> => {
      const { code, message } = await cli.failure("cancel", String(id), "--dir", name);
      return code === "CANCEL_IMPOSSIBLE" ? message : code;
    };
    const id = await ask("rash", "--fee", "1");
    assert.match(await refusal(id, "meddler"), new RegExp(`: ${asker} asked, not 0x`));
    const { code, value } = await cli.json("cancel", String(id), "--dir", "rash");
    const { transactionHash, gasUsed, ...facts } = value;
    assert.deepEqual([code, typeof transactionHash, typeof gasUsed], [0, "string", "number"]);
    const fee = String(parseEther("1"));
    assert.deepEqual(facts, { requestId: String(id), fee, currency: "token", subscriptionId: 0 });
    assert.match(await refusal(id), /: no committee is awaited any more$/);
    assert.equal((await cli.json("withdraw", "--dir", "rash")).code, 0);
    assert.equal(await tokensOf(asker), parseEther("1"));
    const { stdout } = await cli.run(["cancel", String(await ask("rash", "--fee", "0.5")), "--dir", "rash"]);
    assert.match(
      stdout,
      /^fee +0\.5 \w+, all of it\nback to +the account's credit\ntransaction +0x.*\nnext +conclave w/m,
    );
    const late = await ask("rash", "--fee", "0.5", "--retries", "1");
    const { request, awaited } = await drawNext(harness, late);
    const known = `: its committee may be known: the seed block is ${awaited.seedBlock}, and the latest block is`;
    assert.match(
      await refusal(late),
      new RegExp(`${known} [0-9]+; without --delay a request can be cancelled only in its first blocks$`),
    );
    await passDeadline(late);
    assert.notEqual(await writer.replace(request, awaited), "already");
    assert.match(await refusal(late), /: its first committee was known$/);
  });

  for (const currency of ["token", "native"] as const) {
    it(`SE5, SE12: an appeal in ${currency} pays exactly the bond shown, and gets it back with half the pay of the wrong seats`, async () => {
      const unit = currency === "token" ? "\\w+" : "coins";
      await accountOf(`asker-${currency}`, parseEther("3"));
      const appellant = await accountOf(`appellant-${currency}`, 0n);
      // The fee is for 2 units for each of 4 and 9 seats: a unit is 0.03125.
      const id = await ask(`asker-${currency}`, "--appeals", "1", "--fee", "0.8125", "--currency", currency);
      const appeal = ["appeal", String(id), "--dir", `appellant-${currency}`];
      const early = await cli.failure(...appeal);
      assert.match(early.message, /: no decision stands yet$/);
      assert.equal(await decide(id, yes), 4);

      const bond = parseEther("0.5625");
      const facts = { requestId: String(id), attempt: 1, seats: 9, bond: String(bond), currency };
      const dry = await cli.json("appeal", String(id), "--dry-run", "--deployment", "deployment.json");
      assert.deepEqual([dry.code, dry.value], [0, facts]);
      const { stdout } = await cli.run(["appeal", String(id), "--dry-run", "--deployment", "deployment.json"]);
      assert.match(stdout, new RegExp(`^bond +0\\.5625 ${unit}\ncommittee +9 seats$`, "m"));

      if (currency === "token") {
        const broke = await cli.failure(...appeal);
        assert.equal(broke.code, "BALANCE_TOO_LOW");
        assert.match(broke.message, /^Pay the bond of 0\.5625 \w+: 0x.* holds 0 /);
        assert.equal(await allowanceOf(appellant), 0n, "approved for what it cannot pay");
        await bank.mint(appellant, parseEther("1"));
      }
      const held = await harness.client.getBalance({ address: appellant });
      const waiting = cli.run([...appeal, "--wait", "--json"]);
      await until(async () => (await reader.requestEvents(id)).some(({ kind }) => kind === "requestReopened"));
      if (currency === "token") {
        assert.deepEqual([await tokensOf(appellant), await allowanceOf(appellant)], [parseEther("1") - bond, 0n]);
      } else {
        const paid = held - (await harness.client.getBalance({ address: appellant }));
        assert.ok(paid > bond && paid < bond + parseEther("0.01"), String(paid));
      }
      assert.equal(await decide(id, no), 9);
      const { code, stdout: report, stderr } = await waiting;
      assert.equal(code, 0, stderr);
      const [shown, ...steps] = stderr.trimEnd().split("\n");
      assert.match(shown ?? "", new RegExp(`^request ${id}: a bond of 0\\.5625 ${unit} calls a committee of 9$`));
      const reopened = `request ${id}: reopened, ${appellant} appealed: attempt 1, committee of 9`;
      assert.ok(steps.includes(reopened), stderr);
      assert.equal(steps.at(-1), `request ${id}: decided`);
      const { answer, earlier, appeal: made } = JSON.parse(report) as Record<string, unknown>;
      const { transactionHash, gasUsed, ...rest } = made as Record<string, unknown>;
      assert.deepEqual([answer, rest], ["no", facts]);
      assert.deepEqual([typeof transactionHash, typeof gasUsed], ["string", "number"]);
      assert.deepEqual(earlier, [{ attempt: 0, status: "decided", answer: "yes", seats: 4, appellant }]);
      assert.match((await cli.failure(...appeal)).message, /: its decision is final$/);

      await settle(id);
      const { value } = await cli.json("withdraw", "--dir", `appellant-${currency}`);
      const [{ transactionHash: _, ...withdrawal }] = value["withdrawals"] as [Record<string, unknown>];
      // The appellant gets the bond and half of 8 units.
      assert.deepEqual(withdrawal, { currency, amount: String(bond + parseEther("0.125")) });
    });
  }

  it("SE8: an appeal that two committees do not answer ends the request as hung, and returns the bond", async () => {
    await accountOf("calm", parseEther("35"));
    await accountOf("alone", parseEther("27"));
    const id = await ask("calm", "--appeals", "1", "--retries", "1", "--fee", "35");
    await decide(id, yes);
    const waiting = cli.run(["appeal", String(id), "--dir", "alone", "--wait"]);
    await until(async () => (await reader.requestEvents(id)).some(({ kind }) => kind === "requestReopened"));
    const silent = await progressNow(reader, id);
    const { request } = silent;
    const awaited = awaitedOf(silent);
    assert.ok(awaited !== null);
    await passDeadline(id);
    assert.notEqual(await writer.replace(request, awaited), "already");
    const unanswered = awaitedOf(await progressNow(reader, id));
    assert.ok(unanswered !== null);
    await passDeadline(id);
    assert.notEqual(await writer.fallBack(request, unanswered), "already");
    const { code, stdout, stderr } = await waiting;
    assert.equal(code, 1, stderr);
    assert.match(stderr, /reopened, 0x\w+ appealed: attempt 1, committee of 9$/m);
    assert.match(stderr, /reopened, the committee did not answer in time: attempt 2, committee of 9$/m);
    assert.match(stderr, /hung, nobody answered the last attempt\n$/);
    assert.match(stdout, /^answer +none: nobody answered the last attempt$/m);
    const { value } = await cli.json("withdraw", "--dir", "alone");
    const [withdrawal] = value["withdrawals"] as { amount: string }[];
    assert.equal(withdrawal?.amount, String(parseEther("27")));
  });

  it("SE5: refuses an appeal after its time", async () => {
    await accountOf("late", parseEther("26"));
    const id = await ask("late", "--appeals", "1", "--fee", "26");
    await decide(id, yes);
    await passDeadline(id);
    const late = await cli.failure("appeal", String(id), "--dir", "late");
    assert.equal(late.code, "APPEAL_IMPOSSIBLE");
    assert.match(late.message, /: the time for appeals is over$/);
    assert.equal((await cli.failure("appeal", "99", "--dir", "late")).code, "REQUEST_UNKNOWN");
  });

  it("RW2, RW5: a delegation earns, is claimed, taken back and paid out", async () => {
    const patron = await accountOf("patron", parseEther("26"));
    const saver = await accountOf("saver", parseEther("3"));
    const account = ["--dir", "saver"];
    // Eight of the 26 units are for the first committee.
    const asked = await ask("patron", "--appeals", "1", "--fee", "26");
    await decide(asked, yes);
    const decided = (await reader.requestEvents(asked)).find(({ kind }) => kind === "decisionCommitted");
    const id = String(decided?.kind === "decisionCommitted" ? decided.committee[0]?.agentId : 0);
    const noPassword = { environment: { CONCLAVE_PASSWORD: "" } };
    assert.match((await cli.run(["delegations", ...account], noPassword)).stdout, /^no delegations$/m);
    const much = await cli.failure("delegate", id, "3.5", ...account);
    assert.equal(much.code, "STAKE_MISSING");
    assert.match(much.message, /holds 3 \w+, and the agent has room for 15 /);
    assert.equal((await cli.failure("delegate", "99", "1", ...account)).code, "AGENT_NOT_REGISTERED");
    const bonded = await cli.json("delegate", id, "1", ...account);
    assert.deepEqual([bonded.code, bonded.value["bonded"]], [0, String(parseEther("1"))]);
    const positions = async (...flags: readonly string[]) => {
      const { value } = await cli.json("delegations", ...flags, ...account);
      return value["delegations"] as { agentId: number; shares: string; joining: string; rewards: { token: string } }[];
    };
    await finalize(asked);
    assert.equal((await positions("--earn"))[0]?.joining, String(parseEther("1")), "RW6: not yet");
    await harness.passTime(14 * 86_400);
    assert.equal((await positions())[0]?.joining, String(parseEther("1")), "nobody let it earn");
    assert.equal((await positions("--earn"))[0]?.joining, "0");
    await settle(asked);
    // Three of the four seats share 8. The operator's stake is also 1 and its commission 0, so the delegator gets half
    // of a third.
    const listed = await cli.json("delegations", ...account);
    const [found] = listed.value["delegations"] as { agentId: number; shares: string; rewards: { token: string } }[];
    assert.deepEqual([String(found?.agentId), found?.shares], [id, String(parseEther("1"))]);
    const rewards = BigInt(found?.rewards.token ?? 0);
    assert.ok([0n, 1n].includes(parseEther("4") / 3n - rewards), String(rewards));
    assert.match(
      (await cli.run(["delegations", ...account])).stdout,
      new RegExp(`^${id} +1 \\w+ +10{18} +none +none +0\\.00 %`, "m"),
    );

    assert.equal((await cli.failure("delegations", "--to", patron, ...account)).code, "USAGE");
    const claimed = await cli.json("delegations", "--claim", "--to", patron, ...account);
    const [claim] = claimed.value["claims"] as { currency: string; amount: string }[];
    assert.deepEqual([claim?.currency, claim?.amount], ["token", String(rewards)]);
    assert.equal(await tokensOf(patron), rewards);

    for (const wrong of [[], ["1", "--all"], ["--all", "--withdraw"], ["1.5"]])
      assert.equal((await cli.failure("undelegate", id, ...wrong, ...account)).code, "USAGE", wrong.join(" "));
    const half = await cli.json("undelegate", id, String(parseEther("0.5")), ...account);
    assert.deepEqual(
      [half.value["bonded"], half.value["unbonding"]],
      [String(parseEther("0.5")), String(parseEther("0.5"))],
    );
    assert.equal((await cli.json("undelegate", id, "--all", ...account)).value["shares"], "0");
    assert.match(
      (await cli.run(["delegations", ...account])).stdout,
      new RegExp(`^${id} +0 \\w+ +0 +none +1 \\w+, free at 20`, "m"),
    );
    const early = await cli.failure("undelegate", id, "--withdraw", ...account);
    assert.deepEqual([early.code, early.data["error"]], ["STAKE_MISSING", "StillUnbonding"]);
    await harness.passTime(MIN_UNBONDING_SECONDS + 5);
    const late = await cli.json("undelegate", id, "--withdraw", ...account);
    assert.deepEqual([late.value["withdrawn"], late.value["unbonding"]], [String(parseEther("1")), "0"]);
    assert.equal(await tokensOf(saver), parseEther("3"));
  });

  it("SE17: a subscription is created, funded, shown, used by its consumers alone and emptied", async () => {
    const signer = await accountOf("poor", parseEther("5"));
    const account = ["--dir", "poor"];
    const { value } = await cli.json("subscription", "create", ...account);
    const id = String(value["subscriptionId"]);
    assert.equal(value["owner"], signer);
    const broke = await cli.failure("subscription", "fund", id, "--amount", "1000", ...account);
    assert.equal(broke.code, "BALANCE_TOO_LOW");
    assert.match(broke.message, /^Pay the amount of 1000 /);
    assert.equal((await cli.json("subscription", "fund", id, "--amount", "4.5", ...account)).code, 0);
    const coins = ["--amount", "0.25", "--currency", "native"];
    assert.equal((await cli.json("subscription", "fund", id, ...coins, ...account)).code, 0);
    const other = `0x${"77".repeat(20)}`;
    const consumer = ["subscription", "consumer", id, "--consumer", other];
    assert.equal((await cli.failure(...consumer, ...account)).code, "USAGE");
    assert.equal((await cli.json(...consumer, "--allowance", "1.5", ...account)).code, 0);
    const anyCoins = ["--allowance", "any", "--currency", "native"];
    assert.equal((await cli.json(...consumer, ...anyCoins, ...account)).code, 0);
    const deployment = ["--deployment", "deployment.json"];
    const shown = await cli.json("subscription", "show", id, "--consumer", other, ...deployment);
    assert.deepEqual(
      [shown.value["owner"], shown.value["balance"], shown.value["allowance"]],
      [
        signer,
        { token: String(parseEther("4.5")), native: String(parseEther("0.25")) },
        { token: String(parseEther("1.5")), native: String(2n ** 104n - 1n) },
      ],
    );
    const removed = await cli.json(...consumer, "--remove", ...account);
    assert.deepEqual(removed.value["allowance"], { token: "0", native: "0" });
    const { stdout } = await cli.run(["subscription", "show", id, "--consumer", other, ...deployment]);
    assert.match(
      stdout,
      new RegExp(
        `^holds +4\\.5 \\w+\nholds +0\\.25 coins\n[\\s\\S]*^${other} +may spend 0 \\w+\n${other} +may spend 0 coins$`,
        "m",
      ),
    );
    const emptied = await cli.json("subscription", "withdraw", id, "--amount", "all", ...account);
    assert.deepEqual([emptied.code, emptied.value["amount"]], [0, String(parseEther("4.5"))]);
    const nothing = await cli.failure("subscription", "withdraw", id, "--amount", "1", ...account);
    assert.equal(nothing.code, "BALANCE_TOO_LOW");
    assert.equal((await cli.failure("subscription", "show", "99", ...deployment)).code, "SUBSCRIPTION_UNKNOWN");
    assert.match((await cli.run(["withdraw", ...account])).stdout, /^withdrawn +nothing: the credit is 0$/m);
  });

  it("SE17: a subscription is offered, taken back, offered again and accepted", async () => {
    const account = ["--dir", "poor"];
    const heir = await accountOf("heir", 0n);
    const { value: made } = await cli.json("subscription", "create", ...account);
    const id = String(made["subscriptionId"]);
    const accept = ["subscription", "accept", id, "--dir", "heir"];
    const transfer = ["subscription", "transfer", id, ...account];
    for (const wrong of [[], ["--to", heir, "--cancel"], ["--to", "heir"]])
      assert.equal((await cli.failure(...transfer, ...wrong)).code, "USAGE", wrong.join(" "));
    const early = await cli.failure(...accept);
    assert.deepEqual([early.code, early.data["error"]], ["CHAIN_REVERTED", "NotPendingOwner"]);
    const offered = await cli.run([...transfer, "--to", heir]);
    assert.match(
      offered.stdout,
      new RegExp(`^offered to +${heir}$[\\s\\S]*^next +conclave subscription accept ${id}$`, "m"),
    );
    const show = ["subscription", "show", id, "--deployment", "deployment.json"];
    assert.match((await cli.run(show)).stdout, new RegExp(`^offered to +${heir}$`, "m"));
    assert.equal((await cli.json(...transfer, "--cancel")).value["offeredTo"], null);
    assert.equal((await cli.json(...show)).value["pendingOwner"], null);
    assert.doesNotMatch((await cli.run(show)).stdout, /offered/);
    assert.equal((await cli.json(...transfer, "--to", heir)).value["offeredTo"], heir);
    const { code, value } = await cli.json(...accept);
    assert.deepEqual([code, value["owner"], value["before"]], [0, heir, made["owner"]]);
    assert.equal((await cli.json(...show)).value["owner"], heir);
    const lost = await cli.failure(...transfer, "--cancel");
    assert.deepEqual([lost.code, lost.data["error"]], ["CHAIN_REVERTED", "NotSubscriptionOwner"]);
  });

  it("prints no key and no password", () => assertNoSecrets(cli));

  it("SE3: says before it sends a bond that too few other agents are left for the committee, or too few at all", async () => {
    await accountOf("few", parseEther("16"));
    const id = await ask("few", "--appeals", "1", "--fee", "16");
    await decide(id, yes);
    const { committee } = await lastOf(reader, id);
    const sat = new Set(committee.map(({ agentId }) => agentId));
    const others = (await reader.agents()).filter(({ agentId }) => !sat.has(agentId)).map(({ agentId }) => agentId);
    const operator = await createOperatorActions({
      ...harness.options,
      account: harness.accounts[0]!,
      receiptPollMs: 20,
    });
    const toldAfter = async (leaving: readonly AgentId[]): Promise<string> => {
      for (const agentId of leaving) await operator.startUnbonding(agentId, parseEther("1"));
      const { code, stderr } = await cli.run(["appeal", String(id), "--dry-run", "--deployment", "deployment.json"]);
      assert.equal(code, 0, stderr);
      return stderr;
    };
    assert.match(await toldAfter([]), /a committee of 9\n$/);
    assert.match(
      await toldAfter(others.slice(0, 2)),
      /\nonly 7 agents are active that sat in no committee which it reviews: unless more join, some sit again /,
    );
    assert.match(
      await toldAfter(others.slice(2, 5)),
      /\nonly 8 agents are active: unless more join, nobody can answer, /,
    );
  });
});
