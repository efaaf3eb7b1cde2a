// What the SDK reads of a transcript, and that whoever waits for it is not blocked.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { cidString } from "../../agents/core/encoding/cid.ts";
import { hashgraph } from "../../agents/core/protocols/hashgraph/index.ts";
import { readTranscript } from "../../sdk/src/verify/index.ts";
import { decided } from "../support/decided-cases.ts";
import { clientOf, NODE_REGISTRY } from "../support/decided-node.ts";

/** So slow is the check of a message here that all of them would take half a second. */
const CHECK_MS = 5;

describe("the SDK's transcript", () => {
  it("tells how far it is, and lets others run between its messages", async () => {
    const one = decided(hashgraph, 1, ["yes", "yes", "yes", "no"], {});
    const { chainId, oracle } = one.attempt.domain;
    const blocks = new Map([...one.blocks].map(([digest, bytes]) => [cidString(digest), bytes]));
    const told: number[] = [];
    let turns = 0;
    const timer = setInterval(() => (turns += told.length === 0 ? 0 : 1), 0);
    const transcript = await readTranscript({
      publicClient: clientOf([one]),
      deployment: { chainId, oracle, registry: NODE_REGISTRY },
      requestId: one.attempt.request.id,
      blocks: { get: async (cid) => blocks.get(cid) ?? null },
      onProgress: (step, done) => {
        if (step !== "messages") return;
        told.push(done);
        for (const until = performance.now() + CHECK_MS; performance.now() < until;);
      },
    });
    clearInterval(timer);
    const { messages = [], failure } = transcript ?? {};
    assert.equal(failure, null);
    assert.deepEqual(
      told,
      messages.map((_, index) => index + 1),
    );
    assert.ok(turns > 0, `nobody else ran while ${messages.length} messages were read`);
  });
});
