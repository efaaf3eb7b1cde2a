import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { drawSeats } from "../support/memory-chain/rules.ts";
import { keccak256, utf8 } from "../../agents/core/encoding/bytes.ts";
import { ONE_PPM, type Address, type AgentId, type Ppm } from "../../agents/core/types.ts";
import type { AgentRecord } from "../../agents/ports/chain.ts";
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

/** One of any number of agents: the draw reads no key. */
const named = (index: number): AgentRecord => ({
  ...agent(0, {}),
  agentId: (index + 1) as AgentId,
  signer: `0x${String(index + 1).padStart(40, "0")}` as Address,
});

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

  it("DR4: excluded agents are left out as long as they hold at most an eighth of the weight", () => {
    const agents = Array.from({ length: 24 }, (_, index) => named(index));
    const again = (excluded: readonly number[]): readonly number[] =>
      Array.from({ length: 20 }, (_, index) => {
        const ids = drawOf(agents, index, 12, excluded).map(({ agentId }) => agentId);
        assert.equal(new Set(ids).size, 12);
        return ids.filter((agentId) => excluded.includes(agentId)).length;
      });
    assert.deepEqual(new Set(again([1, 2, 3])), new Set([0]));
    // Three of twelve are left out; as many of the others sit as come among the first 15 of the draw.
    const most = again(agents.slice(0, 12).map(({ agentId }) => agentId));
    assert.ok(Math.min(...most) < Math.max(...most) && most.every((count) => count > 0 && count <= 9), String(most));
  });

  it("DR4: whoever was left out sits where seats would stay empty", () => {
    const agents = Array.from({ length: 16 }, (_, index) => named(index));
    const ids = drawOf(agents, 0, 16, [3, 4]).map(({ agentId }) => agentId);
    assert.deepEqual(new Set(ids.slice(14)), new Set([3, 4]));
  });
});
