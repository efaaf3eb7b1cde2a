// Five agents with SmolLM2 and the real runtime decide what a new user asks first. Whether an answer is right does not matter here.
import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { peakMemory } from "../../agents/adapters/models/process-memory.ts";
import { memoryNeed } from "../../agents/adapters/models/memory.ts";
import { readGgufHeader } from "../../agents/adapters/models/gguf.ts";
import { defaultTerms } from "../../agents/core/request/terms.ts";
import type { Address, Terms } from "../../agents/core/types.ts";
import { canonicalAnswer } from "../../agents/core/request/answer.ts";
import type { HostedModel } from "../../agents/ports/model.ts";
import { memoryWorld, type RunningMemoryAgent } from "../integration/memory-world.ts";
import { silentLog, truthful } from "../integration/world.ts";
import { until } from "../support/until.ts";
import { AT_ONCE, CONTEXT, type LoadedModel } from "./model.ts";

const AGENTS = 5;
const consumer = `0x${"cc".repeat(20)}` as Address;
/** A busy machine writes a token a second for each of the five. */
const PHASE_MS = 300_000;
const DECIDE_MS = 900_000;
/** Between blocks until all seats are taken, and after that: the epoch in which a committee has to commit outlasts the test. */
const BLOCK_MS = { drawing: 50, deciding: 30_000 };

interface Asked {
  readonly question: string;
  readonly terms: Partial<Terms> & Pick<Terms, "kind">;
  readonly form: RegExp;
}

const ASKED: readonly Asked[] = [
  { question: "How many days has a week?", terms: { kind: "number", decimals: 0 }, form: /^-?\d+$/u },
  { question: "What is the capital of Germany? Answer with one word.", terms: { kind: "text" }, form: /./u },
  {
    question: "Which are colours? (A) red (B) seven (C) blue",
    terms: { kind: "policies", options: 3 },
    form: /^[A-C](,[A-C])*$/u,
  },
];

/** The first answer of each seat to each question: it gave it before it saw another one's. Null where the model failed. */
type Blind = Map<Asked, (string | null)[]>;

/** The model as one agent asks it; keeps what it answers first to each question. */
function kept(model: HostedModel, blind: Blind): HostedModel {
  const heard = new Set<Asked>();
  return {
    ...model,
    async ask(request, signal, onToken) {
      const asked = ASKED.find(({ question }) => request.user.includes(JSON.stringify(question)));
      const answers = asked === undefined || heard.has(asked) ? undefined : blind.get(asked);
      if (asked !== undefined) heard.add(asked);
      try {
        const response = await model.ask(request, signal, onToken);
        answers?.push(response.fields["answer"] ?? null);
        return response;
      } catch (error) {
        answers?.push(null);
        throw error;
      }
    },
  };
}

/** True if all seats answered, and alike. */
function isOneAnswer({ question, terms }: Asked, answers: readonly (string | null)[]): boolean {
  const asked = { question, terms: defaultTerms({ protocol: 1, committeeSize: AGENTS, ...terms }) };
  const texts = answers.map((text) => (text === null ? null : (canonicalAnswer(asked, text)?.text ?? null)));
  return texts.length === AGENTS && texts[0] !== null && new Set(texts).size === 1;
}

/** `hosted`: the model, which the caller loads and closes. */
export function committeeDecides(hosted: () => LoadedModel): void {
  describe("five agents with SmolLM2", () => {
    const running: RunningMemoryAgent[] = [];
    const blind: Blind = new Map(ASKED.map((asked) => [asked, []]));
    let world: ReturnType<typeof memoryWorld>;
    let ticker: NodeJS.Timeout | undefined;

    before(() => {
      const scripts = Array.from({ length: AGENTS }, () => truthful("unused"));
      const timing = {
        phaseMs: PHASE_MS,
        graceMs: PHASE_MS,
        certifyMs: 5_000,
        certifyDeltaMs: 1_000,
        relayStaggerMs: 1_000,
        relayBatchMs: 20,
        settleBatchMs: 20,
      };
      // Says why a committee hung.
      const log = { ...silentLog, warn: console.error };
      world = memoryWorld(scripts, undefined, log, timing);
      running.push(...world.agents.map((agent) => agent.start({ model: kept(hosted().model, blind) })));
    });
    after(async () => {
      clearInterval(ticker);
      for (const one of running) await one.stop();
    });

    // One model at temperature 0 may still answer otherwise beside other calls: its sums depend on what is batched with them.
    it(
      "decide each of a number, a text and policies that all seats answer alike, however unsure",
      { timeout: DECIDE_MS },
      async () => {
        const reader = world.chain.reader();
        const requests = ASKED.map(({ question, terms }) => {
          return world.chain.ask(consumer, defaultTerms({ protocol: 1, committeeSize: AGENTS, ...terms }), question)
            .request;
        });
        const mine = (ms: number): NodeJS.Timeout => setInterval(() => world.chain.mine(), ms);
        ticker = mine(BLOCK_MS.drawing);
        await until(() => running.every(({ agent }) => agent.status().seats.length === requests.length));
        clearInterval(ticker);
        ticker = mine(BLOCK_MS.deciding);
        const states = await Promise.all(
          requests.map(
            async ({ id }) =>
              await until(async () => {
                const { status } = await reader.requestState(id);
                return status === "decided" || status === "hung" || status === "refunded" ? status : null;
              }, DECIDE_MS),
          ),
        );
        let alike = 0;
        for (const [index, { id }] of requests.entries()) {
          const asked = ASKED[index]!;
          const events = await reader.requestEvents(id);
          const committed = events.find((event) => event.kind === "decisionCommitted");
          console.log(
            `${asked.question} ${JSON.stringify(blind.get(asked))}: ${states[index]} ${committed?.decision.answer}`,
          );
          if (states[index] === "decided") assert.match(committed!.decision.answer, asked.form);
          if (!isOneAnswer(asked, blind.get(asked)!)) continue;
          alike++;
          assert.equal(states[index], "decided", asked.question);
        }
        assert.ok(alike > 0, "no question was answered alike by all seats");
      },
    );

    it(`took at most the file twice, ${AT_ONCE} contexts and 400 MiB of memory`, async () => {
      const { path, pid } = hosted();
      const most = memoryNeed(readGgufHeader(path), statSync(path).size, AT_ONCE, CONTEXT);
      const peak = await peakMemory(pid);
      assert.ok(most !== null && peak !== null);
      console.log(`${Math.ceil(peak / 2 ** 20)} of ${Math.ceil(most.all / 2 ** 20)} MiB`);
      assert.ok(peak <= most.all, `${peak} bytes, more than ${most.all}`);
    });
  });
}
