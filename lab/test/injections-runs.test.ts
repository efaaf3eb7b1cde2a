import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { installHooks } from "../../sim/hooks.ts";
import type { PromptSet } from "../../agents/core/prompts/prompt.ts";
import type { SeatIndex, Terms } from "../../agents/core/types.ts";
import type { ModelRequest } from "../../agents/ports/model.ts";
import type { ForeignModels } from "../../sim/model.ts";
import type { Certified, Trace } from "../../sim/trace.ts";
import type { Protocol } from "../../agents/core/protocol.ts";
import type { Injection } from "../attacks/injections.ts";
import type { Question } from "../eval/question.ts";
import { assertIncludes } from "../../test/support/assertions.ts";

// Installed before anything of the core is loaded, because this file runs hundreds of worlds.
installHooks({ realSignatures: false, mutant: null });
const { cidString } = await import("../../agents/core/encoding/cid.ts");
const { digestOf } = await import("../../agents/core/encoding/codec.ts");
const { ConclaveError } = await import("../../agents/core/errors.ts");
const { canonicalAnswer } = await import("../../agents/core/request/answer.ts");
const { composeText } = await import("../../agents/core/request/text.ts");
const { limits } = await import("../../agents/core/limits.ts");
const { PROMPT_SETS } = await import("../../agents/core/prompts/prompt.ts");
const { canonicalOrder } = await import("../../agents/core/seat/order.ts");
const { protocols } = await import("../../agents/core/protocols/index.ts");
const { forgeryIn } = await import("../../agents/core/encoding/transcript.ts");
const { createMemoryModel } = await import("../../agents/adapters/memory/model.ts");
const { violationsIn } = await import("../../sim/checkers/index.ts");
const { readPrompt, respond } = await import("../../sim/model.ts");
const { agrees } = await import("../../sim/plan.ts");
const { runWorld } = await import("../../sim/world.ts");
const { harmlessText, injectedText, injections } = await import("../attacks/injections.ts");
const { attemptFor } = await import("../eval/attempt.ts");
const { planFor } = await import("../eval/deliberate.ts");
const { formOf } = await import("../eval/question.ts");

const SEATS = 4;
const RULES = "Exports above 500 need a licence.";
const INVISIBLE = /(?! )[\p{Cc}\p{Cf}\p{Z}\p{Default_Ignorable_Code_Point}]/u;
/** No limit of the protocols cuts texts of fewer bytes. */
const SHORT_BYTES = 400;

/** Answers of honest seats; some of them err, at first or to the end. */
interface Scene {
  readonly name: string;
  readonly kind: string;
  readonly truth: string;
  /** Bytes that fit into the models of seats that do not err; absent: any number. */
  readonly context?: { readonly prompt: number; readonly withAnswer: number };
  /** Errors by seat; null: it does not err. `words`: it answers with what it writes. */
  readonly errors: readonly (string | null)[];
  /** Tasks in which these seats err. */
  readonly in: (task: string) => boolean;
}

/** The texts of one world and their places. */
interface Words {
  /** Text in the question and in the context before it. */
  readonly question: string;
  /** Texts in documents that the question names; null: it names none. */
  readonly document: string | null;
  /** Text that each seat writes into every free field. */
  readonly texts: readonly string[];
  /** Text that replaces the error "words". */
  readonly answer: string;
}

const scenes: readonly Scene[] = [
  { name: "one seat errs", kind: "boolean", truth: "yes", errors: [null, null, "no", null], in: () => true },
  {
    name: "three seats err at first, each in its own way",
    kind: "choice A-D",
    truth: "A",
    errors: ["B", null, "C", "D"],
    in: (task) => task !== "revise" && task !== "converge",
  },
  {
    name: "one seat answers with the text",
    kind: "text",
    truth: "A licence is needed.",
    errors: [null, null, "words", null],
    in: () => true,
  },
];

/** Fields of prompts in which texts of the corpus stand, by protocol; of one that is not listed, the question at least. */
const REACHED: Readonly<Record<string, string>> = {
  mbft: "counterProof other others proof question sourceA",
  "mbft-bayesian": "counterProof other others proof question sourceA",
  wbft: "answer other proof question sourceA",
  leaderless: "proof question sourceA",
  unanimous: "answer counterProof other others proof question sourceA",
  hashgraph: "answer counterProof other others proof question sourceA",
  council: "answerA answerB answerC answerD question",
  debate: "answer answerA answerB answerC answerD counterProof others proof question",
  adversarial: "proof question reviewA reviewB",
  escalating: "answerA answerB answerC counterProof other others proof question sourceA",
};

interface Played {
  readonly trace: Trace;
  /** Prompts by seat, in order. */
  readonly asked: readonly ModelRequest[][];
}

async function play(protocol: Protocol, scene: Scene, words: Words, prompts: PromptSet): Promise<Played> {
  const asked = Array.from({ length: SEATS }, (): ModelRequest[] => []);
  const question = questionOf(scene, words);
  const committee = { seats: SEATS, bad: new Map(), misled: new Set<SeatIndex>(), assurance: "normal" } as const;
  const plan = planFor(protocol, question, committee, 1);
  // High stakes make escalating escalate.
  const terms = { ...plan.attempt.request.terms, callbackGasLimit: protocol.id === "escalating" ? 100_000 : 0 };
  const models: ForeignModels = {
    of: (seat, clock) =>
      createMemoryModel(
        async (request) => {
          await new Promise<void>((resolve) => void clock.schedule(100, resolve));
          asked[seat]?.push(request);
          if (scene.context !== undefined && scene.errors[seat] === null) fit(scene.context, request);
          const error = scene.in(readPrompt(request.user).get("task") ?? "") ? scene.errors[seat] : null;
          const held = error === "words" ? words.answer : (error ?? scene.truth);
          return echoing(request, terms, held, words.texts[seat] as string);
        },
        { prompts, confidence: () => 900_000 },
      ),
    idle: async () => {},
  };
  const attempt = { ...plan.attempt, request: { ...plan.attempt.request, terms } };
  // The checkers then assume models that may err.
  const model = { failPpm: 0, errorPpm: 1 };
  return { trace: await runWorld({ ...plan, attempt, model }, null, models), asked };
}

/** Fails as servers and engines do: before they begin, or where the answer would go beyond the context's end. */
function fit({ prompt, withAnswer }: NonNullable<Scene["context"]>, { user }: ModelRequest): void {
  const bytes = Buffer.byteLength(user);
  const kind = bytes > prompt ? "prompt-too-long" : bytes > withAnswer ? "truncated" : null;
  if (kind !== null) throw new ConclaveError("MODEL_FAILED", `Ask a small model failed (${kind})`, { kind });
}

function questionOf({ kind, truth }: Scene, words: Words): Question {
  const documents = words.document === null ? [] : [`${RULES} ${words.document}`];
  const lines = documents.map((one) => `\nsource: ${cidString(digestOf(one))}`);
  return {
    suite: "policy",
    text: `Context: ${words.question}\n\nDoes an export of 720 need a licence? ${words.question}${lines.join("")}`,
    form: formOf(kind),
    truth,
    lie: { answer: "no", proof: "" },
    drawnBy: "one question",
    documents,
  };
}

/** Returns an honest mind's answer and verdicts; every other free field gets the text. */
function echoing(request: ModelRequest, terms: Terms, answer: string, text: string): Record<string, string> {
  const fields = respond(request, terms, { answer, approves: (other) => agrees(terms, other, answer) });
  const free = request.schema.properties.filter(
    ({ name, enum: allowed }) => allowed === undefined && name !== "answer" && name !== "derived",
  );
  const words = free.map(({ name, maxLength }): [string, string] => [
    name,
    name === "quote" ? RULES : Array.from(text).slice(0, maxLength).join(""),
  ]);
  return { ...fields, ...Object.fromEntries(words) };
}

/**
 * Makes worlds in which every text of the corpus stands once as question, context and document, and once as a seat's
 * words.
 */
function worldsOf(protocol: Protocol, scene: Scene): readonly (readonly [ids: string, hostile: Words, calm: Words])[] {
  const isLong = (injection: Injection): boolean => Buffer.byteLength(injectedText(injection, "no")) >= SHORT_BYTES;
  const sorted = [...injections.filter((one) => !isLong(one)), ...injections.filter(isLong)];
  const groups = Array.from({ length: Math.ceil(sorted.length / SEATS) }, (_, index) =>
    sorted.slice(SEATS * index, SEATS * (index + 1)),
  );
  return groups.map((group) => {
    const texts = group.map((one) => injectedText(one, "no"));
    // A question that names a document elsewhere than at its end is refused (SG1).
    const asked = group.filter(({ id }) => id !== "source/cid");
    const written = Array.from({ length: SEATS }, (_, seat) => texts[seat % texts.length] as string);
    const hostile = {
      question: asked.map((one) => injectedText(one, "no")).join("\n"),
      document: protocol.readsSources ? texts.join("\n") : null,
      texts: written,
      answer: (written[2] as string).slice(0, limits.answerBytes / 4),
    };
    return [group.map(({ id }) => id).join(), hostile, calmed(hostile, scene)];
  });
}

/**
 * Returns the same scene with texts that want nothing: of any length where no limit cuts, otherwise of the same
 * length.
 */
function calmed(hostile: Words, scene: Scene): Words {
  const calm = (text: string): string => harmlessText(Buffer.byteLength(text) < SHORT_BYTES ? "x".repeat(200) : text);
  const { request } = attemptFor(questionOf(scene, hostile), 1, SEATS, "normal");
  const isAnswer = canonicalAnswer(request, composeText(hostile.answer)) !== null;
  return {
    question: "nothing",
    document: hostile.document === null ? null : "nothing",
    texts: hostile.texts.map(calm),
    // A text that is no answer of the kind is compared with another such text.
    answer: isAnswer ? calm(hostile.answer).slice(0, limits.answerBytes / 4) : "\u202e",
  };
}

/** Returns who spoke where, and as what: roles, phases, rounds, seats. */
function courseOf({ trace: { protocol, attempt, messages } }: Played): readonly string[] {
  const lines = [...messages].flatMap(([slot, said]) =>
    said.map(({ header, payload }) => `${slot} ${protocol.render(attempt, header, payload)?.name ?? "certify"}`),
  );
  return lines.toSorted();
}

/** Returns everything of a prompt except the data: instructions, schema, the lines' names, and text without quotes. */
function formsOf({ asked }: Played): readonly (readonly string[])[] {
  return asked.map((requests) =>
    requests.map(({ system, user, schema, confidenceOf }) => {
      const lines = user.split("\n").map((line) => line.replace(/^([\w[\]]+): ".*"$/, '$1: ""'));
      return JSON.stringify({ system, lines, schema, confidenceOf });
    }),
  );
}

/** Returns the decisions and their seats without the texts, since the digests of transcripts differ with them. */
function decisionsOf({ trace }: Played, { answer: words }: Words): readonly unknown[] {
  const own = canonicalAnswer(trace.attempt.request, composeText(words))?.text;
  return trace.seats.map(({ certificates }) => {
    const [
      {
        certificate: { decision, signatures },
      },
    ] = certificates as readonly [Certified];
    const { transcript: _, outcome: __, answer, ...rest } = decision;
    return { ...rest, answer: answer === own ? "words" : answer, signers: signatures.map(({ seat }) => seat) };
  });
}

/**
 * Checks that nothing is invisible, every text is one JSON string on its own line, every message is its seat's, and
 * every invariant of the simulator holds.
 */
function expectContained({ trace, asked }: Played, name: string): void {
  for (const { user } of asked.flat())
    for (const [index, line] of user.split("\n").entries()) {
      assert.equal(INVISIBLE.test(line), false, name);
      const [, field = "", value = ""] = /^(\w+|\[\d\]): (.*)$/.exec(line) ?? [];
      if (OURS.includes(field)) assert.match(value, /^[^"]/, name);
      else assert.equal(typeof JSON.parse(value), "string", name);
      assert.equal(index === 0, field === "task", name);
    }
  for (const message of [...trace.messages.values()].flat())
    assert.equal(forgeryIn(trace.attempt, message), null, name);
  assert.deepEqual(violationsIn(trace), [], name);
}

/** Fields that hold no text of strangers. */
const OURS = ["task", "kind", "form", "example"];

/** A proof of 512 bytes, the most that a message may hold; prompts make it up to six times as long. */
const LONG: readonly (readonly [name: string, text: string])[] = [
  ["letters", "x".repeat(512)],
  ["quotes", '"'.repeat(512)],
  ["backslashes", "\\".repeat(512)],
  ["soft hyphens", "\u00ad".repeat(256)],
  ["tags", "\u{e0041}".repeat(128)],
];

/** Bytes that the general set takes for the form of an answer and its example. */
const GENERAL_BYTES = 300;

for (const set of PROMPT_SETS)
  describe(`injections, ${set} prompts: no text of a peer is too long for a small context`, () => {
    for (const protocol of protocols)
      it(`P9: ${protocol.id}: honest seats decide beside a liar's longest texts`, async () => {
        const more = set === "small" ? 0 : GENERAL_BYTES;
        for (const [name, long] of LONG) {
          const calm = {
            question: "nothing",
            document: null,
            texts: Array<string>(SEATS).fill("so it is"),
            answer: "no",
          };
          const lying: Scene = {
            name,
            kind: "boolean",
            truth: "yes",
            context: { prompt: 900 + more, withAnswer: 700 + more },
            errors: Array<null>(SEATS).fill(null),
            in: () => true,
          };
          // A seat that is never the chair, whose word would be the decision.
          const order = canonicalOrder(attemptFor(questionOf(lying, calm), protocol.code, SEATS, "normal"));
          const liar = order.at(-1) as SeatIndex;
          const words = { ...calm, texts: calm.texts.with(liar, long) };
          const { trace } = await play(protocol, { ...lying, errors: lying.errors.with(liar, "no") }, words, set);
          assert.deepEqual(violationsIn(trace), [], name);
          for (const { certificates } of trace.seats) {
            const [{ certificate }] = certificates as readonly [Certified];
            const { status, answer } = certificate.decision;
            assert.deepEqual({ status, answer }, { status: "decided", answer: "yes" }, name);
          }
        }
      });
  });

for (const set of PROMPT_SETS)
  describe(`injections, ${set} prompts: no text changes a role, a format or the set of seats`, () => {
    for (const protocol of protocols)
      it(`P7: ${protocol.id}: the whole corpus as question, context, document and peers' words`, async () => {
        const reached = new Set<string>();
        for (const scene of scenes) {
          const calmPlays = new Map<string, Played>();
          for (const [ids, hostile, calm] of worldsOf(protocol, scene)) {
            const name = `${scene.name}: ${ids}`;
            const attacked = await play(protocol, scene, hostile, set);
            const key = JSON.stringify(calm);
            const peaceful = calmPlays.get(key) ?? (await play(protocol, scene, calm, set));
            calmPlays.set(key, peaceful);
            expectContained(attacked, name);
            assert.deepEqual(formsOf(attacked), formsOf(peaceful), name);
            assert.deepEqual(courseOf(attacked), courseOf(peaceful), name);
            assert.deepEqual(decisionsOf(attacked, hostile), decisionsOf(peaceful, calm), name);
            for (const { user } of attacked.asked.flat())
              for (const [field, value] of readPrompt(user))
                if (
                  !OURS.includes(field) &&
                  hostile.texts.some((text) => value.includes(composeText(text).slice(0, 12)))
                )
                  reached.add(field);
          }
        }
        const fields = [...reached].toSorted().join(" ");
        assertIncludes(fields, "question");
        const names = (REACHED[protocol.id] ?? fields).split(" ");
        const expected = names.map((one) => (set === "general" && one === "sourceA" ? "[1]" : one)).toSorted();
        assert.equal(fields, expected.join(" "));
      });
  });
