import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, it } from "node:test";
import { commitmentOf, decodeProposal, encodeProposal } from "../../agents/core/phases/proposals.ts";
import { mostFrequent } from "../../agents/core/phases/samples.ts";
import { clo } from "../../agents/core/protocols/clo/index.ts";
import { defaultTerms } from "../../agents/core/request/terms.ts";
import { readText } from "../../agents/core/sources/reading.ts";
import type { Digest, Ppm, SeatIndex } from "../../agents/core/types.ts";
import { attemptWith } from "../support/core/clo-set.ts";

describe("CL2: a message with other samples", () => {
  const outcome = (value: number) => new Uint8Array(32).fill(value);
  const decode = (tier: number, others?: readonly Uint8Array[]) =>
    decodeProposal({ answer: "A", proof: "", tier, ...(others && { others }) }, true);

  it("names at most two, all different, or says nothing of them", () => {
    assert.equal(decode(300_000)?.others, undefined);
    assert.equal(decode(300_000, [outcome(1), outcome(2)])?.others?.length, 2);
    assert.equal(decode(300_000, []), null);
    assert.equal(decode(300_000, [outcome(1), outcome(1)]), null);
    assert.equal(decode(300_000, [outcome(1), outcome(2), outcome(3)]), null);
    assert.equal(decode(300_000, [new Uint8Array(31)]), null);
  });

  it("is malformed under other protocols", () => {
    assert.equal(decodeProposal({ answer: "A", proof: "", tier: 300_000, others: [outcome(1)] }), null);
  });

  it("is bound by its commitment", () => {
    const attempt = attemptWith([2, 2, 2, 2]);
    const proposal = { answer: "A", proof: "", tier: 300_000 as Ppm };
    const commitment = (others?: readonly Digest[]) =>
      commitmentOf(attempt, 0, 0 as SeatIndex, { ...proposal, ...(others && { others }) }, new Uint8Array(32));
    const one = `0x${"01".repeat(32)}` as Digest;
    assert.notEqual(commitment(), commitment([one]));
  });

  it("is no surer than its samples agree", () => {
    assert.notEqual(decode(700_000, [outcome(1)]), null);
    assert.equal(decode(900_000, [outcome(1)]), null);
    assert.equal(decode(700_000, [outcome(1), outcome(2)]), null);
    assert.notEqual(decode(900_000), null);
  });

  it("is read as it was written", () => {
    const proposal = { answer: "A", proof: "p", tier: 300_000 as Ppm, others: [`0x${"01".repeat(32)}` as Digest] };
    assert.deepEqual(decodeProposal(encodeProposal(proposal), true), proposal);
  });
});

describe("CL2: the most frequent of several samples", () => {
  const asked = {
    terms: defaultTerms({ protocol: clo.code, kind: "number", decimals: 0, tolerance: 1n }),
    question: "How many?",
  };
  const sample = (answer: string) => ({
    about: ["propose", "0"],
    fields: { answer, proof: answer },
    confidence: 1 as Ppm,
  });
  const number = (value: bigint) => `0x${value.toString(16).padStart(64, "0")}`;
  const frequent = (...answers: readonly string[]) => mostFrequent(asked, answers.map(sample), true);

  it("is what came most often, with the tier of its part of all calls", () => {
    assert.deepEqual(frequent("4", "4", "4"), { answer: "4", proof: "4", tier: 900_000 });
    assert.deepEqual(frequent("9", "4", "4"), { answer: "4", proof: "4", tier: 700_000, others: [number(9n)] });
    assert.deepEqual(frequent("4", "4"), { answer: "4", proof: "4", tier: 700_000 });
    assert.deepEqual(frequent("4"), { answer: "4", proof: "4", tier: 300_000 });
  });

  it("is the first to arrive of those as frequent", () => {
    assert.equal(frequent("9", "4", "20")?.answer, "9");
    assert.deepEqual(frequent("9", "4", "20")?.others, [number(4n), number(20n)]);
  });

  it("SG9: is one that cites what was read, if any of those that agree does", () => {
    const read = [readText("It has four wheels.")];
    const citing = (quote: string) => ({
      about: ["propose"],
      fields: { answer: "4", quote, source: "A" },
      confidence: null,
    });
    const found = mostFrequent(asked, [citing("stands nowhere"), citing("four wheels")], false, read);
    assert.deepEqual(
      found?.citations?.map(({ quotation }) => quotation),
      ["four wheels"],
    );
    assert.deepEqual(mostFrequent(asked, [citing("stands nowhere")], false, read)?.citations, []);
  });

  it("counts numbers within the tolerance as one", () => {
    assert.deepEqual(frequent("20", "4", "5"), { answer: "4", proof: "4", tier: 700_000, others: [number(20n)] });
  });

  it("is always a message that others read", () => {
    const replies = fc.array(fc.constantFrom("4", "5", "9", "20", "none"), { maxLength: 3 });
    fc.assert(
      fc.property(replies, (answers) => {
        const proposal = frequent(...answers);
        if (proposal !== null) assert.deepEqual(decodeProposal(encodeProposal(proposal), true), proposal);
      }),
    );
  });

  it("does not exist if no reply has an answer of the kind", () => {
    assert.equal(frequent("many", "", "some"), null);
    assert.deepEqual(frequent("many", "7", "some"), { answer: "7", proof: "7", tier: 300_000 });
  });
});
