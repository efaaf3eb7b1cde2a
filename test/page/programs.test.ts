// The programs that the dashboard shows: the contract compiles, and asks what the form asks.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { describe, it } from "node:test";
import { EMPTY, termsIn, type Draft } from "../../dashboard/src/ask/question.ts";
import { solidityFor } from "../../dashboard/src/ask/snippets.ts";
import { price } from "../../dashboard/src/shared/format.ts";
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
        // What is secured takes appeals in place of a finality, and no kinds that agree in part or not at all.
        const isSecured = index === 0 && kind !== "text" && kind !== "policies";
        const draft: Draft = {
          ...EMPTY,
          kind,
          decimals: "2",
          tolerance: "0.5",
          appeals: kind === "text" ? "0" : "2",
          currency: isSecured ? "token" : "native",
          assurance: "high",
          delay: "0.5",
          finality: isSecured || kind === "text" ? "0" : "90",
          nonAnswers: "refused",
          security: isSecured ? "secured" : "none",
        };
        const read = termsIn(draft);
        assert.ok(read.terms !== null, read.flaw?.problem);
        return [
          `${kind}${index}.sol`,
          { content: solidityFor(question, ["https://page.example/a"], read.terms) },
        ] as const;
      }),
    );
    assert.deepEqual(errorsOf(Object.fromEntries(sources)), []);
  });
});

describe("page: prices", () => {
  it("are rounded up, never down, to four digits that count", () => {
    assert.equal(price(8_310_000_000_000_001n, 18, "ETH"), "0.008311 ETH");
    assert.equal(price(8_310_000_000_000_000n, 18, "ETH"), "0.00831 ETH");
    assert.equal(price(12_345_600_000_000_000_000n, 18, "TEST"), "12.35 TEST");
    assert.equal(price(99_999n, 4, "X"), "10 X");
    assert.equal(price(7n, 18, "ETH"), "0.000000000000000007 ETH");
    assert.equal(price(0n, 18, "ETH"), "0 ETH");
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
