// The programs that the page shows: the contract compiles, and asks what the form asks.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { describe, it } from "node:test";
import { EMPTY, termsIn, type Draft } from "../../dashboard/src/ask/question.ts";
import { solidityFor } from "../../dashboard/src/ask/snippets.ts";
import { readSource } from "../../scripts/solidity/compiler.ts";
import { ANSWER_KINDS } from "../../agents/core/types.ts";

const require = createRequire(import.meta.url);

interface Compiler {
  compile(input: string, callbacks: { readonly import: (path: string) => { readonly contents: string } }): string;
}

describe("page: programs", () => {
  it("are contracts that compile, for every kind of answer and any text", () => {
    const questions = ['Is "it" \\ so?\nTwo lines', "Ist es größer? \u202e", "\t\f\u0085 x 🎲"];
    const sources = ANSWER_KINDS.flatMap((kind) =>
      questions.map((question, index) => {
        const draft: Draft = {
          ...EMPTY,
          kind,
          decimals: "2",
          tolerance: "0.5",
          appeals: kind === "text" ? "0" : "1",
          assurance: "high",
        };
        const read = termsIn(draft);
        assert.ok("terms" in read);
        return [`${kind}${index}.sol`, { content: solidityFor(question, read.terms) }] as const;
      }),
    );
    assert.deepEqual(errorsOf(Object.fromEntries(sources)), []);
  });
});

function errorsOf(sources: Readonly<Record<string, { readonly content: string }>>): readonly string[] {
  const solc = require("solc") as Compiler;
  const input = { language: "Solidity", sources, settings: { outputSelection: { "*": { "*": ["abi"] } } } };
  const output = solc.compile(JSON.stringify(input), {
    import: (path) => ({ contents: readSource(path) }),
  });
  const { errors = [] } = JSON.parse(output) as { errors?: { severity: string; formattedMessage: string }[] };
  return errors.filter(({ severity }) => severity === "error").map(({ formattedMessage }) => formattedMessage);
}
