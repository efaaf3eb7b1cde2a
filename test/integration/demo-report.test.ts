import { expect } from "chai";
import { spawnSync } from "node:child_process";
import { describe, it } from "node:test";
import { protocolById } from "../../agents/core/protocols/index.ts";
import type { Protocol } from "../../agents/core/protocol.ts";
import { renderReport } from "../../devnet/demo/report.ts";
import { compareAnswers, renderSubgraph } from "../../devnet/demo/subgraph.ts";
import type { DemoDecision, DemoReport } from "../../devnet/demo/run.ts";

const decision: DemoDecision = {
  requestId: "1",
  question: "Is it so?",
  kind: "boolean",
  status: "Decided",
  outcome: "0x01",
  answer: "yes",
  confidence: 750_000,
  documents: [{ cid: "bafysource", text: "Refunds within 60 days." }],
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
};

const report = (id: string, decisions: readonly DemoDecision[]): DemoReport => ({
  protocol: protocolById(id) as Protocol,
  decisions,
  agents: [
    { agentId: 1, signer: "0x01", lies: true, reputation: 1_000_000, earned: "0" },
    { agentId: 2, signer: "0x02", lies: false, reputation: 1_000_000, earned: "1.25" },
  ],
  durationsMs: { chain: 1, agents: 1, decisions: 1, verify: 1, total: 4 },
  deploymentFile: "deployment.json",
  subgraph: null,
});

describe("the demo's table", () => {
  it("says whether an answer is the expected one, and who lied", () => {
    const text = renderReport(report("mbft", [decision, { ...decision, answer: "no", correct: false }]), true);
    expect(text).to.match(/decision +│ confidence +│ as expected +│ signed by/);
    expect(text).to.match(/Decided: yes +│ 75\.00 % +│ yes /);
    expect(text).to.match(/Decided: no +│ 75\.00 % +│ NO: yes /);
    expect(text).to.contain("agent #1 lied");
    expect(text).to.contain("tokens earned: #1 0.00, #2 1.25");
  });

  it("names the sources of a question, by content and in words", () => {
    expect(renderReport(report("escalating", [decision]), true)).to.contain(
      'source      bafysource: "Refunds within 60 days."',
    );
  });

  it("a wrong flag ends with 2, as in npm run sim", () => {
    for (const words of [["--fast"], ["--protocol", "mbtf"]]) {
      const { status, stderr } = spawnSync(process.execPath, ["devnet/demo/main.ts", ...words], { encoding: "utf8" });
      expect(status).to.equal(2);
      expect(stderr).to.contain(words.at(-1));
    }
  });

  it("counts rounds, but events where a protocol has events", () => {
    expect(renderReport(report("mbft", [decision]), true))
      .to.contain("rounds")
      .and.not.to.contain("events");
    expect(renderReport(report("hashgraph", [decision]), true))
      .to.contain("events: how many")
      .and.not.to.contain("rounds");
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

  it("each answer is compared with what the demo read from the chain", () => {
    expect(differences([decisions, reputation, fees])).to.deep.equal([]);
    const other = { ...request, decision: { ...request.decision, signers: [{ agent: { id: "4" } }] } };
    expect(differences([{ requests: [other] }, reputation, fees])).to.deep.equal([
      "answer for request 1: signers is [4], on the chain [3]",
    ]);
    expect(differences([{ requests: [] }, reputation, fees])).to.have.length(6);
    const gap = [{ before: 940_000, after: 1_000_000, block: "10", logIndex: "7" }, changes[1]];
    const broken = { agent: { reputation: 1_000_000, reputationChanges: gap } };
    expect(differences([decisions, broken, fees])).to.have.length(1);
    const cheap = { statistics: [{ protocol: 1, requests: 1, feesToken: "4" }] };
    expect(differences([decisions, reputation, cheap])).to.have.length(1);
  });

  it("prints each query with its answer, and what is not as the chain says", () => {
    const answers = [{ query: "query Fees {}\n", data: fees }];
    const said = { queryUrl: "http://127.0.0.1:1", block: 9, entities: 4, comparisons: 7, differences: [], answers };
    expect(renderSubgraph(said)).to.match(
      /query Fees \{\}\n\{[^]*"feesToken": "5"[^]*4 entities .* equal the contracts at block 9/,
    );
    expect(renderSubgraph({ ...said, differences: ["x is 1, on the chain 2"] })).to.contain(
      "1 of 7 values are NOT what the chain says at block 9:\nx is 1, on the chain 2",
    );
  });
});
