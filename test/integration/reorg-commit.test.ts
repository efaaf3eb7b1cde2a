// Agents whose chain has taken a decision back.
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { createMemoryJournals } from "../../agents/adapters/memory/journal.ts";
import type { Address, Request, Terms } from "../../agents/core/types.ts";
import type { RelayEnd } from "../../agents/ports/metrics.ts";
import { booleanTerms } from "../support/core/committee.ts";
import { drawn } from "../adapters/chain-questions.ts";
import { createNodeHarness } from "../adapters/chain-node.ts";
import { run } from "./keeper-world.ts";
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

describe("an agent whose chain has taken back a decision that it followed: viem on anvil", async () => {
  const harness = await createNodeHarness();
  after(() => harness.stop());
  const everybody = { retries: 0, committeeSize: harness.keys.length };

  it("SE28: leaves its seat when the chain takes the request back", async () => {
    const { request } = await drawn(harness, everybody);
    const reader = await harness.reader();
    const [asked] = await reader.requestEvents(request.id);
    const agent = await run(harness, createMemoryJournals());
    try {
      await until(() => agent.seats() === 1);
      const { number } = await reader.head();
      await harness.reorganize(Number(number - (asked?.blockNumber ?? number)) + 1);
      await until(() => agent.seats() === 0);
      await assert.rejects(reader.requestEvents(request.id), { code: "REQUEST_UNKNOWN" });
    } finally {
      await agent.stop();
    }
  });

  it("SE28: does not take the same seat again without its journal, since it could contradict itself, and refunds the request in the end", async () => {
    const [reader, writer] = [await harness.reader(), await harness.writer(1)];
    const { request, awaited, certificate, committee } = await drawn(harness, everybody);
    assert.ok(committee.some(({ signer }) => signer === harness.keys[0]?.address));
    const journals = createMemoryJournals();
    const hasJournal = async (): Promise<boolean> => (await journals.list()).includes(`request-${request.id}-0`);
    const status = async (): Promise<string> => (await reader.requestState(request.id)).status;
    const agent = await run(harness, journals);
    try {
      await until(hasJournal);
      await writer.commit(request, awaited, certificate);
      await until(async () => !(await hasJournal()));
      await harness.reorganize(1);
      const { number } = await reader.head();
      await harness.mine(1);
      await until(() => agent.handled() > number);
      assert.deepEqual([await status(), await hasJournal()], ["requested", false]);
      await harness.passTime(request.terms.duration);
      await until(async () => (await status()) === "refunded");
    } finally {
      await agent.stop();
    }
  });
});
