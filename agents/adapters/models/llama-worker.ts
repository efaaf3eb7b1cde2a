/**
 * The process that holds one native model. llama-model.ts starts it; it talks only over the IPC channel and ends with
 * it. A file or an input that makes the native code abort kills only this process.
 */
import {
  getLlama,
  getModuleVersion,
  InsufficientMemoryError,
  LlamaLogLevel,
  type Llama,
  type LlamaContextSequence,
} from "node-llama-cpp";

import { messageOf } from "../../core/errors.ts";
import { limits } from "../../core/limits.ts";
import { generate, type Engine } from "./generate.ts";
import { MAX_USUAL_CONTEXT } from "./gguf.ts";
import type { FromWorker, ToWorker, Unloadable, WorkerAsk, WorkerOptions } from "./llama-messages.ts";
import { usualThinking } from "./thinking-budget.ts";
import { chatOf } from "./thoughts.ts";
import { Unfinished } from "./unfinished.ts";

/** Tokens that usual thoughts leave for the prompt. */
const PROMPT_TOKENS = 4096;

const running = new Map<number, AbortController>();
const idle: LlamaContextSequence[] = [];
let engine: Engine | null = null;

process.on("disconnect", () => process.exit(0));
// A signal to the whole process group (Ctrl-C) is for the parent, which disconnects.
process.on("SIGINT", () => {});
process.on("message", (message: ToWorker) => {
  if (message.kind === "load") void load(message.options);
  else if (message.kind === "ask") void answer(message.id, message.ask);
  else running.get(message.id)?.abort();
});

async function load(options: WorkerOptions): Promise<void> {
  const { path, sequences, threads, gpu, temperature, contextSize, prompt } = options;
  let what: Unloadable = "engine";
  try {
    const llama = await getLlama({
      gpu,
      build: "never",
      skipDownload: true,
      maxThreads: threads,
      logLevel: LlamaLogLevel.error,
      logger: (_, line) => process.stderr.write(`${line}\n`),
    });
    what = "model";
    const model = await llama.loadModel({ modelPath: path });
    const { chatWrapper, mark } = prompt === "user-only" ? { chatWrapper: null, mark: null } : chatOf(model);
    what = "thoughts";
    if (mark === null && (options.thinkingTokens ?? 0) > 0)
      throw new Error("the chat template of the model knows no thoughts");
    const usual = mark === null ? 0 : usualThinking(options.parameters, llama.gpu === false);
    const wanted = options.thinkingTokens ?? usual;
    what = "context";
    // Flash attention and other cache types would make the text depend on the rest of the batch.
    const context = await model.createContext({
      sequences,
      threads,
      flashAttention: false,
      contextSize: contextSize ?? { max: Math.min(model.trainContextSize, MAX_USUAL_CONTEXT + wanted) },
    });
    for (let i = 0; i < sequences; i++) idle.push(context.getSequence());
    const left = Math.max(0, context.contextSize - PROMPT_TOKENS - limits.modelOutputTokens);
    const thinkingTokens = options.thinkingTokens ?? Math.min(usual, left);
    engine = { llama, model, chatWrapper, temperature, thoughtMark: mark, thinkingTokens };
    const facts = {
      contextSize: context.contextSize,
      engine: await engineOf(llama),
      thinkingTokens,
      memoryBytes: process.memoryUsage.rss(),
    };
    send({ kind: "ready", ...facts });
  } catch (error) {
    // Too little memory says nothing about the file.
    send({
      kind: "unloadable",
      what: error instanceof InsufficientMemoryError ? "context" : what,
      reason: workerReason(error),
    });
  }
}

async function engineOf({ gpu, llamaCppRelease }: Llama): Promise<string> {
  return `node-llama-cpp@${await getModuleVersion()} llama.cpp@${llamaCppRelease.release} ${gpu === false ? "cpu" : gpu}`;
}

async function answer(id: number, ask: WorkerAsk): Promise<void> {
  const sequence = idle.pop();
  if (engine === null || sequence === undefined)
    return send({ kind: "failed", id, why: "crashed", reason: "no sequence is free" });
  const controller = new AbortController();
  running.set(id, controller);
  try {
    const onText = (text: string): void => (ask.stream && text !== "" ? send({ kind: "token", id, text }) : undefined);
    const result = await generate(engine, sequence, ask, controller.signal, onText);
    send({ kind: "answer", id, ...result, memoryBytes: process.memoryUsage.rss() });
  } catch (error) {
    send({ kind: "failed", id, why: error instanceof Unfinished ? error.why : "crashed", reason: workerReason(error) });
  } finally {
    running.delete(id);
    idle.push(sequence);
  }
}

function workerReason(error: unknown): string {
  return messageOf(error).slice(0, 500);
}

function send(message: FromWorker): void {
  if (process.connected) process.send?.(message);
}
