import { ConclaveError } from "../agents/core/errors.ts";
import type { PromptSet } from "../agents/core/prompts/prompt.ts";
import type { Attempt, SeatIndex, Terms } from "../agents/core/types.ts";
import { createMemoryModel } from "../agents/adapters/memory/model.ts";
import type { Clock } from "../agents/ports/clock.ts";
import type { Model, ModelRequest } from "../agents/ports/model.ts";
import { agrees, type Plan } from "./plan.ts";
import type { Random } from "./random.ts";
import { toldBy } from "./sources.ts";

export type Fields = Readonly<Record<string, string>>;

/** Models other than the simulated ones. Only what they schedule takes virtual time. */
export interface ForeignModels {
  of(seat: SeatIndex, clock: Clock): Model;
  /** Resolves when none of them works; virtual time stands still until then. */
  idle(): Promise<void>;
}

/** The lines of a prompt (docs/spec/prompts.md P1): `name: value`, untrusted values as JSON strings. */
export function readPrompt(user: string): ReadonlyMap<string, string> {
  return new Map(
    user.split("\n").map((line): [string, string] => {
      const at = line.indexOf(": ");
      const value = line.slice(at + 2);
      return [line.slice(0, at), value.startsWith('"') ? String(JSON.parse(value)) : value];
    }),
  );
}

/** What a mind holds: its answer, and its judgement of others'. */
export interface Mind {
  readonly answer: string;
  /** Returns its verdict on an answer. */
  readonly approves: (answer: string) => boolean;
  /** Text that ends its free texts. */
  readonly words?: string;
  /** Its derivation of its answer; it replaces its free texts. */
  readonly proof?: string;
  /** The words of a source that it quotes, and what the prompt calls the source. */
  readonly quoted?: { readonly words: string; readonly source: string };
}

/** SG7: the texts that a prompt shows as what the seat read, and what a reply calls their sources. */
export function sourcesIn(
  prompt: ReadonlyMap<string, string>,
): readonly { readonly name: string; readonly place: number; readonly text: string }[] {
  return [...prompt].flatMap(([field, text]) => {
    const [, letter, number] = /^(?:source([A-Z])|\[(\d)\])$/.exec(field) ?? [];
    if (letter !== undefined) return { name: letter, place: letter.charCodeAt(0) - "A".charCodeAt(0), text };
    return number === undefined ? [] : { name: number, place: Number(number) - 1, text };
  });
}

/** Words for yes and no in the verdicts of all tasks. */
const YES_WORDS = ["accept", "support", "agree", "same", "valid", "yes", "approve", "refute"];
const NO_WORDS = ["reject", "oppose", "disagree", "different", "invalid", "no", "uphold"];
const BEST_SCORE = 19;
const WORST_SCORE = 2;

/**
 * Fills any form of a task from what a mind holds: answers, verdicts, scores, free text. It serves every task of
 * every protocol, those registered later included.
 */
export function respond(request: ModelRequest, terms: Terms, mind: Mind): Fields {
  const prompt = readPrompt(request.user);
  const task = prompt.get("task") ?? "";
  const judged = prompt.get("answer") ?? "";
  const isMatch = task === "match" || task === "same";
  const other = prompt.get("other") ?? prompt.get("others") ?? prompt.get("own") ?? mind.answer;
  const approved = isMatch ? agrees(terms, judged, other) : mind.approves(judged);
  return Object.fromEntries(
    request.schema.properties.map(({ name, enum: allowed, maxLength }) => {
      // A mind approves of what it derived itself.
      if (name === "derived") return [name, approved ? judged : mind.answer];
      if (mind.quoted !== undefined && name === "quote") return [name, mind.quoted.words];
      if (mind.quoted !== undefined && name === "source") return [name, mind.quoted.source];
      if (name === "answer") return [name, allowed === undefined ? mind.answer : oneOf(allowed, [mind.answer])];
      if (allowed !== undefined) return [name, verdict(allowed, approved, isMatch)];
      if (/score|^[a-z]+Score$|\d$/.test(name)) return [name, String(approved ? BEST_SCORE : WORST_SCORE)];
      const text = freeText(name, mind, judged, approved);
      return [name, text.slice(0, maxLength ?? text.length)];
    }),
  );
}

function freeText(name: string, { answer, proof, words }: Mind, judged: string, approved: boolean): string {
  if (proof === undefined)
    return `${approved ? "derived it the same way" : `derived ${answer} instead`} ${words ?? ""}`;
  return name === "proof" ? proof : `${proof}; so ${answer}, answered ${judged}`;
}

function verdict(allowed: readonly string[], approved: boolean, _isMatch: boolean): string {
  if (allowed.every((word) => /^\d+$/.test(word))) {
    const sorted = allowed.toSorted((a, b) => Number(a) - Number(b));
    const index = Math.round(((sorted.length - 1) * (approved ? BEST_SCORE : WORST_SCORE)) / 20);
    return sorted[index] as string;
  }
  return oneOf(allowed, approved ? YES_WORDS : NO_WORDS);
}

function oneOf(allowed: readonly string[], wanted: readonly string[]): string {
  return wanted.find((word) => allowed.includes(word)) ?? (allowed.at(-1) as string);
}

const FAILURES = ["rate-limit", "timeout", "unparsable", "crashed"] as const;

/**
 * The model of an honest seat: it knows the truth, or errs at the plan's rate. It takes its time, and sometimes fails
 * before the heal.
 */
export function honestModel(
  plan: Plan,
  prompts: PromptSet,
  clock: Clock,
  random: Random,
  onFailure: (kind: string) => void,
): Model {
  const { attempt, model, thinkMs, truth, lies } = plan;
  return createMemoryModel(
    async (request) => {
      const thinking = thinkMs + random.below(thinkMs);
      const errs = random.chance(model.errorPpm);
      const fails = random.chance(model.failPpm) && clock.now() < plan.healAt;
      await new Promise<void>((resolve) => void clock.schedule(thinking, resolve));
      if (fails) return fail(random, onFailure);
      const told = firstTold(request);
      const mind = honestMind(attempt, told?.answer ?? truth, errs ? random.pick(lies) : null);
      // No two calls of a model yield the same words, so a second try gets other ones.
      const words = `(${random.below(1_000_000)})`;
      return respond(request, attempt.request.terms, { ...mind, words, ...(told !== null && { quoted: told.quoted }) });
    },
    { descriptor: "simulated", prompts, confidence: () => 900_000 },
  );
}

/** SM6: what the first text that a prompt shows tells, if any does: an honest model believes it. */
function firstTold(
  request: ModelRequest,
): { readonly answer: string; readonly quoted: NonNullable<Mind["quoted"]> } | null {
  const told = sourcesIn(readPrompt(request.user)).flatMap(({ name, text }) => {
    const found = toldBy(text);
    return found === null ? [] : { answer: found.answer, quoted: { words: found.words, source: name } };
  });
  return told[0] ?? null;
}

/** `error`: the answer that it takes for the truth instead. */
export function honestMind(attempt: Attempt, truth: string, error: string | null = null): Mind {
  const answer = error ?? truth;
  return { answer, approves: (other) => agrees(attempt.request.terms, answer, other) };
}

function fail(random: Random, onFailure: (kind: string) => void): Fields {
  const kind = random.pick(FAILURES);
  onFailure(kind);
  if (kind === "unparsable") return { nonsense: "}" };
  if (kind === "crashed") throw new Error("the engine died");
  throw new ConclaveError("MODEL_FAILED", `Ask the simulated model failed (${kind})`, { kind });
}
