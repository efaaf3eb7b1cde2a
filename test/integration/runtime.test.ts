import { expect } from "chai";
import { describe, it } from "node:test";
import type { Address, Request } from "../../agents/core/types.ts";
import { booleanTerms } from "../core/committee.ts";
import { memoryWorld, truthful, until, type MemoryWorld, type RunningMemoryAgent } from "./world.ts";

const consumer = `0x${"cc".repeat(20)}` as Address;

async function during(
  world: MemoryWorld,
  body: (running: RunningMemoryAgent[], request: Request) => Promise<void>,
): Promise<void> {
  const running = world.agents.map((agent) => agent.start());
  const { request } = world.chain.ask(consumer, booleanTerms, "Is 720 more than 500?");
  const ticker = setInterval(() => world.chain.mine(), 50);
  try {
    await body(running, request);
  } finally {
    clearInterval(ticker);
    for (const one of running) await one.stop();
  }
}

describe("the runtime over in-memory adapters", () => {
  it("draws, deliberates, certifies, commits once, and lets go", async () => {
    const world = memoryWorld([0, 1, 2, 3].map(() => truthful("yes")));
    await during(world, async (running, request) => {
      const reader = world.chain.reader();
      await until(async () => (await reader.requestState(request.id)).status === "decided");
      const commits = (await reader.requestEvents(request.id)).filter((event) => event.kind === "decisionCommitted");
      expect(commits.map((event) => event.decision.answer)).to.deep.equal(["yes"]);
      await until(() => running.every(({ agent }) => agent.status().seats.length === 0));
      const journals = await Promise.all(world.agents.map((agent) => agent.journals.list()));
      expect(journals.flat().filter((name) => name.startsWith("request-"))).to.deep.equal([]);
    });
  });

  it("a stopped agent resumes its duty from the journal", async () => {
    const world = memoryWorld([0, 1, 2, 3].map(() => truthful("yes")));
    await during(world, async (running, request) => {
      const reader = world.chain.reader();
      await until(() => running[0]?.agent.status().seats.length === 1);
      await running[0]?.stop();
      running[0] = world.agents[0]!.start();
      await until(async () => (await reader.requestState(request.id)).status === "decided");
      await until(() => running.every(({ agent }) => agent.status().seats.length === 0));
    });
  });
});
