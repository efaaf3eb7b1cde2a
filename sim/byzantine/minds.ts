import type { Model, ModelRequest } from "../../agents/ports/model.ts";
import { agrees, type Plan } from "../plan.ts";
import { readPrompt, respond, type Fields, type Mind } from "../model.ts";
import type { Random } from "../random.ts";

/** What a Byzantine mind answers in a task; null = it says that its model failed. */
export type BentMind = (task: string) => Mind | null;

/** Lying seats tell the same lie, the strongest that f of them can tell. */
function lieOf(plan: Plan): string {
  return plan.lies[0] ?? plan.truth;
}

export const minds = {
  /** Wrong answers, rejected truths, upheld accusations. */
  lying: (plan: Plan): BentMind => {
    const lie = lieOf(plan);
    const { lieProof } = plan;
    return () => ({
      answer: lie,
      approves: (other) => agrees(plan.attempt.request.terms, other, lie),
      ...(lieProof === undefined ? {} : { proof: lieProof }),
    });
  },
  /** Proposes nothing that others could refute, and accuses every proposal. */
  "stealth-vetoer": (plan: Plan): BentMind => {
    return (task) => (isAnswering(task) ? null : { answer: lieOf(plan), approves: () => false });
  },
  /** Accuses every answer except its own lie, at any cost. */
  "sacrificial-vetoer": (plan: Plan): BentMind => {
    return () => ({ answer: lieOf(plan), approves: () => false });
  },
  /** Accuses the truth in the first round, and proposes it in the next. */
  accuser: (plan: Plan): BentMind => {
    return (task) => {
      if (task === "propose") return null;
      return { answer: task === "revise" ? plan.truth : lieOf(plan), approves: () => false };
    };
  },
  /** Answers well and judges the wrong way round. */
  "biased-evaluator": (plan: Plan): BentMind => {
    const { terms } = plan.attempt.request;
    return () => ({ answer: plan.truth, approves: (other) => !agrees(terms, other, plan.truth) });
  },
} as const;

export type MindName = keyof typeof minds;

function isAnswering(task: string): boolean {
  return task === "propose" || task === "revise";
}

/** Takes the time of the model below, answers with full confidence what the mind holds, and never fails by accident. */
export function bentModel(below: Model, plan: Plan, mind: BentMind, random: Random): Model {
  return {
    descriptor: `bent over ${below.descriptor}`,
    // A mind bends verdicts; in the general set code computes some of them.
    prompts: "small",
    async ask(request, signal, onToken) {
      const response = await below.ask(request, signal, onToken).catch(() => ({
        fields: {},
        confidencePpm: 0,
        promptTokens: 0,
        outputTokens: 0,
        firstTokenMs: 0,
        durationMs: 0,
      }));
      const held = mind(readPrompt(request.user).get("task") ?? "");
      if (held === null) throw new Error("says that it failed");
      return { ...response, fields: bend(request, plan, held, random), confidencePpm: 1_000_000 };
    },
    close: () => below.close(),
  };
}

/** Sometimes returns a meaningless text of the greatest allowed length. */
function bend(request: ModelRequest, plan: Plan, mind: Mind, random: Random): Fields {
  const fields = respond(request, plan.attempt.request.terms, mind);
  if (!random.chance(50_000)) return fields;
  const noisy = request.schema.properties.flatMap(({ name, enum: allowed, maxLength }) =>
    allowed === undefined && name !== "answer" ? [[name, "#".repeat(maxLength ?? 64)] as const] : [],
  );
  return { ...fields, ...Object.fromEntries(noisy) };
}
