import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { decodeOrigins, encodeOrigins, tidyOrigin, withOrigins } from "../../agents/core/phases/origin.ts";
import type { Origin } from "../../agents/core/prompts/prompt.ts";
import { hashgraph } from "../../agents/core/protocols/hashgraph/index.ts";
import { unanimous } from "../../agents/core/protocols/unanimous/index.ts";
import { mbft } from "../../agents/core/protocols/mbft/index.ts";
import { closeForm } from "../../agents/core/phases/round-book.ts";
import { clo } from "../../agents/core/protocols/clo/index.ts";
import type { Message, SeatIndex, Value } from "../../agents/core/types.ts";
import { attemptOf, runCommittee, type SeatScript } from "../support/core/committee.ts";
import { holds } from "../support/core/hashgraph-scripts.ts";

const origin: Origin = {
  model: "m@1 sha256:0011223344556677",
  engine: "e@2 cpu",
  sampling: "temperature=0",
  prompts: "general@1",
  seed: 7,
};
const entry = {
  model: origin.model,
  engine: origin.engine,
  sampling: origin.sampling,
  prompts: origin.prompts,
  seeds: [7],
};

describe("origins (PH12)", () => {
  it("has one entry for each engine, with the seeds in order", () => {
    const other = { ...origin, engine: "e@3 cpu", seed: 1 };
    const encoded = encodeOrigins([origin, other, { ...origin, seed: 9 }]);
    assert.deepEqual(encoded, [
      { ...entry, seeds: [7, 9] },
      { ...entry, engine: "e@3 cpu", seeds: [1] },
    ]);
    assert.deepEqual(decodeOrigins(encoded), [origin, { ...origin, seed: 9 }, other]);
    assert.equal(encodeOrigins([]), null);
    assert.deepEqual(decodeOrigins(undefined), []);
  });

  it("states in its old form that no seed was sent", () => {
    const without: Origin = { ...origin, seed: null };
    const encoded = encodeOrigins([without, origin, without]);
    assert.deepEqual(encoded, [{ ...entry, sampling: "temperature=0 no-seed", seeds: [0, 0] }, entry]);
    assert.deepEqual(decodeOrigins(encoded), [without, without, origin]);
    const long = tidyOrigin({ ...without, sampling: "x".repeat(160) });
    assert.equal(decodeOrigins(encodeOrigins([long]))?.[0]?.seed, null);
  });

  for (const protocol of [mbft, clo, hashgraph])
    it(`is told with what opens the commitment, since whoever has the model could compute the answer: ${protocol.id}`, () => {
      let asked = 0;
      const script: SeatScript = {
        ...holds("yes"),
        answer: (ask) => {
          asked += 1;
          return {
            fields: { ...holds("yes").answer(ask)?.fields, verdict: "accept" },
            origin: { ...origin, seed: asked },
          };
        },
      };
      const told = new Map<string, readonly Message[]>();
      const hear = (message: Message): void => {
        const name = protocol.render(attempt, message.header, message.payload)?.name ?? "";
        told.set(name, [...(told.get(name) ?? []), message]);
      };
      const attempt = attemptOf(4, { protocol: protocol.code });
      runCommittee(protocol, attempt, [{ ...script, hear }, script, script, script]);
      const seedsIn = (name: string): readonly boolean[] =>
        (told.get(name) ?? []).map(({ payload }) => JSON.stringify(payload).includes("seeds"));
      assert.deepEqual(new Set(seedsIn("commit")), new Set([false]));
      assert.ok(
        seedsIn(protocol === hashgraph ? "output" : "reveal")
          .slice(0, 4)
          .every(Boolean),
      );
    });

  it("is bounded, also if strangers send it", () => {
    const seeds = Array.from({ length: 200 }, (_, seed) => ({ ...origin, seed }));
    const engines = Array.from({ length: 9 }, (_, index) => ({ ...origin, engine: `e${index}` }));
    assert.equal(decodeOrigins(encodeOrigins(seeds))?.length, 128);
    assert.equal(decodeOrigins(encodeOrigins(engines))?.length, 4);
    const bad: Value[] = [
      null,
      [],
      {},
      [entry, entry, entry, entry, entry],
      [{ ...entry, more: 1 }],
      [{ ...entry, model: "" }],
      [{ ...entry, model: "x".repeat(161) }],
      [{ ...entry, engine: "line\nend" }],
      [{ ...entry, sampling: 5 }],
      [{ ...entry, prompts: "" }],
      [{ ...entry, seeds: [] }],
      [{ ...entry, seeds: [-1] }],
      [{ ...entry, seeds: [2 ** 32] }],
      [entry, { ...entry, seeds: [8] }],
      [{ ...entry, sampling: "temperature=0 no-seed" }],
      [{ ...entry, sampling: " no-seed", seeds: [0] }],
      [{ ...entry, seeds: Array.from({ length: 129 }, () => 1) }],
    ];
    for (const value of bad) assert.equal(decodeOrigins(value), null, JSON.stringify(value));
    const tidy = tidyOrigin({ model: "é\n", engine: "", sampling: "x".repeat(999), prompts: "", seed: -1 });
    assert.ok(decodeOrigins(encodeOrigins([tidy])));
  });

  it("may stand in a message of phases, and makes it malformed when it is", () => {
    const attempt = attemptOf(4);
    const slot = { seat: 1 as SeatIndex, round: 0, phase: 1 };
    const body = { commitment: new Uint8Array(32) };
    assert.equal(mbft.rejectPayload(attempt, slot, withOrigins(body, [origin])), null);
    assert.equal(mbft.rejectPayload(attempt, slot, { ...body, made: [{ ...entry, seeds: [] }] }), "malformed-payload");
    assert.deepEqual(mbft.render(attempt, slot, withOrigins(body, [origin]))?.body, { ...body, made: [entry] });
    assert.deepEqual(mbft.render(attempt, slot, body)?.body, body);
  });

  it("does not stand in a message that rests on no answer", () => {
    const attempt = attemptOf(4);
    const slot = { seat: 1 as SeatIndex, round: 0, phase: closeForm.phase };
    const close = { seen: [[null, null, null, null]] };
    assert.equal(unanimous.rejectPayload(attempt, slot, close), null);
    assert.equal(unanimous.rejectPayload(attempt, slot, withOrigins(close, [origin])), "malformed-payload");
  });

  it("may stand in the record of an event, and makes it malformed when it is", () => {
    const attempt = attemptOf(4);
    const slot = { seat: 1 as SeatIndex, round: 0, phase: 1 };
    const event = (record: Value): { readonly [key: string]: Value } => {
      return { selfParent: null, otherParent: null, time: 0, closed: 0, mode: "gossip", wants: [], record };
    };
    const record = { stage: 0, body: { commitment: new Uint8Array(32) } };
    assert.equal(hashgraph.rejectPayload(attempt, slot, event(record)), null);
    assert.equal(hashgraph.rejectPayload(attempt, slot, event(withOrigins(record, [origin]))), null);
    assert.equal(hashgraph.rejectPayload(attempt, slot, event({ ...record, made: [] })), "malformed-payload");
    const said = hashgraph.render(attempt, slot, event(withOrigins(record, [origin])))?.body["record"];
    assert.deepEqual(said, { ...record, made: [entry] });
  });
});
