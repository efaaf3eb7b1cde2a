import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Address } from "../../agents/core/types.ts";
import type { JournalFactory } from "../../agents/ports/journal.ts";
import { booleanTerms } from "../support/core/committee.ts";
import { assertAbove } from "../support/assertions.ts";
import { memoryWorld } from "./memory-world.ts";
import { fastTiming, silentLog, truthful } from "./world.ts";
import { until } from "../support/until.ts";

const consumer = `0x${"cc".repeat(20)}` as Address;
const scripts = [0, 1, 2, 3].map(() => truthful("yes"));
/** Two seats alone are no quorum: they wait for the whole phase. */
const timing = { ...fastTiming, phaseMs: 10_000 };

/** Journals on a disk that takes nothing while it is full; a journal that failed once takes no more, as a file's. */
function fillable(journals: JournalFactory, disk: { full: boolean }): JournalFactory {
  const write = (): void => {
    if (disk.full) throw new Error("write ENOSPC");
  };
  return {
    ...journals,
    async open(name) {
      if (!(await journals.list()).includes(name)) write();
      const journal = await journals.open(name);
      let isBroken = false;
      return {
        ...journal,
        async append(record) {
          isBroken ||= disk.full;
          if (isBroken) throw new Error("write ENOSPC");
          await journal.append(record);
        },
      };
    },
  };
}

describe("a full disk", () => {
  it("at the moment of the draw costs the seat only the time until there is room, and metrics and log say so", async () => {
    const errors: { readonly error: string; readonly failures?: number }[] = [];
    const log = { ...silentLog, error: (data: object) => errors.push(data as (typeof errors)[0]) };
    const world = memoryWorld(scripts, undefined, log, timing);
    const disk = { full: false };
    // Three of four seats are a quorum: with one away, the one with the full disk is needed.
    const running = world.agents
      .slice(0, 3)
      .map(({ start, journals }, index) => start(index === 0 ? { journals: fillable(journals, disk) } : {}));
    const [victim] = running;
    const ticker = setInterval(() => world.chain.mine(), 50);
    try {
      await until(() => running.every(({ agent }) => agent.facts().peers === 2));
      disk.full = true;
      const { request } = world.chain.ask(consumer, booleanTerms, "Is 17 prime?");
      await until(() => victim!.agent.facts().untakenSeats === 1);
      await until(() => errors.filter(({ failures = 0 }) => failures > 1).length > 0);
      assert.equal(victim!.agent.facts().seats, 0);
      const followed = victim!.agent.facts().chain!.blockNumber;
      await until(() => victim!.agent.facts().chain!.blockNumber > followed + 5n);
      const tries = errors.length;
      disk.full = false;
      await until(async () => (await world.chain.reader().requestState(request.id)).status === "decided");
      assert.equal(victim!.agent.facts().untakenSeats, 0);
      assertAbove(tries, 1);
      for (const { error } of errors) assert.equal(error, "write ENOSPC");
    } finally {
      clearInterval(ticker);
      for (const one of running) await one.stop();
    }
  });

  it("while the seat deliberates costs it no more: it goes on from its journal, and counts as one attempt", async () => {
    const world = memoryWorld(scripts, undefined, silentLog, timing);
    const disk = { full: false };
    const running = world.agents
      .slice(0, 3)
      .map(({ start, journals }, index) => start(index === 0 ? { journals: fillable(journals, disk) } : {}));
    const [victim] = running;
    const ticker = setInterval(() => world.chain.mine(), 50);
    try {
      await until(() => running.every(({ agent }) => agent.facts().peers === 2));
      const { request } = world.chain.ask(consumer, booleanTerms, "Is 17 prime?");
      await until(() => victim!.agent.facts().seats === 1);
      disk.full = true;
      await until(() => victim!.agent.facts().silentSeats === 1);
      disk.full = false;
      await until(async () => (await world.chain.reader().requestState(request.id)).status === "decided");
      await until(() => victim!.agent.facts().seats === 0);
      const { attempts, untakenSeats, silentSeats } = victim!.agent.facts();
      assert.equal(attempts.decided + attempts.left, 1);
      assert.deepEqual([untakenSeats, silentSeats], [0, 0]);
    } finally {
      clearInterval(ticker);
      for (const one of running) await one.stop();
    }
  });
});
