import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryClock } from "../../agents/adapters/memory/clock.ts";
import { ConclaveError } from "../../agents/core/errors.ts";
import { persistently } from "../../agents/node/persist.ts";
import { silentLog } from "../integration/world.ts";
import { assertWithin } from "../support/assertions.ts";

const away = (): ConclaveError => new ConclaveError("CHAIN_UNREACHABLE", "Call the node: it is away");

describe("an action that needs the chain", () => {
  it("is repeated with longer and longer sleep in between until the node answers", async () => {
    const clock = createMemoryClock();
    const triedAt: number[] = [];
    const done = persistently({ clock, log: silentLog }, new AbortController().signal, async () => {
      triedAt.push(clock.now());
      if (triedAt.length < 12) throw away();
    });
    await clock.runUntilIdle();
    await done;
    assert.equal(triedAt.length, 12);
    const sleeps = triedAt.slice(1).map((at, index) => at - triedAt[index]!);
    for (const [index, sleepMs] of sleeps.entries()) {
      const full = Math.min(30_000, 250 * 2 ** index);
      assertWithin(sleepMs, full / 2, full);
    }
  });

  it("costs two lines of the log, however often it is tried: when the node went away and when it answered again", async () => {
    const clock = createMemoryClock();
    const lines: string[] = [];
    const log = {
      ...silentLog,
      warn: (data: object) => lines.push(JSON.stringify(data)),
      info: (data: object) => lines.push(JSON.stringify(data)),
    };
    let tries = 0;
    const done = persistently({ clock, log }, new AbortController().signal, async () => {
      tries++;
      if (tries < 100) throw away();
    });
    await clock.runUntilIdle();
    await done;
    assert.deepEqual(lines, ['{"error":"Call the node: it is away"}', '{"failures":99}']);
  });

  it("is repeated until its gas costs no more than the account pays", async () => {
    const clock = createMemoryClock();
    let tries = 0;
    const done = persistently({ clock, log: silentLog }, new AbortController().signal, async () => {
      tries++;
      if (tries < 20) throw new ConclaveError("GAS_TOO_DEAR", "Wake agent 1: the node asks for too much");
    });
    await clock.runUntilIdle();
    await done;
    assert.equal(tries, 20);
  });

  it("ends while it waits when the agent stops", async () => {
    const clock = createMemoryClock();
    const stop = new AbortController();
    const done = persistently({ clock, log: silentLog }, stop.signal, async () => {
      throw away();
    }).catch((error: unknown) => error);
    await clock.advanceAsync(10_000);
    assert.equal(clock.pending, 1);
    stop.abort();
    assert.equal(await done, stop.signal.reason);
    assert.equal(clock.pending, 0);
  });

  it("is not repeated when waiting cannot help", async () => {
    const broken = new Error("journal");
    let tries = 0;
    const done = persistently(
      { clock: createMemoryClock(), log: silentLog },
      new AbortController().signal,
      async () => {
        tries++;
        throw broken;
      },
    );
    assert.equal(await done.catch((error: unknown) => error), broken);
    assert.equal(tries, 1);
  });
});
