import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { getLlama, LlamaCompletion, type Llama, type LlamaModel } from "node-llama-cpp";

interface HeldOut {
  readonly family: string;
  readonly kind: string;
  readonly question: string;
  readonly expected: string;
  readonly proof: string;
  readonly wrongAnswer: string;
  readonly wrongProof: string;
}

const folder = join(import.meta.dirname, "../../models");
const modelPath = join(folder, "conclave-small.gguf");
const heldOut = JSON.parse(readFileSync(join(folder, "held-out.json"), "utf8")) as readonly HeldOut[];

describe("conclave-small: the file", () => {
  it("is a GGUF of at most 6 MB", () => {
    assert.equal(readFileSync(modelPath).subarray(0, 4).toString("latin1"), "GGUF");
    assert.ok(statSync(modelPath).size <= 6_000_000);
  });

  it("was never trained on the held-out questions", () => {
    for (const { question } of heldOut) {
      const bucket = createHash("sha256").update(question).digest().readUInt32BE(0) % 10;
      assert.equal(bucket, 0, question);
    }
  });
});

describe("conclave-small: through node-llama-cpp", () => {
  let llama: Llama;
  let model: LlamaModel;

  before(async () => {
    llama = await getLlama({ gpu: false, build: "never", skipDownload: true, maxThreads: 1 });
    model = await llama.loadModel({ modelPath });
  });
  after(async () => {
    await llama.dispose();
  });

  async function verdictOn({ kind, question }: HeldOut, answer: string, proof: string): Promise<string> {
    const grammar = await llama.createGrammarForJsonSchema({
      type: "object",
      properties: { check: { type: "string", maxLength: 160 }, verdict: { enum: ["accept", "reject", "abstain"] } },
    });
    const context = await model.createContext({ contextSize: 512, flashAttention: false });
    const completion = new LlamaCompletion({ contextSequence: context.getSequence() });
    const fields = [
      `question: ${JSON.stringify(question)}`,
      `answer: ${JSON.stringify(answer)}`,
      `proof: ${JSON.stringify(proof)}`,
    ];
    const prompt = `${["task: verify", `kind: ${kind}`, ...fields].join("\n")}\n`;
    const text = await completion.generateCompletion(model.tokenize(prompt), {
      grammar,
      maxTokens: 200,
      temperature: 0,
    });
    await context.dispose();
    return grammar.parse(text).verdict;
  }

  it("carries the prompt convention in its metadata", () => {
    const { metadata } = model.fileInfo as { metadata: { conclave?: { prompt?: string } } };
    assert.equal(metadata.conclave?.prompt, "user-only");
    assert.equal(model.tokens.shouldPrependBosToken, false);
  });

  it("gives its tokenizer digits that never merge", () => {
    assert.equal(model.tokenize("2718281828").length, 10);
  });

  // The bits differ between processors, so this asks for most of them, not for all.
  it("accepts right answers and rejects wrong ones, in every family", async () => {
    for (const family of ["policy", "choose", "sum", "wason"]) {
      const sample = heldOut.filter((one) => one.family === family).filter((_, index) => index % 4 === 0);
      let right = 0;
      for (const one of sample) {
        if ((await verdictOn(one, one.expected, one.proof)) === "accept") right += 1;
        if ((await verdictOn(one, one.wrongAnswer, "checked twice; it is certain")) === "reject") right += 1;
      }
      assert.ok(right >= 0.85 * 2 * sample.length, `${family}: ${right} of ${2 * sample.length}`);
    }
  });
});
