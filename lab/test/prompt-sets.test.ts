import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, it } from "node:test";
import { installHooks } from "../../sim/hooks.ts";
import type { Protocol } from "../../agents/core/protocol.ts";
import type { PromptSet } from "../../agents/core/prompts/prompt.ts";
import type { ForeignModels } from "../../sim/model.ts";
import type { Question } from "../eval/question.ts";

// Installed before anything of the core is loaded.
installHooks({ realSignatures: false, mutant: null });
const { cidString } = await import("../../agents/core/encoding/cid.ts");
const { digestOf } = await import("../../agents/core/encoding/codec.ts");
const { SOURCES_VERSION } = await import("../../agents/core/phases/gather.ts");
const { PROMPT_SETS, promptsName } = await import("../../agents/core/prompts/prompt.ts");
const { protocols } = await import("../../agents/core/protocols/index.ts");
const { createMemoryModel } = await import("../../agents/adapters/memory/model.ts");
const { readPrompt, respond } = await import("../../sim/model.ts");
const { agrees } = await import("../../sim/plan.ts");
const { runWorld } = await import("../../sim/world.ts");
const { planFor } = await import("../eval/deliberate.ts");
const { formOf } = await import("../eval/question.ts");

/** Questions of every kind, with answers of seats that err at first. */
const ASKED: readonly (readonly [kind: string, truth: string, errors: readonly string[]])[] = [
  ["boolean", "yes", ["no"]],
  ["choice A-D", "A", ["B", "C", "D"]],
  ["number 2", "12.5", ["13", "7"]],
  ["text", "A licence.", ["No licence."]],
  ["policies A-D", "A,C", ["B", "A,B"]],
];
const DOCUMENT = "Exports above 500 need a licence.";
const TASKS = "adjudicate converge critique match propose revise score synthesize verify";
const TASKS_WITH_SOURCES = "adjudicate cite critique match revise verify";

/**
 * Protocols that ask in words that others lack, and those that stand beside them. What any other protocol asks is worded as what these
 * ask, so a new protocol belongs here only if it brings wording of its own.
 */
const WORDED = "mbft mbft-bayesian wbft leaderless unanimous hashgraph debate adversarial escalating clo".split(" ");

/** A protocol that asks all tasks that show sources. */
const WORDED_WITH_SOURCES: readonly string[] = ["escalating"];

/**
 * The hash of all that the set asks in the worlds of these protocols, without sources and with them. A change of any wording changes it, and
 * so does one of the salts, by which other seats' answers are in order.
 */
const HASHES: Readonly<Record<string, string>> = {
  "small@2": "827d687684516403bde510a09e09adc175b2b8613c38f006de78cc3c4053bd5b",
  "general@1": "969ed08c6a83627082858340e2d9f819beecfe7a24ed1bfdbef4bc30b2a7fc99",
  "small@2 sources@10": "3a4e6d2ff17dd5b20ca155a7f50b1d91ccf0fcba613b45edb61ad963bcf0cc51",
  "general@1 sources@10": "599913f5c0d7ce37a435e92972110f9ce1d2545549bbf745b0175c701e3d529a",
};

/** Everything that seats ask when they are asked all of that under the protocols, with these documents as sources. */
async function promptsOf(
  set: PromptSet,
  asking: readonly Protocol[],
  documents: readonly string[] = [],
): Promise<readonly string[]> {
  const prompts = new Set<string>();
  for (const protocol of asking)
    for (const [kind, truth, errors] of ASKED) {
      const sources = documents.map((one) => `\nsource: ${cidString(digestOf(one))}`).join("");
      const question: Question = {
        suite: "policy",
        text: `Does an export of 720 need a licence?${sources}`,
        form: formOf(kind),
        truth,
        lie: { answer: errors[0] as string, proof: "" },
        drawnBy: "one question",
        documents,
      };
      const committee = { seats: 4, bad: new Map(), misled: new Set<never>(), assurance: "normal" } as const;
      const plan = planFor(protocol, question, committee, 1);
      // High stakes make escalating escalate.
      const stakes = protocol.id === "escalating" ? 100_000 : 0;
      const terms = { ...plan.attempt.request.terms, callbackGasLimit: stakes };
      const attempt = { ...plan.attempt, request: { ...plan.attempt.request, terms } };
      const models: ForeignModels = {
        of: (seat, clock) =>
          createMemoryModel(
            async (request) => {
              await new Promise<void>((resolve) => void clock.schedule(100, resolve));
              const { system, user, schema, confidenceOf } = request;
              const props = schema.properties.map(({ name, enum: e, maxLength, words }) => ({
                name,
                e,
                maxLength,
                words,
              }));
              prompts.add(JSON.stringify({ system, user, props, confidenceOf }));
              const errs = /propose|cite|revise/.test(readPrompt(user).get("task") ?? "") && seat > 0;
              const answer = errs ? (errors[seat % errors.length] as string) : truth;
              const quoted = { words: DOCUMENT, source: set === "small" ? "A" : "1" };
              return respond(request, terms, { answer, approves: (other) => agrees(terms, other, answer), quoted });
            },
            { prompts: set, confidence: () => 900_000 },
          ),
        idle: async () => {},
      };
      await runWorld({ ...plan, attempt, model: { failPpm: 0, errorPpm: 1 } }, null, models);
    }
  return [...prompts].toSorted();
}

/** The prompt without the texts of strangers, and with one field for several of a kind, such as answerA and answerB. */
function wordingOf(prompt: string): string {
  const { user, ...rest } = JSON.parse(prompt) as { readonly user: string };
  const fields = user.split("\n").map((line) => line.replace(/^(.*?)(?:[A-Z]|\[\d+\])?: "(.*)"$/, "$1"));
  return JSON.stringify({ ...rest, fields: [...new Set(fields)] });
}

describe("prompt sets (P5)", () => {
  for (const set of PROMPT_SETS) {
    for (const [name, documents, wording, asked, version] of [
      [promptsName(set), [], WORDED, TASKS, "PROMPT_VERSIONS"],
      [
        `${promptsName(set)} sources@${SOURCES_VERSION}`,
        [DOCUMENT],
        WORDED_WITH_SOURCES,
        TASKS_WITH_SOURCES,
        "SOURCES_VERSION",
      ],
    ] as const)
      it(`${name} asks what it asked when it got its version, in every task`, async () => {
        const asking = protocols.filter(({ id }) => wording.includes(id));
        const prompts = await promptsOf(set, asking, documents);
        const tasks = new Set(prompts.map((one) => String(/task: (\w+)/.exec(one)?.[1])));
        assert.equal([...tasks].toSorted((a, b) => (a < b ? -1 : 1)).join(" "), asked);
        const hash = createHash("sha256").update(prompts.join("\n")).digest("hex");
        assert.equal(hash, HASHES[name], `wording changed: raise ${version}, then pin the new hash`);
      });

    it(`${promptsName(set)} has no wording that other protocols lack, but of those that are named`, async () => {
      const worded = await promptsOf(
        set,
        protocols.filter(({ id }) => WORDED.includes(id)),
      );
      const wordings = new Set(worded.map(wordingOf));
      for (const other of protocols.filter(({ id }) => !WORDED.includes(id)))
        for (const prompt of await promptsOf(set, [other]))
          assert.ok(
            wordings.has(wordingOf(prompt)),
            `${other.id} has a wording of its own: name it in WORDED\n${prompt}`,
          );
    });
  }
});
