// Stake behind answers on the command line. No agents run here: the test certifies with their keys, so that it controls
// what they decide.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { parseEther } from "viem";
import { agentRegistryAbi, decisionOracleAbi } from "@conclave/contracts/abi";
import { unpackRound } from "../../agents/core/request/rounds.ts";
import type { AgentId, Decision, RequestId } from "../../agents/core/types.ts";
import { roundsOf } from "../../agents/core/request/progress.ts";
import type { ChainReader, ChainWriter } from "../../agents/ports/chain.ts";
import { FREE } from "../../scripts/deploy/prices.ts";
import { makeKeys, ONE } from "../adapters/chain-node.ts";
import { drawNext, progressNow, wordOf } from "../adapters/chain-questions.ts";
import { startCliNode, type CliNode } from "./cli-node.ts";

const no: Partial<Decision> = { outcome: wordOf(0n), answer: "no" };
const yes: Partial<Decision> = { outcome: wordOf(1n), answer: "yes" };
const WEEK = 7 * 24 * 3600;
const source = ["--deployment", "deployment.json"];

let harness: CliNode["harness"];
let reader: ChainReader;
let writer: ChainWriter;
let cli: CliNode["cli"];
let stop: CliNode["stop"];
before(async () => {
  // Committees of 4, 9 and 19 seats without a common agent. A slice leaves each of them more than the least stake.
  const node = await startCliNode({ keys: makeKeys(36), stake: 2n * ONE });
  ({ harness, cli, stop } = node);
  // Gas has a price in tokens, so that appellants are rewarded (SC4), and nobody is paid for gas.
  const prices = { ...FREE.token, gasRate: 10n ** 24n };
  await harness.execute(harness.options.oracle, decisionOracleAbi, "setPrices", [0, prices]);
  [reader, writer] = [await harness.reader(), await harness.writer(0)];
  await node.accountOf("asker", parseEther("10"));
});
after(() => stop());

async function ask(...more: string[]): Promise<RequestId> {
  // 2 units for each of 4, 9 and 19 seats: a unit is 0.0001, and 200 of them are less than a twentieth of the stake.
  const terms = ["--kind", "boolean", "--duration", "1h", "--appeals", "2", "--assurance", "high", "--fee", "0.0064"];
  const question = ["request", "--dir", "asker", "--question", "Is it so?"];
  const { code, value } = await cli.json(...question, ...terms, ...more);
  assert.equal(code, 0, JSON.stringify(value));
  return BigInt(String(value["requestId"])) as RequestId;
}

async function appeal(requestId: RequestId): Promise<void> {
  const { code, value } = await cli.json("appeal", String(requestId), "--dir", "asker");
  assert.equal(code, 0, JSON.stringify(value));
}

/** Lets committees decide so, one after the other: the asker appeals against each decision but the last. */
async function play(requestId: RequestId, decisions: readonly Partial<Decision>[]): Promise<void> {
  for (const [index, decision] of decisions.entries()) {
    if (index > 0) await appeal(requestId);
    const { request, awaited, certifying } = await drawNext(harness, requestId);
    assert.notEqual(await writer.commit(request, awaited, certifying(decision)), "already");
  }
}

async function settle(requestId: RequestId): Promise<void> {
  const progress = await progressNow(reader, requestId);
  assert.notEqual(await writer.settle(progress.request, roundsOf(progress) ?? []), "already");
}

async function stakeOf(agentId: AgentId): Promise<bigint> {
  const { bonded, unbonding } = await harness.client.readContract({
    address: harness.options.registry,
    abi: agentRegistryAbi,
    functionName: "getAgent",
    args: [agentId],
  });
  return bonded.assets + unbonding.assets;
}

async function refusal(requestId: RequestId): Promise<string> {
  const { exit, code, message } = await cli.failure("slash-overturned", String(requestId), "--dry-run", ...source);
  assert.deepEqual([exit, code], [1, "SLASH_IMPOSSIBLE"]);
  return message;
}

describe("command line: slash-overturned", () => {
  it("SC1, SC2: says in words why nobody loses stake", async () => {
    const insecure = await ask();
    assert.match(await refusal(insecure), /: it has no decision$/);
    await play(insecure, [no, yes, yes]);
    assert.match(await refusal(insecure), /: it is not secured: no stake stands behind its answer$/);
    const upheld = await ask("--security", "secured");
    await play(upheld, [no, yes]);
    assert.match(await refusal(upheld), /: its decision is not final$/);
    await appeal(upheld);
    await play(upheld, [no]);
    assert.match(await refusal(upheld), /: it is not settled yet; agents do that soon$/);
    await settle(upheld);
    const whys = "attempt 0: attempt 2 agrees with it; attempt 1: only one committee came after it";
    assert.match(await refusal(upheld), new RegExp(`: no decision was overturned \\(${whys}\\)$`));
  });

  it("SC2 to SC6: --dry-run says who would lose what, and the call takes exactly that, once", async () => {
    const id = await ask("--security", "secured");
    await play(id, [no, yes, yes]);
    await settle(id);
    const [wrong] = roundsOf(await progressNow(reader, id)) ?? [];
    // The fewest signatures that suffice.
    const signers = (wrong?.committee ?? []).slice(0, 3).map(({ agentId }) => agentId);
    assert.equal(signers.length, 3);
    const stakes = await Promise.all(signers.map(stakeOf));
    const losses = signers.map((agentId) => ({ agentId, amount: String(parseEther("0.02")) }));

    const dry = await cli.json("slash-overturned", String(id), "--dry-run", ...source);
    const [expected] = dry.value["slashes"] as readonly { readonly gasUsed: string }[];
    assert.deepEqual(dry.value, {
      requestId: String(id),
      dryRun: true,
      slashes: [{ attempt: 0, losses, gasUsed: expected?.gasUsed }],
    });
    assert.ok(Number(expected?.gasUsed) > 200_000 && Number(expected?.gasUsed) < 900_000, expected?.gasUsed);
    assert.deepEqual(await Promise.all(signers.map(stakeOf)), stakes);
    const { stdout } = await cli.run(["slash-overturned", String(id), "--dry-run", ...source]);
    assert.match(stdout, new RegExp(`^agent ${signers[0]} +would lose at most 0\\.02 \\w+$`, "m"));

    await harness.client.request({ method: "hardhat_setNextBlockBaseFeePerGas", params: ["0xf4240"] } as never);
    const { code, value } = await cli.json("slash-overturned", String(id), "--dir", "asker");
    assert.equal(code, 0, JSON.stringify(value));
    const [slash] = value["slashes"] as readonly { readonly losses: unknown; readonly transactionHash: string }[];
    assert.deepEqual(slash?.losses, losses);
    assert.match(slash?.transactionHash ?? "", /^0x[0-9a-f]{64}$/);
    const left = await Promise.all(signers.map(stakeOf));
    assert.deepEqual(
      left,
      stakes.map((stake) => stake - parseEther("0.02")),
    );

    // SC4: the asker made both appeals, and gets a unit for each: 100,000 gas cost more.
    const { value: paid } = await cli.json("withdraw", "--dir", "asker");
    assert.equal((paid["reward"] as { readonly amount: string }).amount, String(parseEther("0.0002")));
    assert.equal((await cli.json("withdraw", "--dir", "asker")).value["reward"], null);

    const again = await cli.failure("slash-overturned", String(id), "--dir", "asker");
    assert.deepEqual([again.code, again.data["error"]], ["CHAIN_REVERTED", "NobodyToSlash"]);
    assert.match(again.message, /nothing to do: all that signed were slashed already/);
  });

  it("SC5: refuses when the time is over", async () => {
    const id = await ask("--security", "secured");
    await play(id, [no, yes, yes]);
    await settle(id);
    const { deadline } = unpackRound((await progressNow(reader, id)).round);
    await harness.passTime(deadline + WEEK - (await reader.head()).timestamp + 5);
    const end = new Date((deadline + WEEK) * 1_000).toISOString().slice(0, 10);
    assert.match(await refusal(id), new RegExp(`: the time for it was over at ${end}`));
  });
});
