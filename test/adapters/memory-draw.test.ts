import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { drawSeats } from "../support/memory-chain/rules.ts";
import { keccak256, utf8 } from "../../agents/core/encoding/bytes.ts";
import { ONE_PPM, type AgentId, type Ppm } from "../../agents/core/types.ts";
import type { AgentRecord } from "../../agents/ports/chain.ts";
import { assertIncludes } from "../support/assertions.ts";
import { testKeys } from "./chain-node.ts";

const DRAWS = 3_000;

function agent(index: number, change: Partial<AgentRecord>): AgentRecord {
  const { address, publicKey } = testKeys[index]!;
  return {
    agentId: (index + 1) as AgentId,
    operator: address,
    signer: address,
    publicKey,
    endpoint: [],
    model: "test",
    reputation: ONE_PPM,
    stake: 1n,
    unbonding: 0n,
    active: true,
    exited: false,
    asleep: false,
    proven: false,
    commission: 0 as Ppm,
    raise: null,
    ...change,
  };
}

function drawOf(agents: readonly AgentRecord[], index: number, size: number, excluded: readonly number[] = []) {
  return drawSeats(agents, keccak256(utf8(`draw ${index}`)), size, new Set(excluded as AgentId[]));
}

/** How often the first of two agents is drawn in `DRAWS` draws. */
function drawsOfFirst(first: Partial<AgentRecord>, second: Partial<AgentRecord>): number {
  const agents = [agent(0, first), agent(1, second)];
  const seats = Array.from({ length: DRAWS }, (_, index) => drawOf(agents, index, 1)[0]);
  return seats.filter((seat) => seat?.agentId === 1).length;
}

describe("the memory ledger's draw", () => {
  it("ADR 10: a fresh agent's stake weighs half of a proven one's, and as much as another fresh one's", () => {
    // Three standard deviations are 80 draws.
    for (const [first, second, expected] of [
      [{ proven: true }, {}, 2_000],
      [{}, {}, 1_500],
      [{ proven: true }, { proven: true }, 1_500],
      [{ stake: 4n }, { stake: 2n, proven: true }, 1_500],
    ] as const)
      assert.ok(Math.abs(drawsOfFirst(first, second) - expected) < 80, `${expected}`);
  });

  it("DR4: an excluded agent sits only where no other one of its weight is left", () => {
    const agents = [0, 1, 2, 3].map((index) => agent(index, {}));
    for (let index = 0; index < 20; index++) {
      const seats = drawOf(agents, index, 3, [2, 4]).map(({ agentId }) => agentId);
      assert.equal(seats.filter((agentId) => agentId % 2 === 1).length, 2);
      assertIncludes(
        [2, 4],
        seats.find((agentId) => agentId % 2 === 0),
      );
      assert.equal(drawOf(agents, index, 2, [2, 4]).filter(({ agentId }) => agentId % 2 === 0).length, 0);
    }
    const unequal = agents.map((one) => ({ ...one, stake: one.agentId === 1 ? 64n : 1n }));
    const heavy = Array.from({ length: 20 }, (_, index) => drawOf(unequal, index, 1, [1])[0]?.agentId);
    assert.ok(heavy.filter((agentId) => agentId === 1).length > 15, "light agents take no seat of a heavy one");
  });
});
