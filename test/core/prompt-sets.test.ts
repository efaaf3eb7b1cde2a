import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { optionsIn } from "../../agents/core/prompts/general.ts";
import { PROMPT_SETS, promptsName, type OutputSchema } from "../../agents/core/prompts/prompt.ts";
import { proposePrompt, revisePrompt, verifyPrompt, withVerdict } from "../../agents/core/prompts/task-prompt.ts";
import { admitting, citing, namedSource, withSources } from "../../agents/core/prompts/source-prompt.ts";
import { canonicalAnswer } from "../../agents/core/request/answer.ts";
import { KIND_RULES } from "../../agents/core/request/kinds.ts";
import { limits } from "../../agents/core/limits.ts";
import { ANSWER_KINDS, type Attempt, type Terms } from "../../agents/core/types.ts";
import { assertBelow } from "../support/assertions.ts";
import { attemptOf } from "../support/core/committee.ts";
import { processorMs } from "../support/processor-time.ts";

function asking(question: string, change: Partial<Terms>): Attempt {
  const attempt = attemptOf(4);
  const { request } = attempt;
  return { ...attempt, request: { ...request, question, terms: { ...request.terms, ...change } } };
}

function fieldOf(user: string, name: string): string | undefined {
  return user
    .split("\n")
    .find((line) => line.startsWith(`${name}: `))
    ?.slice(name.length + 2);
}

const choice = { kind: "choice", options: 3 } as const;
const policies = { kind: "policies", options: 3 } as const;
const number = { kind: "number", decimals: 2 } as const;

describe("prompts of the general set", () => {
  it("P5: has a version beside that of the small set", () => {
    assert.match(`${promptsName("small")} ${promptsName("general")}`, /^small@\d+ general@\d+$/);
  });

  it("P11: says in words how an answer of each kind is written", () => {
    const formOf = (change: Partial<Terms>): string | undefined =>
      fieldOf(proposePrompt(asking("Which?", change)).general.user, "form");
    assert.equal(formOf({ kind: "boolean" }), "one word: yes or no");
    assert.equal(formOf(choice), "one letter: A, B or C");
    const digits = "digits only: no unit, no thousands separator, no words";
    assert.equal(formOf({ kind: "number", decimals: 0 }), `a whole number, ${digits}`);
    assert.equal(formOf({ kind: "number", decimals: 1 }), `a number with at most 1 decimal after a point, ${digits}`);
    assert.equal(formOf(number), `a number with at most 2 decimals after a point, ${digits}`);
    assert.match(String(formOf({ kind: "text" })), /^the answer itself/);
    assert.match(String(formOf(policies)), /^the letters of all policies that hold, .* A, B or C$/);
  });

  it("P11: shows one worked reply, whose answer is of the kind, and whose fields are those that are asked", () => {
    for (const kind of ANSWER_KINDS)
      for (const decimals of [0, 2]) {
        const attempt = asking("Which?", { kind, options: 3, decimals });
        const { terms } = attempt.request;
        for (const { general } of [proposePrompt(attempt), verifyPrompt(attempt, "yes", "so")]) {
          const example = fieldOf(general.user, "example");
          if (kind === "text" && general.confidenceOf === "verdict") {
            assert.equal(example, undefined);
            continue;
          }
          const reply = JSON.parse(String(example).replace(/^.*?(?=\{)/, "")) as Record<string, string>;
          assert.deepEqual(
            Object.keys(reply),
            general.schema.properties.map(({ name }) => name),
          );
          const answer = reply["answer"] ?? reply["derived"] ?? "";
          assert.equal(canonicalAnswer({ terms, question: "" }, answer)?.text, answer, kind);
        }
        assert.equal(KIND_RULES[kind].example(terms).question.includes('"'), false);
      }
  });

  it("P11: lists the options, if the question lists all of them in order", () => {
    const lists: readonly (readonly [question: string, options: readonly string[]])[] = [
      ["Which one?\nA) red\nB) green\nC) blue", ["red", "green", "blue"]],
      ["Which one? A) red, B) green, C) blue", ["red", "green", "blue"]],
      ["Which one: (A) red; (B) light green; (C) blue?", ["red", "light green", "blue?"]],
      ["A. red\nB. green\nC. blue\n\nAnswer soon.", ["red", "green", "blue"]],
      ["A: red B: green\nC: blue", ["red", "green", "blue"]],
      ["Which one?\nA)\nred\nB)\ngreen\nC)\nblue", ["red", "green", "blue"]],
      ["Which one? A) red B) green", []],
      ["Which one? B) green A) red C) blue", []],
      ["Which one? A) B) green C) blue", []],
      ["Plan A or B or C?", []],
      ["A)red B)green C)blue", []],
      ["", []],
      [`A) ${"x".repeat(limits.optionsBytes)} B) y C) z`, []],
    ];
    for (const [question, options] of lists)
      for (const terms of [choice, policies]) assert.deepEqual(optionsIn(question, terms), options, question);
    assert.deepEqual(optionsIn("A) red B) green C) blue", { kind: "boolean", options: 0 }), []);
    const { user } = proposePrompt(asking('A) "red"\u202e B) b C) c', choice)).general;
    assert.equal(fieldOf(user, "optionA"), String.raw`"\"red\"\u202e"`);
    assert.equal(fieldOf(user, "optionC"), '"c"');
    // The question stays whole.
    assert.equal(fieldOf(user, "question"), String.raw`"A) \"red\"\u202e B) b C) c"`);
  });

  it("P11: takes no longer for a hostile question", async () => {
    const tookMs = await processorMs(() => {
      for (const part of ["A) ", " ", "A", "(", "A)\n", ";;;; "]) {
        const question = part.repeat(Math.floor(limits.questionBytes / part.length));
        optionsIn(question, { kind: "choice", options: 26 });
      }
    });
    assertBelow(tookMs, 1_000);
  });

  it("SG7, SG4: numbers the sources, and takes a source's number or letter for its place", () => {
    const texts = ["Up to 500.", "Above 500."];
    const attempt = asking("Is 720 fine?", { kind: "boolean" });
    for (const asked of [proposePrompt(attempt), revisePrompt(attempt, null, ["It is not."])]) {
      const prompt = citing(attempt, asked, texts);
      assert.equal(fieldOf(prompt.general.user, "[1]"), '"Up to 500."');
      assert.equal(fieldOf(prompt.general.user, "[2]"), '"Above 500."');
      const { properties } = prompt.general.schema;
      assert.deepEqual(
        properties.map(({ name }) => name),
        ["quote", "source", "proof", "answer"],
      );
      assert.deepEqual(properties[1]?.enum, ["1", "2"]);
      assert.deepEqual(prompt.small.schema.properties[1]?.enum, ["A", "B"]);
      assert.equal(fieldOf(prompt.small.user, "sourceB"), '"Above 500."');
    }
    assert.match(withSources(proposePrompt(attempt), texts).general.system, /`\[1\]`/);
    assert.deepEqual(["A", "B", "D", "1", "2", "4"].map(namedSource), [0, 1, 3, 0, 1, 3]);
    for (const name of ["", "0", "5", "E", "a", "12", "[1]"]) assert.equal(namedSource(name), -1, name);
  });
});

describe("prompts that admit non-answers (SG10)", () => {
  const words = ["unanswerable", "too early"];
  const propertyOf = (schema: OutputSchema, name: string) => schema.properties.find((one) => one.name === name);

  it("the model is told when there is no answer, and may say so in every kind", () => {
    for (const kind of ANSWER_KINDS) {
      const attempt = asking("Which?", { kind, options: 3, decimals: 2 });
      for (const prompt of [proposePrompt(attempt), revisePrompt(attempt, null, ["It is not."])]) {
        const plain = citing(attempt, prompt, ["Up to 500."]);
        const admitted = admitting(plain);
        for (const set of PROMPT_SETS) {
          const { system, user, schema } = admitted[set];
          assert.equal(user, plain[set].user);
          assert.ok(system.startsWith(plain[set].system));
          assert.match(system, /unanswerable.*too early.* leave `quote` empty/);
          const answer = propertyOf(schema, "answer");
          const before = propertyOf(plain[set].schema, "answer");
          if (before?.enum !== undefined) assert.deepEqual(answer?.enum, [...before.enum, ...words]);
          else assert.deepEqual(answer?.words, before?.form === undefined ? undefined : words);
          assert.deepEqual(propertyOf(schema, "source"), propertyOf(plain[set].schema, "source"));
        }
      }
    }
  });

  it("a verifier may derive one, and is told nothing of a quotation", () => {
    const { general, small } = admitting(verifyPrompt(asking("Is it?", { kind: "boolean" }), "yes", "so"));
    assert.deepEqual(propertyOf(general.schema, "derived")?.enum, ["yes", "no", "unknown", ...words]);
    assert.deepEqual(propertyOf(small.schema, "verdict")?.enum, ["accept", "reject", "abstain"]);
    for (const { system } of [general, small]) {
      assert.match(system, /unanswerable/);
      assert.doesNotMatch(system, /`quote`/);
    }
  });
});

describe("verification by derivation (P10)", () => {
  const verdictOn = (change: Partial<Terms>, answer: string, derived: string, question = "Which?"): string => {
    const attempt = asking(question, change);
    const { general } = verifyPrompt(attempt, answer, "so");
    const fields = withVerdict(general, attempt.request, { check: "steps", derived });
    assert.equal(fields["check"], "steps");
    return fields["verdict"] ?? "";
  };

  it("asks the general set for what the verifier derives, before and instead of a verdict", () => {
    for (const change of [{ kind: "boolean" }, choice, number, policies] as const) {
      const { general, small } = verifyPrompt(asking("Which?", change), "A", "so");
      assert.deepEqual(
        general.schema.properties.map(({ name }) => name),
        ["check", "derived"],
      );
      assert.equal(general.confidenceOf, "derived");
      assert.deepEqual(
        small.schema.properties.map(({ name }) => name),
        ["check", "verdict"],
      );
    }
    const listed = verifyPrompt(asking("Which?", choice), "A", "so").general.schema.properties[1];
    assert.deepEqual(listed?.enum, ["A", "B", "C", "unknown"]);
  });

  it("accepts what agrees, rejects what differs, and abstains if nothing was derived", () => {
    assert.equal(verdictOn({ kind: "boolean" }, "yes", "yes"), "accept");
    assert.equal(verdictOn({ kind: "boolean" }, "yes", "no"), "reject");
    assert.equal(verdictOn({ kind: "boolean" }, "yes", "unknown"), "abstain");
    assert.equal(verdictOn(choice, "B", "b)"), "accept");
    assert.equal(verdictOn(choice, "B", "D"), "abstain");
    assert.equal(verdictOn(number, "12.5", "12.50"), "accept");
    assert.equal(verdictOn(number, "1000", "$1,000", "How many dollars?"), "accept");
    assert.equal(verdictOn(number, "12.5", "12.51"), "reject");
    assert.equal(verdictOn({ ...number, tolerance: 1n }, "12.5", "12.51"), "accept");
    assert.equal(verdictOn({ ...number, tolerance: 1n }, "12.51", "12.5"), "accept");
    assert.equal(verdictOn(number, "12.5", "2 + 2 = 4"), "abstain");
    assert.equal(verdictOn(policies, "A,C", "C, A"), "accept");
    assert.equal(verdictOn(policies, "A,C", "A"), "reject");
  });

  it("leaves the verdict to the model where code cannot tell whether two answers agree, and in the small set", () => {
    const attempt = asking("Which?", { kind: "text" });
    const { general } = verifyPrompt(attempt, "red", "so");
    assert.deepEqual(
      general.schema.properties.map(({ name }) => name),
      ["check", "verdict"],
    );
    const fields = { check: "steps", verdict: "accept" };
    assert.equal(withVerdict(general, attempt.request, fields), fields);
    const { small } = verifyPrompt(asking("Which?", choice), "B", "so");
    assert.equal(withVerdict(small, attempt.request, fields), fields);
  });
});
