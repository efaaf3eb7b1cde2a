// `npm run bench:latency`: its bare steps.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Address } from "../../agents/core/types.ts";
import type { Network } from "../../agents/ports/network.ts";
import { createExchange, type Exchange } from "../bench/latency/exchange.ts";
import { decodeBare, encodeBare } from "../bench/latency/messages.ts";

const SIZES = [1_000, 200, 300] as const;

describe("the bare steps of certification", () => {
  it("take a proposal and two votes of each seat, of the sizes that certification has, and end in any order", () => {
    for (const isReversed of [false, true]) {
      const names = [0, 1, 2, 3].map((seat) => `0x${seat}` as Address);
      const waiting: { readonly to: number; readonly frame: Uint8Array }[] = [];
      const done: number[] = [];
      const seats: readonly Exchange[] = names.map((own, seat) => {
        const network = {
          send: (to: Address, frame: Uint8Array) => void waiting.push({ to: names.indexOf(to), frame }),
        } as Pick<Network, "send"> as Network;
        return createExchange(
          network,
          names.filter((name) => name !== own),
          () => done.push(seat),
        );
      });
      const lengths: number[] = [];
      for (const [seat, one] of seats.entries()) one.begin(7, SIZES, seat === 0);
      for (let next = waiting.shift(); next !== undefined; next = isReversed ? waiting.pop() : waiting.shift()) {
        lengths.push(next.frame.length);
        seats[next.to]?.receive(decodeBare(next.frame) ?? assert.fail());
      }
      assert.deepEqual(
        done.toSorted((one, other) => one - other),
        [0, 1, 2, 3],
      );
      for (const [size, count] of [
        [1_000, 3],
        [200, 12],
        [300, 12],
      ] as const)
        if (!isReversed) assert.equal(lengths.filter((length) => length === size).length, count);
    }
  });

  it("have frames that no message of the product looks like", () => {
    const frame = { kind: "ping", repetition: 9, sentAt: 123_456_789_012_345n } as const;
    assert.deepEqual(decodeBare(encodeBare(frame, 0)), frame);
    assert.equal(decodeBare(Uint8Array.of(0xa3, 1, 2)), null);
  });
});
