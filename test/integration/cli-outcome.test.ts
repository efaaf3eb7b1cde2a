// Outcomes that the settlement contract proves and stores, on the command line.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { settlementAbi } from "@conclave/contracts/abi";
import {
  ABSENT,
  type Decision,
  type Ppm,
  type RequestId,
  type SeatIndex,
  type Terms,
} from "../../agents/core/types.ts";
import { unpackRound } from "../../agents/core/request/rounds.ts";
import { ONE } from "../adapters/chain-node.ts";
import { asked, drawNext, lastOf, progressNow, wordOf } from "../adapters/chain-questions.ts";
import { startCliNode, type CliNode } from "./cli-node.ts";

const no: Partial<Decision> = { outcome: wordOf(0n), answer: "no", confidence: 800_000 as Ppm };
const yes: Partial<Decision> = { outcome: wordOf(1n), answer: "yes", confidence: 700_000 as Ppm };
const source = ["--deployment", "deployment.json"];

let harness: CliNode["harness"];
let cli: CliNode["cli"];
let stop: CliNode["stop"];
before(async () => {
  const node = await startCliNode();
  ({ harness, cli, stop } = node);
  await node.accountOf("payer", ONE);
});
after(() => stop());

const ask = async (change: Partial<Terms> = {}): Promise<RequestId> => (await asked(harness, change)).request.id;

async function decide(id: RequestId, decision: Partial<Decision>): Promise<void> {
  const { request, awaited, certifying } = await drawNext(harness, id);
  assert.notEqual(await (await harness.writer(0)).commit(request, awaited, certifying(decision)), "already");
}

async function passDeadline(id: RequestId): Promise<void> {
  const reader = await harness.reader();
  const { deadline } = unpackRound((await progressNow(reader, id)).round);
  await harness.passTime(deadline - (await reader.head()).timestamp + 5);
}

async function storedOutcome(id: RequestId): Promise<unknown> {
  const address = harness.deployment.settlement;
  return harness.client.readContract({ address, abi: settlementAbi, functionName: "storedOutcome", args: [id] });
}

async function refusal(id: RequestId): Promise<string> {
  const { code, message } = await cli.failure("outcome", String(id), ...source);
  assert.equal(code, "OUTCOME_IMPOSSIBLE");
  return message;
}

describe("command line: outcome", () => {
  it("SE22: proves a final outcome beside its decision, and stores it once", async () => {
    const id = await ask();
    assert.match(await refusal(id), /: no decision stands yet$/);
    await decide(id, yes);
    const proven = { requestId: String(id), status: "decided", attempt: 0, confidence: 700_000, value: wordOf(1n) };
    const decision = { attempt: 0, status: "decided", outcome: wordOf(1n), answer: "yes", confidence: 700_000 };
    const nothing = { transactionHash: null, gasUsed: null };
    const shown = await cli.json("outcome", String(id), ...source);
    assert.deepEqual([shown.code, shown.value], [0, { ...proven, decision, stored: false, ...nothing }]);
    const none = { status: 0, attempt: 0, confidence: 0, value: wordOf(0n) };
    assert.deepEqual(await storedOutcome(id), none);

    const { stdout } = await cli.run(["outcome", String(id), "--store", "--dir", "payer"]);
    assert.match(stdout, /^decision +attempt 0: yes\noutcome +decided, attempt 0: 0x0{63}1\nconfidence +70\.00 %$/m);
    assert.match(stdout, /^stored +yes.*\ntransaction +0x[0-9a-f]{64} \([0-9]+ gas\)$/m);
    assert.deepEqual(await storedOutcome(id), { status: 2, attempt: 0, confidence: 700_000, value: wordOf(1n) });
    const again = await cli.json("outcome", String(id), "--store", "--dir", "payer");
    assert.deepEqual(again.value, { ...proven, decision, stored: true, ...nothing });
  });

  it("the decision of a question of many lines stays on its line, and a fall of reputation is no slash", async () => {
    const payer = ["request", "--dir", "payer", "--kind", "boolean", "--duration", "1h"];
    const crowd = await cli.failure(...payer, "--question", "So?", "--committee", "7", "--appeals", "1");
    assert.match(crowd.message, /committee = 7 with 1 appeal needs 22 agents/);
    const made = await cli.json(...payer, "--question", "Is it so?\nanswer    no\u202e");
    const id = BigInt(String(made.value["requestId"])) as RequestId;
    const falls = [
      { seat: 0 as SeatIndex, steps: -1 },
      { seat: 1 as SeatIndex, steps: -2 },
    ];
    await decide(id, { ...yes, shares: [ABSENT, 0, 1, 1], reputationChanges: falls });
    const { stdout } = await cli.run(["decision", String(id), ...source]);
    assert.match(stdout, /^question +Is it so\? \/ answer    no\\u202e$/m);
    assert.match(stdout, /^0 .* reputation -1\/5 \(absent\) +absent /m);
    assert.match(stdout, /^1 .* reputation -1\/5, 2 times +0 /m);
    assert.match(stdout, /^2 .* - +1 /m);
  });

  it("SE22: refuses a provisional decision and a refund", async () => {
    const provisional = await ask({ appeals: 1 });
    await decide(provisional, no);
    assert.match(await refusal(provisional), /: its decision is provisional: anybody may appeal until 20/);
    const refunded = await ask();
    const { request, awaited } = await drawNext(harness, refunded);
    await passDeadline(refunded);
    assert.notEqual(await (await harness.writer(0)).refund(request, awaited), "already");
    assert.match(await refusal(refunded), /: nobody decided it, and the fee was refunded$/);
  });

  it("SE22: shows the decision and the hung outcome where nobody answered the appeal against it", async () => {
    const reader = await harness.reader();
    const id = await ask({ appeals: 1 });
    await decide(id, no);
    await harness.appeal((await progressNow(reader, id)).request, await lastOf(reader, id));
    const { request, awaited } = await drawNext(harness, id);
    await passDeadline(id);
    assert.notEqual(await (await harness.writer(0)).fallBack(request, awaited), "already");
    const { code, value } = await cli.json("outcome", String(id), ...source);
    const { decision, ...proven } = value;
    assert.deepEqual([code, (decision as { readonly answer: string }).answer], [0, "no"]);
    assert.deepEqual(proven, {
      requestId: String(id),
      status: "hung",
      attempt: 1,
      confidence: 0,
      value: wordOf(0n),
      stored: false,
      transactionHash: null,
      gasUsed: null,
    });
    const { stdout } = await cli.run(["outcome", String(id), ...source]);
    assert.match(stdout, /^decision +attempt 0: no; nobody answered the attempt after it$/m);
  });
});

describe("command line: decision", () => {
  const WEEK = 7 * 24 * 3600;
  const status = async (id: RequestId): Promise<string> =>
    /^status +(.*)$/m.exec((await cli.run(["decision", String(id), ...source])).stdout)?.[1] ?? "";
  const lastBlockOf = async (id: RequestId): Promise<unknown> =>
    (await cli.json("decision", String(id), ...source)).value["lastBlock"];

  it("SE8: says which of deadline and end of the seed comes first, at the pace of the blocks", async () => {
    const { request, seedBlock, round } = await asked(harness, { duration: WEEK });
    // The registry shows two epochs.
    const lastBlock = (seedBlock / 128n + 2n) * 128n - 1n;
    const end = new Date(unpackRound(round).deadline * 1_000).toISOString().replace(".000Z", "Z");
    assert.match(await status(request.id), new RegExp(`^requested, until ${end} or the end of block ${lastBlock}, wh`));
    await harness.passTime(12);
    const early = `^requested, until the end of block ${lastBlock}, about 20.+: then its seed expires, before the deadline ${end}$`;
    assert.match(await status(request.id), new RegExp(early));
    assert.equal(await lastBlockOf(request.id), Number(lastBlock));
    await harness.passTime(WEEK / 7);
    assert.match(await status(request.id), new RegExp(`^requested, until ${end}$`));
    await decide(request.id, yes);
    assert.deepEqual([await status(request.id), await lastBlockOf(request.id)], ["decided", null]);
  });
});
