import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { after, before, describe, it } from "node:test";

import { NON_ANSWER_WORDS } from "../../agents/core/request/non-answers.ts";
import { readGgufHeader } from "../../agents/adapters/models/gguf.ts";
import {
  answerOf,
  check,
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
  type Properties,
  type Texts,
} from "./ask.ts";

const files = readdirSync(folder).filter((name) => name.endsWith(".gguf"));
const readme = readFileSync(join(folder, "README.md"), "utf8");
const digestOf = (file: string): string =>
  createHash("sha256")
    .update(readFileSync(join(folder, file)))
    .digest("hex");

/** Least share of right proposals in each family, by file; a file without an entry promises nothing. */
const PROPOSES: Readonly<Record<string, number>> = { "conclave-lean": 0.7, "conclave-slim": 0.7, "conclave-tiny": 0.7 };

/** Least share of right non-answers where the sources tell no answer, by file; a file without an entry promises nothing. */
const SAYS_NONE: Readonly<Record<string, number>> = {
  "conclave-lean": 0.45,
  "conclave-slim": 0.7,
  "conclave-small": 0.7,
  "conclave-tiny": 0.7,
};

describe("the model files", () => {
  it("are at least three different files of at most 12 MB together", () => {
    const bytes = files.reduce((sum, file) => sum + readFileSync(join(folder, file)).length, 0);
    assert.ok(bytes <= 12_000_000, `${bytes} bytes`);
    assert.ok(new Set(files.map(digestOf)).size >= 3, files.join());
  });

  for (const file of files) {
    const name = basename(file, ".gguf");

    it(`${name}: holds its name and prompt style, and has a card with its digest`, () => {
      const header = readGgufHeader(join(folder, file));
      assert.deepEqual([header.name, header.prompt], [name, "user-only"]);
      const card = readme.split(/^### /mu).find((one) => one.startsWith(`${name}\n`)) ?? "";
      assert.ok(card.includes(digestOf(file).slice(0, 16)), `${digestOf(file)} is not in the card of ${name}`);
    });
  }
});

const silent = heldOut.filter(({ expected }) => NON_ANSWER_WORDS.includes(expected));
const uncited = heldOut.filter(({ sources }) => sources === undefined);
const families = [...new Set(uncited.map(({ family }) => family))];

function sourcesOf({ sources = [] }: HeldOut): Texts {
  return sources.map((one, index) => [`source${letters[index]}`, one]);
}

function citation({ sources = [] }: HeldOut): Properties {
  return [
    { name: "quote", maxLength: 512 },
    { name: "source", enum: letters.slice(0, sources.length) },
  ];
}

type Form = readonly [task: string, row: HeldOut, data: Texts, properties: Properties];

/** Returns one request of every task, as the protocols make them. */
function forms(): readonly Form[] {
  const [row, text, cited] = [
    uncited[0],
    uncited.find(({ kind }) => kind === "text"),
    heldOut.find(({ sources }) => sources !== undefined),
  ] as [HeldOut, HeldOut, HeldOut];
  const own: Texts = [
    ["answer", row.wrongAnswer],
    ["proof", row.wrongProof],
  ];
  const against = `${row.expected}: ${row.proof}`;
  const answered = [proof, answerOf(row.kind)];
  const critiques = ["critiqueA", "critiqueB"].map((name) => ({ name, maxLength: 256 }));
  return [
    ["propose", row, [], answered],
    ["verify", row, own, [check, verdict("accept", "reject", "abstain")]],
    ["adjudicate", row, [...own, ["counterProof", against]], [check, verdict("uphold", "refute", "abstain")]],
    ["revise", row, [...own, ["counterProof", against], ["others", `2 of 3 members: ${row.expected}`]], answered],
    ["score", row, own, scores],
    [
      "match",
      text,
      [
        ["answer", text.expected],
        ["other", text.wrongAnswer],
      ],
      [check, verdict("same", "different", "abstain")],
    ],
    ["critique", row, [...own, ...peersOf(row, [true, false])], critiques],
    ["synthesize", row, peersOf(row, [true, false, true]), answered],
    [
      "converge",
      row,
      [...own, ["reviewA", `so ${row.expected}, answered ${row.wrongAnswer}`], ["reviewB", "agrees"]],
      answered,
    ],
    ["cite", cited, sourcesOf(cited), [...citation(cited), proof, answerOf(cited.kind)]],
  ];
}

for (const file of files) {
  const name = basename(file, ".gguf");

  describe(`${name}: under the agents' grammar`, () => {
    let asked: Asked;
    before(async () => {
      asked = await openFile(join(folder, file));
    });
    after(async () => {
      await asked.close();
    });

    for (const [task, row, data, properties] of forms()) {
      it(`ends its answer to ${task}, with every field in its place`, async () => {
        const fields = await asked.ask(task, row, data, properties);
        assert.deepEqual(
          Object.keys(fields),
          properties.map((one) => one.name),
        );
        for (const one of properties) assert.ok(one.enum?.includes(fields[one.name] as string) ?? true, one.name);
        assert.notEqual(Object.values(fields).join(""), "");
      });
    }

    const least = PROPOSES[name];
    if (least !== undefined)
      it(`proposes right answers to at least ${100 * least} % of held-out questions`, async () => {
        const rows = families.flatMap((family) => uncited.filter((one) => one.family === family).slice(0, 8));
        let right = 0;
        for (const row of rows) {
          const { answer } = await asked.ask("propose", row, [], [proof, answerOf(row.kind)]);
          if (answer === row.expected) right += 1;
        }
        assert.ok(right >= least * rows.length, `${right} of ${rows.length}`);
      });

    const leastNone = SAYS_NONE[name];
    if (leastNone !== undefined)
      it(`says that there is no answer, and quotes nothing, in at least ${100 * leastNone} % of cases`, async () => {
        const rows = silent.filter((_, index) => index % 5 === 0);
        let right = 0;
        for (const row of rows) {
          const form = answerOf(row.kind);
          const admitting = form.enum === undefined ? form : { ...form, enum: [...form.enum, ...NON_ANSWER_WORDS] };
          const said = await asked.ask("cite", row, sourcesOf(row), [...citation(row), proof, admitting]);
          if (said["answer"] === row.expected && said["quote"] === "") right += 1;
        }
        assert.ok(rows.length === 24 && right >= leastNone * rows.length, `${right} of ${rows.length}`);
      });
  });
}
