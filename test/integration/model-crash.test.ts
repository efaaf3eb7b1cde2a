// The real runtime with a real model process, which is killed in the middle of an answer.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { join } from "node:path";
import { createLlamaModel } from "../../agents/adapters/models/llama-model.ts";
import type { Script } from "../../agents/adapters/memory/model.ts";
import type { ConclaveError } from "../../agents/core/errors.ts";
import type { Address, Decision } from "../../agents/core/types.ts";
import type { Model } from "../../agents/ports/model.ts";
import { booleanTerms } from "../support/core/committee.ts";
import { memoryWorld } from "./memory-world.ts";
import { truthful } from "./world.ts";
import { until } from "../support/until.ts";
import { assertAtLeast } from "../support/assertions.ts";

const consumer = `0x${"cc".repeat(20)}` as Address;
/** A question of models/held-out.json, with its answer. */
const question =
  "Loan rules: 1) age 25 or more; 2) no open debt; 3) loan up to 450. Case: age 31, debt free, loan 190. Does the applicant qualify?";
const truth = "yes";
const seats = [0, 1, 2, 3];

interface Killed {
  readonly model: Model;
  /** Process ids of the first and each later start. */
  readonly starts: readonly number[];
  readonly failures: readonly ConclaveError[];
}

/**
 * A model whose process is killed at the first token of its first answer, and at every later start unless it may go on.
 */
async function killed(mayGoOn: boolean): Promise<Killed> {
  const path = join(import.meta.dirname, "../../models/conclave-small.gguf");
  const starts: number[] = [];
  const failures: ConclaveError[] = [];
  const onStart = (pid: number): void => {
    starts.push(pid);
    if (starts.length > 1 && !mayGoOn) process.kill(pid, "SIGKILL");
  };
  const options = { sequences: seats.length, waiting: 64, threads: 1, gpu: false, temperature: 0 } as const;
  const model = await createLlamaModel({ path, ...options, onStart });
  let isAlive = true;
  const ask: Model["ask"] = async (request, signal) => {
    try {
      return await model.ask(request, signal, () => {
        if (isAlive) process.kill(starts[0] as number, "SIGKILL");
        isAlive = false;
      });
    } catch (error) {
      failures.push(error as ConclaveError);
      throw error;
    }
  };
  return { model: { ...model, ask }, starts, failures };
}

/** Decision of four seats, each with its model. A seat without one knows the truth, but waits until it may speak. */
async function decide(models: readonly (Model | null)[], maySpeak: () => boolean = () => true): Promise<Decision> {
  const scripts = seats.map((): Script => async (request, signal) => {
    await until(maySpeak);
    return await truthful(truth)(request, signal);
  });
  const world = memoryWorld(scripts);
  const running = world.agents.map((agent, index) => {
    const model = models[index] ?? null;
    return agent.start(model === null ? {} : { model });
  });
  const { request } = world.chain.ask(consumer, booleanTerms, question);
  const ticker = setInterval(() => world.chain.mine(), 50);
  try {
    return await until(async () => {
      const events = await world.chain.reader().requestEvents(request.id);
      return events.find((event) => event.kind === "decisionCommitted")?.decision;
    });
  } finally {
    clearInterval(ticker);
    for (const one of running) await one.stop();
    for (const model of new Set(models)) await model?.close();
  }
}

describe("a model's process that is killed in the middle of an answer", () => {
  it("is asked again by the four seats that share it, and they decide", async () => {
    const { model, starts, failures } = await killed(true);
    const { status, answer } = await decide(seats.map(() => model));
    assert.deepEqual({ status, answer, starts: starts.length }, { status: "decided", answer: truth, starts: 2 });
    assert.deepEqual(failures, []);
  });

  it("makes its seat abstain if it cannot be started again, and the others decide", async () => {
    const { model, starts, failures } = await killed(false);
    const { status, answer } = await decide([model, null, null, null], () => failures.length > 0);
    assert.deepEqual({ status, answer }, { status: "decided", answer: truth });
    assertAtLeast(starts.length, 3);
    assert.equal(failures[0]?.code, "MODEL_FILE_BROKEN");
  });
});
