import assert from "node:assert/strict";
import { reworded } from "../../agents/core/prompts/prompt.ts";
import { describe, it } from "node:test";
import { createMemoryModel } from "../../agents/adapters/memory/model.ts";
import { modelFailed } from "../../agents/adapters/models/output.ts";
import type { Input, Protocol } from "../../agents/core/protocol.ts";
import { mbft } from "../../agents/core/protocols/mbft/index.ts";
import { clo } from "../../agents/core/protocols/clo/index.ts";
import { protocols } from "../../agents/core/protocols/index.ts";
import type { ConclaveError } from "../../agents/core/errors.ts";
import type { Address } from "../../agents/core/types.ts";
import { createInputReader } from "../../agents/node/seat/records.ts";
import { createRequestBudget } from "../../agents/node/seat/token-budget.ts";
import type { Model, ModelFailureKind } from "../../agents/ports/model.ts";
import { violationsIn } from "../../sim/checkers/index.ts";
import { createPlan } from "../../sim/plan.ts";
import { honestSeats } from "../../sim/trace.ts";
import { runWorld } from "../../sim/world.ts";
import { attemptOf, booleanTerms } from "../support/core/committee.ts";
import { openSeatOf } from "./seat.ts";
import { memoryWorld } from "./memory-world.ts";
import { truthful } from "./world.ts";
import { until } from "../support/until.ts";

const consumer = `0x${"cc".repeat(20)}` as Address;

interface Watched {
  readonly model: Model;
  /** Outcome of each call in order: "answered", or the kind of failure. */
  readonly outcomes: readonly string[];
}

function watched(truth: string): Watched {
  const model = createMemoryModel(truthful(truth), { confidence: () => 900_000 });
  const outcomes: string[] = [];
  const ask: Model["ask"] = async (...call) => {
    try {
      const response = await model.ask(...call);
      // CL2: whatever temperature the agents have.
      outcomes.push(call[0].isSampled === true ? "answered" : "answered without a draw");
      return response;
    } catch (error) {
      outcomes.push(String((error as ConclaveError).data["kind"]));
      throw error;
    }
  };
  return { model: { ...model, ask }, outcomes };
}

type Observed = Extract<Input, { readonly kind: "observed" }>;

/**
 * What a seat whose first prompt has a brief asks its model, and what its journal says of it. `fails` gives the kind of
 * failure of a prompt.
 */
async function askedOnce(
  fails: (user: string) => ModelFailureKind | null,
  user = "long",
): Promise<{ readonly asked: readonly string[]; readonly observed: Observed | undefined }> {
  const protocol: Protocol = {
    ...(mbft as Protocol),
    start(context) {
      const step = mbft.start(context);
      const effects = step.effects.map((effect) =>
        effect.kind === "ask"
          ? { ...effect, prompt: reworded(effect.prompt, (one) => ({ ...one, user, briefs: ["task: propose"] })) }
          : effect,
      );
      return { ...step, effects };
    },
  };
  const asked: string[] = [];
  const model = createMemoryModel(truthful("yes"), { confidence: () => 900_000 });
  const ask: Model["ask"] = async (request, signal) => {
    asked.push(request.user);
    const kind = fails(request.user);
    if (kind === null) return await model.ask(request, signal);
    // Reserves tokens before the attempt and returns them, as a call does that cost nothing.
    request.budget?.reserve(1_000)?.(0);
    throw modelFailed("small", kind, "as the test wants it");
  };
  const seat = await openSeatOf(attemptOf(4), 0, { protocol, ports: { model: { ...model, ask } } });
  const observed = await until(async () => {
    const read = createInputReader();
    const inputs = (await seat.journal()).slice(1).flatMap((record) => read(record) ?? []);
    return inputs.find((input) => input.kind === "observed");
  });
  await seat.session.close();
  return { asked, observed };
}

describe("P8: the tokens that one request may cost an agent", () => {
  it("make the agent abstain once they are spent, and the others decide", async () => {
    // Under clo every seat asks its model three times.
    const world = memoryWorld(["yes", "yes", "yes", "no"].map((truth) => truthful(truth)));
    const terms = { ...booleanTerms, protocol: clo.code };
    const poor = watched("yes");
    const rich = watched("yes");
    const running = world.agents.map((agent, index) => {
      if (index === 0) return agent.start({ model: poor.model }, 2_500);
      return agent.start(index === 1 ? { model: rich.model } : {});
    });
    const ticker = setInterval(() => world.chain.mine(), 50);
    try {
      const { request } = world.chain.ask(consumer, terms, "Is 17 prime?");
      const { status, answer } = await until(async () => {
        const events = await world.chain.reader().requestEvents(request.id);
        return events.find((event) => event.kind === "decisionCommitted")?.decision;
      });
      assert.deepEqual([status, answer], ["decided", "yes"]);
      assert.deepEqual(rich.outcomes, ["answered", "answered", "answered"]);
      assert.deepEqual(new Set(poor.outcomes), new Set(["answered", "budget-spent"]));

      // Another request has a budget of its own.
      const before = poor.outcomes.length;
      world.chain.ask(consumer, terms, "Is 19 prime?");
      await until(() => poor.outcomes.slice(before).includes("answered"));
    } finally {
      clearInterval(ticker);
      for (const one of running) await one.stop();
    }
  });

  it("are only those left over when a session goes on after a restart", async () => {
    const first = await openSeatOf(attemptOf(4), 0);
    await until(() => first.sent.length > 0);
    await first.session.close();
    const records = await first.journal();
    const read = createInputReader();
    const inputs = records.slice(1).flatMap((record) => read(record) ?? []);
    const tokens = inputs.flatMap((input) => (input.kind === "observed" ? [input.tokens ?? 0] : []));
    const spent = tokens.reduce((sum, one) => sum + one, 0);
    assert.ok(tokens.length > 0 && spent > 0);

    const limit = 100_000;
    const budget = createRequestBudget(limit);
    const second = await openSeatOf(attemptOf(4), 0, { records, ports: { budget } });
    assert.equal(budget.open().reserve(limit - spent + 1), null);
    assert.notEqual(budget.open().reserve(limit - spent), null);
    await second.session.close();
  });

  it("P9: are charged only for the short prompt that replaces one that was too long", async () => {
    const { asked, observed } = await askedOnce((user) => (user === "long" ? "prompt-too-long" : null));
    assert.deepEqual(asked, ["long", "task: propose"]);
    assert.equal(observed?.observation.kind, "answered");
    const { tokens: briefAlone } = (await askedOnce(() => null, "task: propose")).observed ?? {};
    assert.equal(observed?.tokens, briefAlone);
  });

  it("P9: a prompt is replaced once only, and not after a failure that is not about its length", async () => {
    for (const kind of ["prompt-too-long", "truncated"] as const) {
      const { asked, observed } = await askedOnce(() => kind);
      assert.deepEqual(asked, ["long", "task: propose"]);
      assert.deepEqual(observed?.observation, { kind: "failed", reason: kind });
    }
    const { asked, observed } = await askedOnce(() => "refused");
    assert.deepEqual(asked, ["long"]);
    assert.deepEqual(observed?.observation, { kind: "failed", reason: "refused" });
  });

  for (const { id } of protocols)
    it(`${id}: seats with few or no tokens left break no rule, whatever else goes wrong`, async () => {
      const statuses = new Set<string>();
      for (const [seed, tokensPerRequest] of [0, 2_500].entries()) {
        const plan = createPlan(
          {
            protocol: id,
            n: 4,
            byzantine: 1,
            faults: ["drop", "crash", "model"],
            byzantineKinds: ["lying"],
            kind: null,
            errorPpm: 0,
            sources: [],
          },
          seed + 1,
        );
        const trace = await runWorld({ ...plan, tokensPerRequest });
        assert.deepEqual(violationsIn(trace), [], `seed ${seed + 1}`);
        const certified = honestSeats(trace).map(({ certificates }) => certificates[0]?.certificate.decision.status);
        if (tokensPerRequest === 0) assert.deepEqual([...new Set(certified)], ["hung"]);
        for (const status of certified) if (status !== undefined) statuses.add(status);
      }
      assert.ok(statuses.size > 0);
    });
});
