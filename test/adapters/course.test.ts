import assert from "node:assert/strict";
import { describe, it } from "node:test";

import fc from "fast-check";
import { keysFromPrivateKey, type Keys } from "../../agents/adapters/keystore/keys.ts";
import { createMemoryChain, type MemoryChain } from "../../agents/adapters/memory/chain.ts";
import { hexToBytes, keccak256, utf8 } from "../../agents/core/digest.ts";
import { unpackRound } from "../../agents/core/rounds.ts";
import type { Address, Request, Terms } from "../../agents/core/types.ts";
import type { ChainReader, ChainWriter } from "../../agents/ports/chain.ts";
import {
  dueOf,
  isFinal,
  isFinalState,
  lastRound,
  roundsOf,
  witnessOf,
  type Course,
  type Due,
} from "../../agents/ports/course.ts";
import { certify, courseNow, wordOf } from "./chain-questions.ts";
import { booleanTerms } from "../core/committee.ts";

/** 4, 9, and 19 three times. */
const AGENTS = 70;
const consumer = `0x${"c0".repeat(20)}` as Address;
const appellant = `0x${"a2".repeat(20)}` as Address;
const relayer = `0x${"a0".repeat(20)}` as Address;
const keys: readonly Keys[] = Array.from({ length: AGENTS }, (_, index) =>
  keysFromPrivateKey(hexToBytes(keccak256(utf8(`course ${index}`)))),
);

type Step = "answer" | "contradict" | "hang" | "appeal" | "wait" | "keep" | "late";

interface Play {
  readonly chain: MemoryChain;
  readonly reader: ChainReader;
  readonly writer: ChainWriter;
  readonly request: Request;
  bonds: bigint;
}

function start(terms: Partial<Terms>): Play {
  const chain = createMemoryChain({ blockSeconds: 10 });
  for (const { address, publicKey } of keys)
    chain.addAgent({ operator: address, signer: address, publicKey, endpoint: [], model: "test", stake: 1n });
  const { request } = chain.ask(consumer, { ...booleanTerms, fee: 10n ** 18n, duration: 3_600, ...terms }, "Is it?");
  return { chain, reader: chain.reader(), writer: chain.writer(relayer), request, bonds: 0n };
}

/** What a keeper does. */
async function keep({ writer }: Play, course: Course, due: Due): Promise<unknown> {
  const { request, round, past, stage } = course;
  const [witness, last, before] = [witnessOf(course), lastRound(course), past.at(-1)];
  switch (due) {
    case "draw":
      assert.ok(stage.kind === "requested");
      return writer.draw(request, { round, seedBlock: stage.seedBlock, past });
    case "refund":
      assert.ok(witness !== null);
      return writer.refund(request, round, witness);
    case "fallBack":
      assert.ok(witness !== null && before !== undefined);
      return writer.fallBack(request, round, witness, before);
    case "finalize":
      assert.ok(last !== null);
      return writer.finalize(request, last);
    case "settle":
      return writer.settle(request, roundsOf(course) ?? []);
  }
}

async function take(play: Play, step: Step): Promise<void> {
  const { chain, reader, writer, request } = play;
  const course = await courseNow(reader, request.id);
  const { stage, round, past } = course;
  switch (step) {
    case "answer":
    case "contradict":
    case "hang": {
      if (stage.kind !== "drawn" || (await reader.head()).timestamp >= unpackRound(round).deadline) return;
      const { committee } = stage;
      const outcomes = {
        answer: { outcome: wordOf(1n), answer: "true" },
        contradict: { outcome: wordOf(0n), answer: "false" },
        hang: { status: "hung", outcome: wordOf(0n), answer: "" },
      } as const;
      const attempt = { domain: reader.domain, request, attempt: past.length, committee };
      assert.notEqual(
        await writer.commit(request, round, committee, certify(keys, attempt, outcomes[step])),
        "already",
      );
      return;
    }
    case "appeal": {
      const last = lastRound(course);
      if (last === null || isFinal(course) || (await reader.head()).timestamp >= unpackRound(round).deadline) return;
      chain.appeal(appellant, request, last);
      const reopened = (await reader.requestEvents(request.id)).at(-1);
      assert.ok(reopened?.kind === "requestReopened");
      play.bonds += reopened.bond;
      return;
    }
    case "wait":
      return chain.mine(30);
    case "late":
      return chain.mine(400);
    case "keep": {
      if (stage.kind === "requested")
        chain.mine(Math.max(0, Number(stage.seedBlock - (await reader.head()).number) + 1));
      const due = dueOf(course, await reader.head());
      if (due !== null && due !== "settle") assert.notEqual(await keep(play, course, due), "already", due);
    }
  }
}

const steps = fc.array(
  fc.oneof(
    { weight: 12, arbitrary: fc.constant<Step>("keep") },
    { weight: 12, arbitrary: fc.constantFrom<Step>("answer", "contradict", "hang") },
    { weight: 8, arbitrary: fc.constant<Step>("appeal") },
    { weight: 1, arbitrary: fc.constantFrom<Step>("wait", "late") },
  ),
  { minLength: 20, maxLength: 40 },
);

describe("the course of a request", () => {
  it("SE3 to SE8, SE15: whatever happens, it says what the chain says and what the chain takes; the money adds up", async () => {
    const seen = new Set<string>();
    const terms = fc.record({ appeals: fc.integer({ min: 0, max: 2 }), retries: fc.integer({ min: 0, max: 2 }) });
    await fc.assert(
      fc.asyncProperty(terms, steps, async (change, list) => {
        const play = start(change);
        const { reader, chain, request } = play;
        for (const step of list) {
          await take(play, step);
          const [course, state] = [await courseNow(reader, request.id), await reader.requestState(request.id)];
          assert.equal(isFinal(course), isFinalState(state));
          if (!isFinal(course)) assert.equal(course.past.length, state.attempt);
          const standing = course.stage.kind === "decided" ? course.stage.standing : course.stage.kind;
          assert.equal(standing === "provisional", state.provisional);
          seen.add(`${standing} after ${Math.min(course.past.length, 2)}`);
        }
        // Left to the keepers, every request ends.
        for (let turn = 0; !isFinal(await courseNow(reader, request.id)); turn += 1) {
          assert.ok(turn < 20);
          await take(play, "late");
          await take(play, "keep");
        }
        const course = await courseNow(reader, request.id);
        const due = dueOf(course, await reader.head());
        assert.equal(due === "settle", course.stage.kind === "decided");
        if (due === "settle") assert.notEqual(await keep(play, course, due), "already");
        assert.equal((await reader.requestState(request.id)).settled, true);
        const accounts = [consumer, appellant, relayer, ...keys.map(({ address }) => address)];
        const paid = accounts.reduce((sum, account) => sum + chain.creditOf(account, "token"), 0n);
        assert.equal(paid, request.terms.fee + play.bonds);
      }),
      { numRuns: 100, seed: 5 },
    );
    for (const place of [
      "requested after 2",
      "drawn after 2",
      "provisional after 1",
      "final after 2",
      "refunded after 0",
    ])
      assert.ok(seen.has(place), `never ${place}: ${[...seen].join(", ")}`);
  });

  it("SE12: who appeals against a decision that is overturned gets the bond and its pay, else the asker gets the bond", async () => {
    for (const [step, gained] of [
      ["contradict", (18n + 8n) * (10n ** 18n / 26n)],
      ["answer", 0n],
      ["hang", 0n],
    ] as const) {
      const play = start({ appeals: 1 });
      const { reader, request, chain } = play;
      for (const one of ["wait", "keep", "answer", "appeal", "wait", "keep", step] as const) await take(play, one);
      const course = await courseNow(reader, request.id);
      assert.ok(isFinal(course), step);
      await keep(play, course, "settle");
      assert.equal(chain.creditOf(appellant, "token"), gained, step);
    }
  });
});
