import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { unpackRound } from "../../agents/core/request/rounds.ts";
import type { Address, Request, Terms } from "../../agents/core/types.ts";
import { progressOf, lastRound, roundsOf, type Progress } from "../../agents/core/request/progress.ts";
import { booleanTerms } from "../support/core/committee.ts";
import { memoryWorld, type MemoryWorld, type RunningMemoryAgent } from "./memory-world.ts";
import { truthful } from "./world.ts";
import { until } from "../support/until.ts";

const consumer = `0x${"cc".repeat(20)}` as Address;
const appellant = `0x${"aa".repeat(20)}` as Address;
const terms: Terms = { ...booleanTerms, fee: 26n * 10n ** 18n, duration: 3_600, appeals: 1 };

interface Play {
  readonly world: MemoryWorld;
  readonly running: RunningMemoryAgent[];
  readonly request: Request;
}

/** Runs enough agents for a committee of 4 and one of 9, or as many as given; blocks are mined all the time. */
async function during(
  body: (play: Play) => Promise<void>,
  { agents = 13, silent = 0, change = {} }: { agents?: number; silent?: number; change?: Partial<Terms> } = {},
): Promise<void> {
  const world = memoryWorld(Array.from({ length: agents }, () => truthful("yes")));
  const running = world.agents.slice(silent).map((agent) => agent.start());
  const { request } = world.chain.ask(consumer, { ...terms, ...change }, "Is 720 more than 500?");
  const ticker = setInterval(() => world.chain.mine(), 50);
  try {
    await body({ world, running, request });
  } finally {
    clearInterval(ticker);
    for (const one of running) await one.stop();
  }
}

async function courseWhen({ world, request }: Play, condition: (progress: Progress) => boolean): Promise<Progress> {
  return until(async () => {
    const progress = progressOf(await world.chain.reader().requestEvents(request.id));
    return progress !== null && condition(progress) ? progress : null;
  });
}

const standing = ({ stage }: Progress): string => (stage.kind === "decided" ? stage.standing : stage.kind);

async function journalsOf({ world }: Play): Promise<readonly string[]> {
  const names = await Promise.all(world.agents.map(({ journals }) => journals.list()));
  return names.flat().filter((name) => name.startsWith("request-"));
}

async function appeal(play: Play): Promise<void> {
  const progress = await courseWhen(play, (one) => standing(one) === "provisional");
  const last = lastRound(progress);
  assert.ok(last !== null);
  play.world.chain.appeal(appellant, play.request, last);
}

/** Moves the chain beyond the deadline of the running period. */
async function passDeadline(play: Play, { round }: Progress): Promise<void> {
  const { timestamp } = await play.world.chain.reader().head();
  play.world.chain.passTime(Math.max(0, unpackRound(round).deadline - timestamp) + 1);
}

describe("the runtime when a request has rounds", () => {
  it("SE6, SE9: keepers make a decision final that nobody appeals against; its journals go only then", async () => {
    await during(async (play) => {
      const { running } = play;
      const progress = await courseWhen(play, (one) => standing(one) === "provisional");
      await until(() => running.every(({ agent }) => agent.status().seats.length === 0));
      assert.equal((await journalsOf(play)).length, 4);
      await passDeadline(play, progress);
      await courseWhen(play, (one) => standing(one) === "final");
      await until(async () => (await journalsOf(play)).length === 0);
      const events = await play.world.chain.reader().requestEvents(play.request.id);
      assert.equal(events.filter(({ kind }) => kind === "decisionFinalized").length, 1);
    });
  });

  it("SE8, SE9: keepers call another committee for a silent one; its agents leave their seats and can be drawn again", async () => {
    const half = { agents: 4, silent: 2, change: { appeals: 0, retries: 1 } };
    await during(async (play) => {
      const { running, world } = play;
      const silent = await courseWhen(play, (one) => standing(one) === "requested");
      await until(() => running.every(({ agent }) => agent.status().seats.length === 1));
      await passDeadline(play, silent);
      await courseWhen(play, (one) => one.attempt === 1);
      running.push(...world.agents.slice(0, 2).map((agent) => agent.start()));
      const progress = await courseWhen(play, (one) => standing(one) === "final");
      assert.deepEqual(
        roundsOf(progress)?.map(({ decision }) => [decision.attempt, decision.answer]),
        [[1, "yes"]],
      );
      await until(async () => (await journalsOf(play)).length === 0);
    }, half);
  });

  it("SE10, SE16: the commit settles a decision of the first round, and the seats get their pay without asking for it", async () => {
    await during(
      async (play) => {
        const { chain, agents } = play.world;
        const reader = chain.reader();
        await until(async () => (await reader.requestState(play.request.id)).settled);
        const paid = (await reader.agents()).map(({ operator }) => chain.creditOf(operator, "token"));
        assert.equal(
          paid.reduce((sum, amount) => sum + amount, 0n),
          terms.fee,
        );
        assert.equal(paid.length, agents.length);
      },
      { agents: 4, change: { appeals: 0 } },
    );
  });

  it("SE3, SE5, SE9: after an appeal nine seats decide and are paid, some of agents that sat before", async () => {
    await during(async (play) => {
      await appeal(play);
      const progress = await courseWhen(play, (one) => standing(one) === "final");
      const rounds = roundsOf(progress) ?? [];
      assert.deepEqual(
        rounds.map(({ committee, decision }) => [committee.length, decision.attempt, decision.answer]),
        [
          [4, 0, "yes"],
          [9, 1, "yes"],
        ],
      );
      // Of 13 equal agents one may be left out, an eighth (DR4): at most three of the first four sit again.
      assert.ok(new Set(rounds.flatMap(({ committee }) => committee.map(({ agentId }) => agentId))).size >= 10);
      await until(async () => (await journalsOf(play)).length === 0);
      await until(async () => (await play.world.chain.reader().requestState(play.request.id)).settled);
      assert.equal(play.world.chain.creditOf(appellant, "token"), 0n);
    });
  });

  it("SE8, SE9: keepers end a request as hung when nobody answers an appeal, and return the bond", async () => {
    await during(async (play) => {
      const { running, world, request } = play;
      await appeal(play);
      // The one agent that is left keeps the request.
      for (const one of running.splice(1)) await one.stop();
      const open = await courseWhen(play, (one) => one.past.length === 1);
      await passDeadline(play, open);
      await courseWhen(play, (one) => standing(one) === "unanswered");
      assert.equal(world.chain.creditOf(appellant, "token"), 18n * 10n ** 18n);
      assert.equal((await world.chain.reader().requestState(request.id)).status, "hung");
      await until(async () => (await world.chain.reader().requestState(request.id)).settled);
    });
  });

  it("SE3: an agent that starts after the seed block finds its committee, and sits", async () => {
    const late = { agents: 4, silent: 2, change: { appeals: 0 } };
    await during(async (play) => {
      const { running, world } = play;
      await until(() => running.every(({ agent }) => agent.status().seats.length === 1));
      const started = world.agents.slice(0, 2).map((agent) => agent.start());
      running.push(...started);
      await courseWhen(play, (one) => standing(one) === "final");
      await until(() => started.every(({ agent }) => agent.facts().attempts.decided === 1));
    }, late);
  });

  it("SE3: a reorganization that replaces the seed block moves agents from the old committee to the new one", async () => {
    // Four agents of twelve run, so that no committee of nine has a quorum.
    const few = { agents: 12, silent: 8, change: { appeals: 0, committeeSize: 9 } };
    await during(async ({ running, world, request }) => {
      const reader = world.chain.reader();
      const [event] = await reader.requestEvents(request.id);
      assert.ok(event?.kind === "requested");
      const { round, seedBlock } = event;
      await until(async () => (await reader.head()).number > seedBlock);
      const held = (): readonly number[] => running.map(({ agent }) => agent.status().seats[0]?.seat ?? -1);
      const named = async (): Promise<readonly number[]> => {
        const committee = await reader.committee(request, { round, attempt: 0, seedBlock, past: [] });
        const awake = world.agents.slice(few.silent);
        return awake.map(({ keys }) => committee.findIndex(({ signer }) => signer === keys.address));
      };
      const before = await named();
      await until(() => isDeepStrictEqual(held(), before));
      let after = before;
      // Somebody who did not sit has a seat now.
      while (!after.some((seat, index) => seat !== -1 && before[index] === -1) || after.every((seat) => seat !== -1)) {
        world.chain.reorganize(seedBlock);
        after = await named();
      }
      // Who sat before has a journal of the old committee, and so abstains.
      const expected = after.map((seat, index) => (before[index] === -1 || before[index] === seat ? seat : -1));
      await until(() => isDeepStrictEqual(held(), expected));
    }, few);
  });
});
