// Agents whose chain has taken a decision back, on the memory chain.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Address, Request, Terms } from "../../agents/core/types.ts";
import type { RelayEnd } from "../../agents/ports/metrics.ts";
import { booleanTerms } from "../support/core/committee.ts";
import { memoryWorld } from "./memory-world.ts";
import { truthful } from "./world.ts";
import { until } from "../support/until.ts";

const consumer = `0x${"cc".repeat(20)}` as Address;
const terms: Terms = { ...booleanTerms, fee: 26n * 10n ** 18n, duration: 3_600, appeals: 0 };

describe("agents after a reorganization that is deeper than their finality", () => {
  it("SE27: submit the decision again that the chain has taken back", async () => {
    const { chain, agents } = memoryWorld(Array.from({ length: 4 }, () => truthful("yes")));
    let isTakenBack = false;
    const again: Request[] = [];
    const reader = chain.reader();
    const bend = {
      chain: {
        ...reader,
        requestState: async (...parameters: Parameters<typeof reader.requestState>) => {
          const state = await reader.requestState(...parameters);
          return isTakenBack ? { ...state, status: "requested" as const, settled: false } : state;
        },
      },
    };
    const running = agents.map((agent) => {
      const writer = chain.writer(agent.keys.address);
      const commit: typeof writer.commit = async (request, ...rest) => {
        if (isTakenBack) again.push(request);
        return writer.commit(request, ...rest);
      };
      return agent.start({ ...bend, writer: { ...writer, commit } });
    });
    const { request } = chain.ask(consumer, terms, "Is 720 more than 500?");
    const ticker = setInterval(() => chain.mine(), 50);
    try {
      await until(async () => (await reader.requestState(request.id)).settled);
      // An agent that is still waiting for its turn to relay would commit without this rule.
      const hasRelayed = ({ committed, already }: Readonly<Record<RelayEnd, number>>): boolean =>
        committed + already === 1;
      await until(() => running.every(({ agent }) => hasRelayed(agent.facts().relays)));
      assert.equal(again.length, 0);
      isTakenBack = true;
      chain.reorganize(BigInt(chain.blocks.length - 1));
      await until(() => again.length > 0);
      assert.equal(again[0]?.id, request.id);
    } finally {
      clearInterval(ticker);
      for (const one of running) await one.stop();
    }
  });
});
