import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import {
  answerOf,
  check,
  criteria,
  folder,
  heldOut,
  letters,
  openFile,
  peersOf,
  proof,
  scores,
  verdict,
  type Asked,
  type HeldOut,
  type Texts,
} from "./ask.ts";

const modelPath = join(folder, "conclave-small.gguf");

describe("conclave-small: its questions", () => {
  it("was never trained on the held-out questions", () => {
    for (const { question } of heldOut) {
      const bucket = createHash("sha256").update(question).digest().readUInt32BE(0) % 10;
      assert.equal(bucket, 0, question);
    }
  });
});

describe("conclave-small: through node-llama-cpp", () => {
  let asked: Asked;
  const ask: Asked["ask"] = async (...given) => await asked.ask(...given);

  before(async () => {
    asked = await openFile(modelPath);
  });
  after(async () => {
    await asked.close();
  });

  const uncited = heldOut.filter(({ sources }) => sources === undefined);
  const families = [...new Set(uncited.map(({ family }) => family))];

  /** Requires most of a sample to be right, not all, because the bits differ between processors. */
  async function mostly(rows: readonly HeldOut[], isRight: (row: HeldOut) => Promise<readonly boolean[]>) {
    const sample = rows.filter((_, index) => index % 5 === 0);
    const outcomes: boolean[] = [];
    for (const row of sample) outcomes.push(...(await isRight(row)));
    const right = outcomes.filter(Boolean).length;
    assert.ok(sample.length >= 8 && right >= 0.85 * outcomes.length, `${right} of ${outcomes.length}`);
  }

  it("gives its tokenizer digits that never merge", () => {
    assert.equal(asked.model.tokenize("2718281828").length, 10);
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
      await mostly(rows, async (row) => {
        const total = async (answer: string, why: string) => {
          const scored = await ask(
            "score",
            row,
            [
              ["answer", answer],
              ["proof", why],
            ],
            scores,
          );
          return criteria.reduce((sum, name) => sum + Number(scored[name]), 0);
        };
        return [(await total(row.expected, row.proof)) >= 90, (await total(row.wrongAnswer, row.wrongProof)) <= 40];
      });
    });

    // Its critiques of texts and policies are often wrong (models/README.md), but no decision rests on them.
    if (family !== "text" && family !== "policies")
      it(`${family}: criticises three peers in order`, async () => {
        await mostly(rows, async (row) => {
          const wrong = [true, false, true];
          const peers = peersOf(
            row,
            wrong.map((isWrong) => !isWrong),
          );
          const data: Texts = [["answer", row.expected], ["proof", row.proof], ...peers];
          const properties = wrong.map((_, index) => ({ name: `critique${letters[index]}`, maxLength: 256 }));
          const said = Object.values(await ask("critique", row, data, properties));
          return said.map((one, index) => !one.endsWith("agrees") === wrong[index]);
        });
      });

    it(`${family}: synthesizes seven answers, most of them wrong`, async () => {
      await mostly(rows, async (row) => {
        const peers = peersOf(
          row,
          letters.map((_, index) => index === 3),
        );
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

  it("tells texts of the same meaning from others", async () => {
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
    // Rows without a quote have no answer in their sources; files.test.ts asks about these.
    const rows = heldOut.filter(({ quote = "" }) => quote !== "");
    await mostly(rows, async (row) => {
      const data = (row.sources ?? []).map((text, index): Texts[number] => [`source${letters[index]}`, text]);
      const source = { name: "source", enum: letters.slice(0, data.length) };
      const properties = [{ name: "quote", maxLength: 512 }, source, proof, answerOf(row.kind)];
      const cited = await ask("cite", row, data, properties);
      return [cited["quote"] === row.quote, cited["source"] === row.source, cited["answer"] === row.expected];
    });
  });
});
