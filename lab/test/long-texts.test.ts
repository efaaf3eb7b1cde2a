import assert from "node:assert/strict";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { protocols } from "../../agents/core/protocols/index.ts";
import type { Protocol } from "../../agents/core/protocol.ts";
import { createAnswerBook } from "../eval/answer-book.ts";
import { deliberate } from "../eval/deliberate.ts";
import { badSeats } from "../eval/evaluate.ts";
import { openVariants } from "../eval/models.ts";
import { createPanel } from "../eval/panel.ts";
import { questionsOf, type Question } from "../eval/question.ts";

const path = join(import.meta.dirname, "../../models/conclave-small.gguf");
const book = createAnswerBook(await openVariants([{ path, temperature: 0 }], 1), null);
after(async () => await book.close());

const [asked] = questionsOf("arithmetic", 1, 1) as readonly [Question];

/** Runs a deliberation beside a seat that lies with such a proof; the other three have the embedded model. */
async function besideLiar(id: string, text: string, proof: string): Promise<{ status: string; failed: number }> {
  const question = { ...asked, text, drawnBy: asked.text, lie: { ...asked.lie, proof } };
  const bad = badSeats({ seats: 4, badness: ["confident"], seed: 1 }, question, 1);
  const panel = createPanel({ book, question, seed: 1, variantOf: () => 0 });
  const protocol = protocols.find((one) => one.id === id) as Protocol;
  const { status } = await deliberate(
    protocol,
    question,
    { seats: 4, bad, misled: new Set(), assurance: "normal" },
    panel,
    1,
  );
  return { status, failed: panel.cost.failed };
}

describe("P9: one liar of four does not silence the embedded model with its longest proof", () => {
  // The test does not ask for the right answer: so much nonsense misleads such a small model.
  it("unanimous: 512 bytes that need 1536 in a prompt are cut", async () => {
    assert.deepEqual(await besideLiar("unanimous", asked.text, "\u00ad".repeat(256)), { status: "decided", failed: 0 });
  });

  it("council: beside a question that leaves no room for them, the chair asks again with less of them", async () => {
    const long = Array<string>(18).fill(asked.text).join(" ");
    assert.deepEqual(await besideLiar("council", long, "7".repeat(512)), { status: "decided", failed: 1 });
  });
});
