import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as settled } from "node:timers/promises";
import { createFairQueue, type FairQueue } from "../../agents/adapters/source-reader/fair-queue.ts";

/** Questions whose readings begin in the order of the queue, and end one by one. */
function table(queue: FairQueue) {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  return {
    begun,
    read: (name: string, signal: AbortSignal, host = name): Promise<void> =>
      queue.run(host, signal, () => {
        begun.push(name);
        return new Promise((resolve) => ends.set(name, resolve));
      }),
    end: async (name: string): Promise<void> => {
      ends.get(name)?.();
      await settled();
    },
  };
}

const question = (): AbortController => new AbortController();

describe("the queue of readings", () => {
  it("EV14: a question that comes late is next, whatever many others of a question with slow sources wait", async () => {
    const { begun, read, end } = table(createFairQueue(2, 2));
    const [slow, late] = [question(), question()];
    const all = ["a1", "a2", "a3", "a4"].map((name) => read(name, slow.signal));
    all.push(read("b1", late.signal), read("b2", late.signal));
    await settled();
    assert.deepEqual(begun, ["a1", "a2"]);
    await end("a1");
    assert.deepEqual(begun, ["a1", "a2", "b1"]);
    await end("a2");
    // Now the late question runs one reading, and the slow one none.
    assert.deepEqual(begun.at(-1), "a3");
    for (const name of ["b1", "a3", "a4", "b2"]) await end(name);
    await Promise.all(all);
    assert.equal(begun.length, 6);
  });

  it("EV14: where one thing is done at one time, a question with four slow sources keeps another one waiting for one of them", async () => {
    const { begun, read, end } = table(createFairQueue(1, 1));
    const [slow, late] = [question(), question()];
    const all = ["a1", "a2", "a3", "a4"].map((name) => read(name, slow.signal));
    all.push(read("b1", late.signal), read("b2", late.signal));
    await settled();
    for (const name of ["a1", "b1", "a2", "b2", "a3", "a4"]) {
      assert.equal(begun.at(-1), name);
      await end(name);
    }
    await Promise.all(all);
  });

  it("EV14: questions that run as many readings are served in the order in which they came", async () => {
    const { begun, read, end } = table(createFairQueue(1, 1));
    const all = ["a", "b", "c"].map((name) => read(name, question().signal));
    await settled();
    for (const name of ["a", "b", "c"]) await end(name);
    await Promise.all(all);
    assert.deepEqual(begun, ["a", "b", "c"]);
  });

  it("EV14: a host that is read twice keeps no other host's readings waiting", async () => {
    const { begun, read, end } = table(createFairQueue(3, 2));
    const { signal } = question();
    const all = [1, 2, 3].map((at) => read(`same ${at}`, signal, "same"));
    all.push(read("other", signal));
    await settled();
    assert.deepEqual(begun, ["same 1", "same 2", "other"]);
    await end("same 1");
    assert.equal(begun.at(-1), "same 3");
    for (const name of ["same 2", "same 3", "other"]) await end(name);
    await Promise.all(all);
  });

  it("EV14: a reading that is given up while it waits takes no place, and one that fails gives its place back", async () => {
    const queue = createFairQueue(1, 1);
    const { begun, read, end } = table(queue);
    const [first, second, third] = [question(), question(), question()];
    const running = read("a", first.signal);
    const given = read("b", second.signal);
    const failing = assert.rejects(
      queue.run("c", third.signal, () => Promise.reject(new Error("broken"))),
      /broken/,
    );
    const last = read("d", third.signal);
    await settled();
    second.abort(new Error("enough"));
    await assert.rejects(given, /enough/);
    await end("a");
    await running;
    await failing;
    await settled();
    assert.deepEqual(begun, ["a", "d"]);
    await end("d");
    await last;
    await assert.rejects(read("e", AbortSignal.abort(new Error("late"))), /late/);
    assert.equal(begun.length, 2);
  });
});
