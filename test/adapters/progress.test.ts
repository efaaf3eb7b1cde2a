import assert from "node:assert/strict";
import { describe, it } from "node:test";

import fc from "fast-check";
import { keysFromPrivateKey, type Keys } from "../../agents/adapters/keystore/keys.ts";
import { createMemoryChain, type MemoryChain } from "../support/memory-chain/chain.ts";
import { hexToBytes, keccak256, utf8 } from "../../agents/core/encoding/bytes.ts";
import { unpackRound } from "../../agents/core/request/rounds.ts";
import type { Address, Request, Terms } from "../../agents/core/types.ts";
import type { ChainReader, ChainWriter } from "../../agents/ports/chain.ts";
import { isFinalState } from "../../agents/core/request/state.ts";
import {
  awaitedOf,
  dueOf,
  isFinal,
  isPaid,
  lastRound,
  roundsOf,
  type Progress,
  type Due,
} from "../../agents/core/request/progress.ts";
import { seatedProgress } from "../../agents/node/request/committee.ts";
import { certify, progressNow, wordOf } from "./chain-questions.ts";
import { booleanTerms } from "../support/core/committee.ts";

/** Enough agents for committees of 4, 9, and three times 19. */
const AGENTS = 70;
const consumer = `0x${"c0".repeat(20)}` as Address;
const appellant = `0x${"a2".repeat(20)}` as Address;
const relayer = `0x${"a0".repeat(20)}` as Address;
const keys: readonly Keys[] = Array.from({ length: AGENTS }, (_, index) =>
  keysFromPrivateKey(hexToBytes(keccak256(utf8(`progress ${index}`)))),
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

/** The progress with the committee at work, as agents find it out. */
async function seatedNow({ reader, request }: Play): Promise<Progress> {
  const progress = await progressNow(reader, request.id);
  return seatedProgress(reader, progress, await reader.head(), new AbortController().signal);
}

/** Does what a keeper does when `due` is due. */
async function keep({ writer }: Play, progress: Progress, due: Due): Promise<unknown> {
  const { request } = progress;
  const [awaited, last] = [awaitedOf(progress), lastRound(progress)];
  switch (due) {
    case "replace":
    case "refund":
    case "fallBack":
      assert.ok(awaited !== null);
      return writer[due](request, awaited);
    case "finalize":
      assert.ok(last !== null);
      return writer.finalize(request, last);
    case "settle":
      return writer.settle(request, roundsOf(progress) ?? []);
  }
}

async function take(play: Play, step: Step): Promise<void> {
  const { chain, reader, writer, request } = play;
  const progress = await seatedNow(play);
  const { stage, round } = progress;
  switch (step) {
    case "answer":
    case "contradict":
    case "hang": {
      const awaited = awaitedOf(progress);
      if (awaited === null || stage.kind !== "drawn" || (await reader.head()).timestamp >= unpackRound(round).deadline)
        return;
      const { committee } = stage;
      const outcomes = {
        answer: { outcome: wordOf(1n), answer: "true" },
        contradict: { outcome: wordOf(0n), answer: "false" },
        hang: { status: "hung", outcome: wordOf(0n), answer: "" },
      } as const;
      const attempt = { domain: reader.domain, request, attempt: progress.attempt, committee };
      assert.notEqual(await writer.commit(request, awaited, certify(keys, attempt, outcomes[step])), "already");
      return;
    }
    case "appeal": {
      const last = lastRound(progress);
      if (last === null || isFinal(progress) || (await reader.head()).timestamp >= unpackRound(round).deadline) return;
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
      const due = dueOf(progress, await reader.head());
      if (due !== null && due !== "settle") assert.notEqual(await keep(play, progress, due), "already", due);
    }
  }
}

const steps = fc.array(
  fc.oneof(
    { weight: 12, arbitrary: fc.constant<Step>("keep") },
    { weight: 12, arbitrary: fc.constantFrom<Step>("answer", "contradict", "hang") },
    { weight: 8, arbitrary: fc.constant<Step>("appeal") },
    { weight: 1, arbitrary: fc.constant<Step>("wait") },
    { weight: 2, arbitrary: fc.constant<Step>("late") },
  ),
  { minLength: 20, maxLength: 40 },
);

describe("the progress of a request", () => {
  it("SE3 to SE8, SE15: after any events it agrees with the chain and names what the chain accepts; the money adds up", async () => {
    const seen = new Set<string>();
    const terms = fc.record({ appeals: fc.integer({ min: 0, max: 2 }), retries: fc.integer({ min: 0, max: 2 }) });
    await fc.assert(
      fc.asyncProperty(terms, steps, async (change, list) => {
        const play = start(change);
        const { reader, chain, request } = play;
        for (const step of list) {
          await take(play, step);
          const [progress, state] = [await seatedNow(play), await reader.requestState(request.id)];
          assert.equal(isFinal(progress), isFinalState(state));
          if (!isFinal(progress)) assert.equal(progress.attempt, state.attempt);
          const standing = progress.stage.kind === "decided" ? progress.stage.standing : progress.stage.kind;
          assert.equal(standing === "provisional", state.provisional);
          seen.add(`${standing} after ${Math.min(progress.past.length, 2)}`);
          if (progress.attempt > progress.past.length) seen.add(`${standing} after silence`);
        }
        // Every request ends if it is left to the keepers.
        for (let turn = 0; !isFinal(await progressNow(reader, request.id)); turn += 1) {
          assert.ok(turn < 20);
          await take(play, "late");
          await take(play, "keep");
        }
        const progress = await progressNow(reader, request.id);
        const due = dueOf(progress, await reader.head());
        assert.equal(due === null, isPaid(progress));
        if (due === "settle") assert.notEqual(await keep(play, progress, due), "already");
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
      "drawn after silence",
      "provisional after silence",
      "final after silence",
      "refunded after silence",
    ])
      assert.ok(seen.has(place), `never ${place}: ${[...seen].join(", ")}`);
  });

  /** Plays an answer of the first committee, an appeal against it, and these steps of the committees after it. */
  const appealed = async (terms: Partial<Terms>, answers: readonly Step[]): Promise<Play> => {
    const play = start({ appeals: 1, ...terms });
    for (const one of ["keep", "answer", "appeal"] as const) await take(play, one);
    for (const one of answers) {
      await take(play, "keep");
      await take(play, one);
    }
    const progress = await progressNow(play.reader, play.request.id);
    assert.ok(isFinal(progress), answers.join(", "));
    await keep(play, progress, "settle");
    return play;
  };

  it("SE12: an upheld appeal gets its bond and half of the pay; a lost one gets what its committees left of the bond", async () => {
    // The fee is for 26 units and 9 more for each retry; the bond is for 18 units, and as many more.
    for (const [retries, answers, units] of [
      [0, ["contradict"], 18n + 4n],
      [0, ["answer"], 0n],
      [0, ["hang"], 9n],
      [1, ["contradict"], 27n + 4n],
      [1, ["answer"], 9n],
      [1, ["hang", "contradict"], 27n + 4n],
      [1, ["hang", "answer"], 0n],
      [1, ["hang", "hang"], 9n],
      [1, ["late", "wait", "answer"], 9n],
    ] as const) {
      const { chain } = await appealed({ retries }, answers);
      const unit = 10n ** 18n / (26n + 9n * BigInt(retries));
      assert.equal(chain.creditOf(appellant, "token"), units * unit, answers.join(", "));
    }
  });

  it("SE11: reputations change with the settlement; an overturned decision changes none", async () => {
    for (const [answer, slashed] of [
      ["answer", 2],
      ["contradict", 1],
    ] as const) {
      const { reader } = await appealed({}, [answer]);
      const agents = await reader.agents();
      assert.equal(agents.filter(({ reputation }) => reputation === 800_000).length, slashed, answer);
    }
  });
});
