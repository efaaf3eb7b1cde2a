import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { limits } from "../../agents/core/limits.ts";
import type { Input } from "../../agents/core/protocol.ts";
import type { Message } from "../../agents/core/types.ts";
import { createInputReader } from "../../agents/node/seat/records.ts";
import { attemptOf, signMessage } from "../support/core/committee.ts";
import { openSeatOf, type Seat } from "./seat.ts";
import { decide } from "./session-deciding.ts";
import { assertAbove } from "../support/assertions.ts";
import { until } from "../support/until.ts";

const attempt = attemptOf(4);
const openSeat = (seat: number, records: readonly Uint8Array[], truth: string): Promise<Seat> =>
  openSeatOf(attempt, seat, { records, truth });

const inputsOf = (records: readonly Uint8Array[]): readonly Input[] => {
  const read = createInputReader();
  return records.slice(1).flatMap((record) => read(record) ?? []);
};

const slot = ({ header }: Message): string => `${header.phase}.${header.round}`;

/** The journal of seat 0 in a committee whose seats exchange what they send. */
async function journalOfDecision(): Promise<Uint8Array[]> {
  const seats = await Promise.all([0, 1, 2, 3].map((seat) => openSeat(seat, [], "yes")));
  await decide(seats);
  return seats[0]!.journal();
}

describe("a session after a crash", () => {
  it("signs no slot twice, whatever prefix of the journal survived and whatever the model says now", async () => {
    const records = await journalOfDecision();
    assertAbove(records.length, 15);
    for (let cut = 0; cut <= records.length; cut++) {
      const before = records.slice(0, cut);
      const signed = new Map<string, string>();
      for (const input of inputsOf(before)) {
        if (input.kind === "message" && input.message.header.seat === 0)
          signed.set(slot(input.message), input.message.header.payloadDigest);
      }
      // Everything the crashed process can have sent is in its journal; the model has changed its mind meanwhile.
      const { session, sent } = await openSeat(0, before, "no");
      const isSent = (key: string): boolean =>
        sent.some((message) => message.header.seat === 0 && slot(message) === key);
      await until(() => [...signed.keys()].every(isSent));
      await sleep(30);
      await session.close();
      for (const message of sent.filter(({ header }) => header.seat === 0)) {
        assert.equal(
          signed.get(slot(message)) ?? message.header.payloadDigest,
          message.header.payloadDigest,
          `cut at ${cut}, slot ${slot(message)}`,
        );
        signed.set(slot(message), message.header.payloadDigest);
      }
    }
  });

  it("refuses the journal of another attempt", async () => {
    const records = await journalOfDecision();
    const other = records.with(0, records[0]!.with(3, 0));
    let code = "";
    await openSeat(0, other, "yes").catch((error: { readonly code: string }) => (code = error.code));
    assert.equal(code, "JOURNAL_CONFLICT");
  });

  it("limits floods of well-formed messages for one slot before they reach the journal", async () => {
    const { session, journal } = await openSeat(0, [], "yes");
    const flood = Array.from({ length: 50 }, (_, i) =>
      signMessage(attempt, 1, 1, 0, { commitment: new Uint8Array(32).fill(i) }),
    );
    const misplaced = [
      signMessage(attempt, 1, 77, 0, { commitment: null }),
      signMessage(attempt, 1, 1, 9, { commitment: null }),
    ];
    for (const message of [...flood, ...misplaced])
      if (session.wants(message.header) && session.refuses(message) === null) session.deliver(message);
    const foreign = async (): Promise<readonly Input[]> =>
      inputsOf(await journal()).filter((input) => input.kind === "message" && input.message.header.seat === 1);
    await until(async () => (await foreign()).length >= limits.payloadsPerSlot);
    await sleep(50);
    await session.close();
    assert.equal((await foreign()).length, limits.payloadsPerSlot);
  });
});
