import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { cidString } from "../../agents/core/encoding/cid.ts";
import { sha256 } from "../../agents/core/encoding/bytes.ts";
import { mbft } from "../../agents/core/protocols/mbft/index.ts";
import { NON_ANSWER_OUTCOMES } from "../../agents/core/request/non-answers.ts";
import { documentBlock } from "../../agents/core/sources/named.ts";
import type { Address } from "../../agents/core/types.ts";
import { verifyRequest } from "../../agents/node/audit/verify.ts";
import type { Log } from "../../agents/ports/log.ts";
import { booleanTerms } from "../support/core/committee.ts";
import { assertFields } from "../support/assertions.ts";
import { memoryWorld } from "./memory-world.ts";
import { silentLog, truthful } from "./world.ts";
import { until } from "../support/until.ts";

const consumer = `0x${"cc".repeat(20)}` as Address;
const terms = { ...booleanTerms, protocol: mbft.code };
const RULES = "Exports of goods need a licence, unless another rule says otherwise.";
const rules = documentBlock(RULES) as Uint8Array;
const question = `Is 720 more than 500?\nsource: ${cidString(sha256(rules))}`;

/** A question whose document is there, or of which nobody has it, to agents whose models all give this answer. */
async function decided(answer: string, isThere: boolean) {
  const warnings: string[] = [];
  const log: Log = { ...silentLog, warn: (_, text) => void warnings.push(text) };
  const { chain, agents } = memoryWorld(
    [0, 1, 2, 3].map(() => truthful(answer)),
    undefined,
    log,
  );
  if (isThere) for (const { store } of agents) await store.put(rules);
  const running = agents.map((agent) => agent.start());
  const { request } = chain.ask(consumer, terms, question);
  const ticker = setInterval(() => chain.mine(), 50);
  try {
    await until(async () => !["none", "requested"].includes((await chain.reader().requestState(request.id)).status));
  } finally {
    clearInterval(ticker);
    for (const one of running) await one.stop();
  }
  const { status } = await chain.reader().requestState(request.id);
  const report = await verifyRequest({
    chain: { ...chain.reader(), ...chain.transactions() },
    store: agents[0]!.store,
    requestId: request.id,
    signal: new AbortController().signal,
  });
  return { status, report, warnings };
}

describe("non-answers: whole agents", () => {
  for (const [said, status] of [
    ["unanswerable", "unanswerable"],
    ["too early", "tooEarly"],
  ] as const)
    it(`SG10, EQ6: models that say '${said}' settle it, and a replay comes to the same`, async () => {
      const { status: settled, report, warnings } = await decided(said, true);
      assert.equal(settled, status);
      assertFields(report, { ok: true });
      assertFields(report.decision, { status, outcome: NON_ANSWER_OUTCOMES[status], answer: "" });
      assert.deepEqual(
        warnings.filter((text) => text.includes("gave no answer")),
        [],
      );
    });

  it("SG8: a document that nobody has is unanswerable, whatever the models would say", async () => {
    const { status, report } = await decided("yes", false);
    assert.equal(status, "unanswerable");
    assertFields(report, { ok: true });
    assertFields(report.decision, { outcome: NON_ANSWER_OUTCOMES.unanswerable, shares: [1, 1, 1, 1] });
  });
});
