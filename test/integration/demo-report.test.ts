import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, it } from "node:test";
import { protocolById } from "../../agents/core/protocols/index.ts";
import type { Protocol } from "../../agents/core/protocol.ts";
import { renderReport } from "../../devnet/demo/report.ts";
import { compareAnswers, renderSubgraph } from "../../devnet/demo/subgraph.ts";
import type { DemoDecision } from "../../devnet/demo/facts.ts";
import type { DemoReport } from "../../devnet/demo/run.ts";
import { assertExcludes, assertIncludes } from "../support/assertions.ts";

const decision: DemoDecision = {
  requestId: "1",
  question: "Is it so?",
  kind: "boolean",
  status: "Decided",
  outcome: "0x01",
  answer: "yes",
  confidence: 750_000,
  documents: [{ cid: "bafysource", text: "Refunds within 60 days." }],
  quotations: [],
  expected: "yes",
  correct: true,
  seats: [{ seat: 0, agentId: 3, signer: "0x03", reputation: 1_000_000 }],
  signers: [0],
  rounds: 7,
  commitGas: 1,
  requestGas: 1,
  commitTx: "0x02",
  transcript: "bafy",
  callbackSucceeded: true,
  verified: true,
  argument: 'question  "Is it so?"\n\nseat 2 rejects "no" of seat 0\n',
};

const report = (id: string, decisions: readonly DemoDecision[]): DemoReport => ({
  protocol: protocolById(id) as Protocol,
  model: "small",
  decisions,
  agents: [
    { agentId: 1, signer: "0x01", lies: true, reputation: 1_000_000, earned: "0", slashed: "20.5" },
    { agentId: 2, signer: "0x02", lies: false, reputation: 1_000_000, earned: "1.25", slashed: "0" },
  ],
  durationsMs: { chain: 1, agents: 1, decisions: 1, verify: 1, total: 4 },
  deploymentFile: "deployment.json",
  subgraph: null,
});

describe("the demo's table", () => {
  it("says whether an answer is the expected one, and who lied", () => {
    const text = renderReport(report("mbft", [decision, { ...decision, answer: "no", correct: false }]), true);
    assert.match(text, /decision +│ confidence +│ as expected +│ signed by/);
    assert.match(text, /Decided: yes +│ 75\.00 % +│ yes /);
    assert.match(text, /Decided: no +│ 75\.00 % +│ NO: yes /);
    assertIncludes(text, "agent #1 lied and equivocated: proofs of its double signatures took 20.50 of its stake");
    assertIncludes(text, "\ntokens earned: #1 0.00, #2 1.25\n");
  });

  it("tells the argument of each request before the table", () => {
    const text = renderReport(report("mbft", [decision, { ...decision, requestId: "2" }]), true);
    const [first, second, table] = ["--- request #1 ---", "--- request #2 ---", "as expected"].map((part) =>
      text.indexOf(part),
    );
    assert.ok(0 <= first! && first! < second! && second! < table!);
    assert.equal(text.match(/seat 2 rejects "no" of seat 0/g)?.length, 2);
  });

  it("shows what answers quote and how many seats read it, or that nothing can be quoted", () => {
    const quotations = [
      { source: "https://pages.test/a", words: "within 60 days", answers: ["yes"], quotedBy: 1, witnessedBy: 0 },
    ];
    const quoting = { ...decision, quotations };
    const none = { ...decision, requestId: "2", status: "Unanswerable", answer: "" };
    const text = renderReport(report("mbft", [quoting, none]), true);
    assert.match(text, /https:\/\/pages.test\/a +│ within 60 days +│ yes +│ 1 of 1 +│ 0 of 1/);
    assert.match(text, /│ 2 +│ +│ nothing: no passage has enough witnesses/);
    assert.match(text, /│ Unanswerable: +│/);
    assertIncludes(text, "the model small answered from them");
    assertExcludes(renderReport(report("mbft", [decision]), true), "witnessed by");
  });

  it("shows the short number of a request in the table, its whole id below", () => {
    const requestId = String((1n << 96n) | (1n << 48n) | 2n);
    const text = renderReport(report("mbft", [{ ...decision, requestId }]), true);
    assert.match(text, /│ 2 +│ Is it so\? /);
    assertIncludes(text, `request #2 ${requestId}: transaction 0x02`);
    assertIncludes(text, `npx conclave verify ${requestId} `);
  });

  it("names a command that verifies a decision only if the network is kept", () => {
    const [kept, removed] = [true, false].map((keeps) => renderReport(report("mbft", [decision]), keeps));
    assertIncludes(kept, "npx conclave verify");
    assertIncludes(kept, "--deployment deployment.json");
    assertExcludes(removed, "npx conclave verify");
    assertIncludes(removed, "keep the network: npm run demo -- --keep");
  });

  it("names the sources of a question, by content and in words", () => {
    assertIncludes(
      renderReport(report("escalating", [decision]), true),
      'source      bafysource: "Refunds within 60 days."',
    );
  });

  it("ends with 2 after a wrong flag, like npm run sim", () => {
    for (const words of [["--fast"], ["--protocol", "mbtf"]]) {
      const { status, stderr } = spawnSync(process.execPath, ["devnet/demo/main.ts", ...words], { encoding: "utf8" });
      assert.equal(status, 2);
      assertIncludes(stderr, words.at(-1));
    }
  });

  it("refuses a folder for logs that cannot be made, before it starts anything", () => {
    for (const logs of ["", "package.json"]) {
      const words = ["devnet/demo/main.ts", "--logs", logs];
      const { status, stderr } = spawnSync(process.execPath, words, { encoding: "utf8", timeout: 60_000 });
      assert.equal(status, 2);
      assert.match(
        stderr,
        new RegExp(`^error CONFIG_INVALID: Make the folder "${logs}" failed: .+; name another place with --logs$`, "m"),
      );
    }
  });

  it("refuses a model that is not there, before it starts anything", () => {
    const words = ["devnet/demo/main.ts", "--model", "no/model.gguf"];
    const { status, stderr } = spawnSync(process.execPath, words, { encoding: "utf8" });
    assert.equal(status, 1);
    assert.match(stderr, /^error MODEL_FILE_MISSING: .*no\/model\.gguf/);
  });

  it("counts rounds, or events if the protocol has events", () => {
    assertIncludes(renderReport(report("mbft", [decision]), true), "rounds");
    assertExcludes(renderReport(report("mbft", [decision]), true), "events");
    assertIncludes(renderReport(report("hashgraph", [decision]), true), "events: how many");
    assertExcludes(renderReport(report("hashgraph", [decision]), true), "rounds");
  });
});

describe("the demo's subgraph", () => {
  const known = report("mbft", [decision]);
  const request = {
    id: "1",
    status: "Decided",
    decision: { answer: "yes", confidence: 750_000, transcript: "bafy", signers: [{ agent: { id: "3" } }] },
  };
  const decisions = { requests: [request] };
  const changes = [
    { before: 950_000, after: 1_000_000, block: "10", logIndex: "7" },
    { before: 900_000, after: 950_000, block: "10", logIndex: "3" },
  ];
  const reputation = { agent: { reputation: 1_000_000, reputationChanges: changes } };
  const fees = { statistics: [{ protocol: 1, requests: 1, feesToken: "5" }] };
  const differences = (answers: readonly object[]): readonly string[] => compareAnswers(answers, known, 5n).differences;

  it("compares each answer with what the demo read from the chain", () => {
    assert.deepEqual(differences([decisions, reputation, fees]), []);
    const other = { ...request, decision: { ...request.decision, signers: [{ agent: { id: "4" } }] } };
    assert.deepEqual(differences([{ requests: [other] }, reputation, fees]), [
      "answer for request 1: signers is [4], on the chain [3]",
    ]);
    assert.equal(differences([{ requests: [] }, reputation, fees]).length, 6);
    const gap = [{ before: 940_000, after: 1_000_000, block: "10", logIndex: "7" }, changes[1]];
    const broken = { agent: { reputation: 1_000_000, reputationChanges: gap } };
    assert.equal(differences([decisions, broken, fees]).length, 1);
    const cheap = { statistics: [{ protocol: 1, requests: 1, feesToken: "4" }] };
    assert.equal(differences([decisions, reputation, cheap]).length, 1);
  });

  it("prints each query with its answer, and the differences from the chain", () => {
    const answers = [{ query: "query Fees {}\n", data: fees }];
    const said = { queryUrl: "http://127.0.0.1:1", block: 9, entities: 4, comparisons: 7, differences: [], answers };
    assert.match(
      renderSubgraph(said),
      /query Fees \{\}\n\{[^]*"feesToken": "5"[^]*4 entities .* equal the contracts at block 9/,
    );
    assertIncludes(
      renderSubgraph({ ...said, differences: ["x is 1, on the chain 2"] }),
      "1 of 7 values are NOT what the chain says at block 9:\nx is 1, on the chain 2",
    );
  });
});
