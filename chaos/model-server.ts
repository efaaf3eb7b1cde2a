// A model behind OpenAI's chat completions, which knows sums and fails when it is told to.
import { createServer, type ServerResponse } from "node:http";
import type { OutputProperty } from "../agents/core/prompts/prompt.ts";
import { defaultTerms } from "../agents/core/request/terms.ts";
import { readPrompt, respond } from "../sim/model.ts";
import { agrees } from "../sim/plan.ts";
import type { MODEL_FAULTS } from "./manifest.ts";
import { listenOnLoopback } from "../scripts/shared/loopback.ts";

export type ModelFault = (typeof MODEL_FAULTS)[number];

export interface ModelServer {
  readonly url: string;
  /** Null mends it. */
  fail(fault: ModelFault | null): void;
  close(): Promise<void>;
}

interface Body {
  readonly messages: readonly { readonly role: string; readonly content: string }[];
  readonly response_format: {
    readonly json_schema: {
      readonly schema: {
        readonly properties: Readonly<Record<string, { readonly enum?: string[]; readonly maxLength?: number }>>;
      };
    };
  };
}

const terms = defaultTerms({ kind: "number", protocol: 1 });
/** What makes a liar's sum wrong. */
export const LIE = 10;
/** Time for one answer, so that perturbations meet calls under way. */
const THINK_MS = 300;
const LOGPROB = -0.05;

export function questionOf(a: number, b: number): string {
  return `What is ${a} plus ${b}?`;
}

export function sumIn(text: string): number | null {
  const [, a, b] = /What is (\d+) plus (\d+)\?/.exec(text) ?? [];
  return a === undefined || b === undefined ? null : Number(a) + Number(b);
}

export async function startModelServer(): Promise<ModelServer> {
  let fault: ModelFault | null = null;
  let calls = 0;

  const answer = ({ messages, response_format: { json_schema } }: Body): string => {
    const user = messages.find(({ role }) => role === "user")?.content ?? "";
    const sum = sumIn(readPrompt(user).get("question") ?? "");
    if (sum === null) throw new Error(`the model server knows sums only: ${user.slice(0, 200)}`);
    const held = String(fault === "lie" ? sum + LIE : sum);
    const properties = Object.entries(json_schema.schema.properties).map(
      ([name, { enum: allowed, maxLength }]): OutputProperty => ({
        name,
        ...(allowed === undefined ? {} : { enum: allowed }),
        ...(maxLength === undefined ? {} : { maxLength }),
      }),
    );
    const request = { system: "", user, schema: { properties }, confidenceOf: "answer", maxTokens: 0, seed: 0 };
    // No two calls yield the same words: what a crash loses cannot be said again by chance.
    const mind = { answer: held, approves: (other: string) => agrees(terms, held, other), words: `(call ${calls})` };
    return JSON.stringify(respond(request, terms, mind));
  };

  const server = createServer((request, response) => {
    void (async () => {
      let text = "";
      for await (const chunk of request) text += String(chunk);
      if (request.method !== "POST") return void response.end('{"object":"list","data":[]}');
      calls++;
      if (fault === "hang") return;
      if (fault === "die") return void response.writeHead(500).end("out of memory");
      await new Promise((resolve) => setTimeout(resolve, THINK_MS));
      stream(response, fault === "babble" ? "Well, let me think about it" : answer(JSON.parse(text) as Body));
    })().catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined));
  });
  const { url, close } = await listenOnLoopback(server);
  return {
    url: `${url}/v1`,
    fail(next) {
      if (next === fault) return;
      if (fault === "hang") server.closeAllConnections();
      fault = next;
    },
    close,
  };
}

function stream(response: ServerResponse, content: string): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const event = (choice: object): void =>
    void response.write(`data: ${JSON.stringify({ id: "x", choices: [{ index: 0, ...choice }] })}\n\n`);
  const token = { token: content, logprob: LOGPROB };
  event({ delta: { content }, logprobs: { content: [token] }, finish_reason: null });
  event({ delta: {}, finish_reason: "stop" });
  response.write('data: {"choices":[],"usage":{"prompt_tokens":20,"completion_tokens":3}}\n\n');
  response.end("data: [DONE]\n\n");
}
