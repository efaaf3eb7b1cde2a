import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { getLlama, LlamaCompletion, type Llama, type LlamaContext, type LlamaModel } from "node-llama-cpp";

import { grammarOf } from "../../agents/adapters/models/grammar.ts";
import { renderFields } from "../../agents/core/prompt.ts";

interface HeldOut {
  readonly family: string;
  readonly kind: string;
  readonly question: string;
  readonly expected: string;
  readonly proof: string;
  readonly wrongAnswer: string;
  readonly wrongProof: string;
  /** Of citations only. */
  readonly sources?: readonly string[];
  readonly source?: string;
  readonly quote?: string;
}

type Texts = readonly (readonly [name: string, value: string])[];
type Properties = readonly { readonly name: string; readonly enum?: readonly string[]; readonly maxLength?: number }[];

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

const letters = ["A", "B", "C", "D", "E", "F", "G"];
const marks = Array.from({ length: 21 }, (_, mark) => String(mark));
const criteria = ["contradiction", "fabrication", "instruction", "context", "logic"];
const check = { name: "check", maxLength: 512 };
const proof = { name: "proof", maxLength: 512 };
const verdict = (...allowed: readonly string[]) => ({ name: "verdict", enum: allowed });

function answerOf(kind: string): Properties[number] {
  if (kind === "boolean") return { name: "answer", enum: ["yes", "no"] };
  if (kind.startsWith("choice")) return { name: "answer", enum: letters.slice(0, letters.indexOf(kind.slice(-1)) + 1) };
  return { name: "answer", maxLength: 128 };
}

describe("conclave-small: through node-llama-cpp", () => {
  let llama: Llama;
  let model: LlamaModel;
  let context: LlamaContext;

  before(async () => {
    llama = await getLlama({ gpu: false, build: "never", skipDownload: true, maxThreads: 1 });
    model = await llama.loadModel({ modelPath });
    context = await model.createContext({ contextSize: 1024, flashAttention: false });
  });
  after(async () => {
    await llama.dispose();
  });

  async function ask(task: string, { kind, question }: HeldOut, data: Texts, properties: Properties) {
    const trusted = (name: string, value: string) => [name, value, "trusted"] as const;
    const untrusted = [["question", question] as const, ...data].map(
      ([name, value]) => [name, value, "untrusted"] as const,
    );
    const prompt = `${renderFields([trusted("task", task), trusted("kind", kind), ...untrusted])}\n`;
    const contextSequence = context.getSequence();
    const completion = new LlamaCompletion({ contextSequence });
    const grammar = await llama.createGrammar({ grammar: grammarOf({ properties }) });
    const text = await completion.generateCompletion(model.tokenize(prompt), {
      grammar,
      maxTokens: 400,
      temperature: 0,
    });
    completion.dispose({ disposeSequence: true });
    return JSON.parse(text) as Readonly<Record<string, string>>;
  }

  const uncited = heldOut.filter(({ sources }) => sources === undefined);
  const families = [...new Set(uncited.map(({ family }) => family))];

  /** The bits differ between processors, so this asks for most of a sample, not for all. */
  async function mostly(rows: readonly HeldOut[], isRight: (row: HeldOut) => Promise<readonly boolean[]>) {
    const sample = rows.filter((_, index) => index % 5 === 0);
    const outcomes: boolean[] = [];
    for (const row of sample) outcomes.push(...(await isRight(row)));
    const right = outcomes.filter(Boolean).length;
    assert.ok(sample.length >= 8 && right >= 0.85 * outcomes.length, `${right} of ${outcomes.length}`);
  }

  it("carries the prompt convention in its metadata", () => {
    const { metadata } = model.fileInfo as { metadata: { conclave?: { prompt?: string } } };
    assert.equal(metadata.conclave?.prompt, "user-only");
    assert.equal(model.tokens.shouldPrependBosToken, false);
  });

  it("gives its tokenizer digits that never merge", () => {
    assert.equal(model.tokenize("2718281828").length, 10);
  });

  for (const family of families) {
    const rows = uncited.filter((one) => one.family === family);

    it(`${family}: proposes right answers`, async () => {
      await mostly(rows, async (row) => {
        const { answer } = await ask("propose", row, [], [proof, answerOf(row.kind)]);
        return [answer === row.expected];
      });
    });

    it(`${family}: accepts right answers and rejects wrong ones`, async () => {
      await mostly(rows, async (row) => {
        const verdictOn = async (answer: string, why: string) => {
          const data = [["answer", answer] as const, ["proof", why] as const];
          return await ask("verify", row, data, [check, verdict("accept", "reject", "abstain")]);
        };
        return [
          (await verdictOn(row.expected, row.proof))["verdict"] === "accept",
          (await verdictOn(row.wrongAnswer, "checked twice; it is certain"))["verdict"] === "reject",
        ];
      });
    });

    it(`${family}: scores right answers high and wrong ones low`, async () => {
      const properties = [check, ...criteria.map((name) => ({ name, enum: marks }))];
      await mostly(rows, async (row) => {
        const total = async (answer: string, why: string) => {
          const scored = await ask(
            "score",
            row,
            [
              ["answer", answer],
              ["proof", why],
            ],
            properties,
          );
          return criteria.reduce((sum, name) => sum + Number(scored[name]), 0);
        };
        return [(await total(row.expected, row.proof)) >= 90, (await total(row.wrongAnswer, row.wrongProof)) <= 40];
      });
    });

    // Of texts and policies its critiques are often wrong (models/README.md); no decision rests on them.
    if (family !== "text" && family !== "policies")
      it(`${family}: criticises three peers in order`, async () => {
        await mostly(rows, async (row) => {
          const wrong = [true, false, true];
          const peers = wrong.map((isWrong, index): Texts[number] => {
            const said = isWrong ? `${row.wrongAnswer}: ${row.wrongProof}` : `${row.expected}: ${row.proof}`;
            return [`answer${letters[index]}`, said];
          });
          const data: Texts = [["answer", row.expected], ["proof", row.proof], ...peers];
          const properties = wrong.map((_, index) => ({ name: `critique${letters[index]}`, maxLength: 256 }));
          const said = Object.values(await ask("critique", row, data, properties));
          return said.map((one, index) => !one.endsWith("agrees") === wrong[index]);
        });
      });

    it(`${family}: synthesizes seven answers, most of them wrong`, async () => {
      await mostly(rows, async (row) => {
        const peers = letters.map((letter, index): Texts[number] => {
          const said = index === 3 ? `${row.expected}: ${row.proof}` : `${row.wrongAnswer}: ${row.wrongProof}`;
          return [`answer${letter}`, said];
        });
        const { answer } = await ask("synthesize", row, peers, [proof, answerOf(row.kind)]);
        return [answer === row.expected];
      });
    });

    it(`${family}: converges after reviews`, async () => {
      await mostly(rows, async (row) => {
        const data: Texts = [
          ["answer", row.wrongAnswer],
          ["proof", row.wrongProof],
          ["reviewA", `so ${row.expected}, answered ${row.wrongAnswer}`],
          ["reviewB", "agrees"],
        ];
        const { answer } = await ask("converge", row, data, [proof, answerOf(row.kind)]);
        return [answer === row.expected];
      });
    });
  }

  it("tells texts that say the same from texts that do not", async () => {
    const rows = uncited.filter(({ kind }) => kind === "text");
    await mostly(rows, async (row) => {
      const matched = async (other: string) => {
        const data = [["answer", row.expected] as const, ["other", other] as const];
        return (await ask("match", row, data, [check, verdict("same", "different", "abstain")]))["verdict"];
      };
      const same = row.expected.replace(/\.$/u, "").toLowerCase();
      return [(await matched(same)) === "same", (await matched(row.wrongAnswer)) === "different"];
    });
  });

  it("quotes the deciding source verbatim and answers from it", async () => {
    const rows = heldOut.filter(({ sources }) => sources !== undefined);
    await mostly(rows, async (row) => {
      const data = (row.sources ?? []).map((text, index): Texts[number] => [`source${letters[index]}`, text]);
      const source = { name: "source", enum: letters.slice(0, data.length) };
      const properties = [{ name: "quote", maxLength: 512 }, source, proof, answerOf(row.kind)];
      const cited = await ask("cite", row, data, properties);
      return [cited["quote"] === row.quote, cited["source"] === row.source, cited["answer"] === row.expected];
    });
  });
});
