import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { hexToBytes } from "../../agents/core/encoding/bytes.ts";
import { isAcceptable } from "../../sim/byzantine/payloads.ts";
import { violationsIn } from "../../sim/checkers/index.ts";
import { fieldsOf } from "../../sim/checkers/raw.ts";
import { createPlan } from "../../sim/plan.ts";
import { mutants } from "../../sim/mutants.ts";
import { optionsOf } from "../../sim/arguments.ts";
import { runWorld } from "../../sim/world.ts";

/** The world that shows the planted fault MB9-V, as the rules stand. */
describe("a seat with three payloads for a slot", () => {
  const mutant = mutants.find(({ id }) => id === "MB9-V")!;
  const plan = createPlan(optionsOf(mutant.sim), mutant.seed!);
  const [liar] = [...plan.byzantine.keys()];
  const running = runWorld(plan);

  it("SM1: does the same in every run of a seed", async () => {
    assert.equal((await runWorld(plan)).hash, (await running).hash);
  });

  it("shows each peer two of them, all well formed, and not the same two", async () => {
    const { messages, seats } = await running;
    const reveals = messages.get(`2.0.${liar}`) ?? [];
    assert.equal(reveals.length, 3);
    for (const { header, payload } of reveals) assert.ok(isAcceptable(plan, header, payload));
    const pairs = seats
      .filter(({ byzantine }) => byzantine === null)
      .map(({ took }) => (took.get(`2.0.${liar}`) ?? []).map(({ signature }) => signature).toSorted());
    assert.deepEqual(
      pairs.map(({ length }) => length),
      [2, 2, 2],
    );
    assert.equal(new Set(pairs.map((pair) => pair.join())).size, 2);
  });

  it("MB9: names one of them in the one vote that it tells all, and the attempt ends", async () => {
    const trace = await running;
    const votes = trace.messages.get(`10.0.${liar}`) ?? [];
    assert.equal(votes.length, 1);
    const own = (trace.messages.get(`2.0.${liar}`) ?? []).map(({ header }) => hexToBytes(header.payloadDigest));
    const named = (fieldsOf(votes[0]!.payload)["votes"] as readonly object[]).map(
      (vote) => fieldsOf(vote as never)["target"],
    );
    assert.ok(own.some((digest) => named.some((one) => Buffer.from(one as Uint8Array).equals(digest))));
    assert.deepEqual(violationsIn(trace), []);
  });
});
