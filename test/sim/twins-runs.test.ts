import { after, before, describe, it } from "node:test";
import { protocols } from "../../agents/core/protocols/index.ts";
import { createPool, type Pool } from "../../sim/pool.ts";
import { playTwins } from "./twins.suite.ts";

describe("twins, every schedule", () => {
  let pool: Pool;
  before(async () => {
    pool = await createPool(2, { realSignatures: false, mutant: null });
  });
  after(() => pool.close());

  for (const { id } of protocols)
    for (const windowMs of [300, 2_000])
      it(`${id}: one window of ${windowMs} ms`, async () => void (await playTwins(pool, id, { windows: 1, windowMs })));

  it("mbft: two windows of 1500 ms", async () => void (await playTwins(pool, "mbft", { windows: 2, windowMs: 1_500 })));
});
