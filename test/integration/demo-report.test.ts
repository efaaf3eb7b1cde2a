import { expect } from "chai";
import { spawnSync } from "node:child_process";
import { describe, it } from "node:test";
import { protocolById } from "../../agents/core/protocols/index.ts";
import type { Protocol } from "../../agents/core/protocol.ts";
import { renderReport } from "../../scripts/demo/report.ts";
import type { DemoDecision, DemoReport } from "../../scripts/demo/run.ts";

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
      const { status, stderr } = spawnSync(process.execPath, ["scripts/demo/main.ts", ...words], { encoding: "utf8" });
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
