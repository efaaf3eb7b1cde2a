import { CRITERIA } from "../../../agents/core/phases/scores.ts";
import { CLOSE } from "../../../agents/core/phases/round-book.ts";
import { canonicalOrder } from "../../../agents/core/seat/order.ts";
import type { Prompt } from "../../../agents/core/prompts/prompt.ts";
import type { Effect, Protocol } from "../../../agents/core/protocol.ts";
import { addMessage, emptyTally, messagesOf, type Tally } from "../../../agents/core/seat/tally.ts";
import type { Attempt, Decision, Message } from "../../../agents/core/types.ts";
import { runCommittee, type CommitteeRun, type SeatScript } from "./committee.ts";

type Ask = Extract<Effect, { kind: "ask" }>;
type Send = Extract<Effect, { kind: "send" }>;

/** The task's name in a prompt. */
export function taskOf(prompt: Prompt): string {
  return /^task: (\w+)$/m.exec(prompt.small.user)?.[1] ?? "";
}

/** A field of a prompt, parsed. */
export function fieldOf(prompt: Prompt, name: string): string | undefined {
  const line = prompt.small.user.split("\n").find((one) => one.startsWith(`${name}: `));
  return line === undefined ? undefined : (JSON.parse(line.slice(name.length + 2)) as string);
}

/** The fields nameA, nameB, ... of a prompt, as many as there are. */
export function letteredIn(prompt: Prompt, name: string): readonly string[] {
  const texts = Array.from({ length: 26 }, (_, index) => fieldOf(prompt, name + String.fromCharCode(65 + index)));
  return texts.filter((text) => text !== undefined);
}

/** Script of a seat that believes in one answer, for any task. */
export function believing(answer: string, proof = "computed"): SeatScript {
  return {
    answer: ({ prompt }) => {
      const given = fieldOf(prompt, "answer");
      switch (taskOf(prompt)) {
        case "verify":
          return {
            fields: { check: `so ${answer}, answered ${given}`, verdict: given === answer ? "accept" : "reject" },
          };
        case "critique":
          return {
            fields: Object.fromEntries(
              prompt.small.schema.properties.map(({ name }) => {
                const peer = fieldOf(prompt, name.replace("critique", "answer")) ?? "";
                return [name, peer.startsWith(`${answer}:`) ? "agrees" : `so ${answer}`];
              }),
            ),
          };
        case "score": {
          const mark = given === answer ? "20" : "2";
          return { fields: { check: "c", ...Object.fromEntries(CRITERIA.map((name) => [name, mark])) } };
        }
        case "match":
          return { fields: { check: "c", verdict: "different" } };
        default:
          return { fields: { proof, answer } };
      }
    },
  };
}

/** Script of a seat whose model fails at some tasks. */
export function failingAt(script: SeatScript, ...tasks: readonly string[]): SeatScript {
  return { ...script, answer: (ask) => (tasks.includes(taskOf(ask.prompt)) ? null : script.answer(ask)) };
}

/** Script of a seat that says nothing in some phases. */
export function silentIn(script: SeatScript, ...phases: readonly number[]): SeatScript {
  return { ...script, say: (effect) => (phases.includes(effect.phase) ? [] : [effect]) };
}

/** Script of a seat that tells the seats with an odd index something else in a phase. */
export function equivocatingIn(script: SeatScript, phase: number, payload: Send["payload"]): SeatScript {
  return {
    ...script,
    say: (effect, to) => [
      effect.phase === phase && to % 2 === 1 ? { ...effect, payload: { ...effect.payload, ...payload } } : effect,
    ],
  };
}

/** The usual script for all seats, except for those whose canonical rank has another one. */
export function byRank(
  attempt: Attempt,
  usual: SeatScript,
  others: Readonly<Record<number, SeatScript>>,
): SeatScript[] {
  const scripts = attempt.committee.map(() => usual);
  canonicalOrder(attempt).forEach((seat, rank) => (scripts[seat] = others[rank] ?? usual));
  return scripts;
}

/** Runs a committee and records what models were asked. */
export function watched(
  protocol: Protocol,
  attempt: Attempt,
  scripts: readonly SeatScript[],
  seed = 1,
  texts: ReadonlyMap<string, string> = new Map(),
  readMs = 5,
): CommitteeRun & {
  readonly asked: readonly { readonly seat: number; readonly ask: string; readonly prompt: Prompt }[];
} {
  const asked: { seat: number; ask: string; prompt: Prompt }[] = [];
  const spied = scripts.map((script, seat): SeatScript => ({
    ...script,
    answer: (ask: Ask) => {
      asked.push({ seat, ask: ask.ask, prompt: ask.prompt });
      return script.answer(ask);
    },
  }));
  return { ...runCommittee(protocol, attempt, spied, { seed, texts, readMs }), asked };
}

/** The one decision of the seats that certified; fails when there are several, or none. */
export function decisionOf(run: CommitteeRun): Decision {
  const decisions = run.certificates.flatMap((certificate) => (certificate === null ? [] : [certificate.decision]));
  const [first] = decisions;
  if (first === undefined || new Set(decisions.map(({ transcript }) => transcript)).size !== 1)
    throw new Error(`${decisions.length} decisions, not one`);
  return first;
}

/** How many messages of the deliberation the seats sent, each counted once. */
export function messagesIn(run: CommitteeRun): number {
  return run.effects.flat().filter((effect) => effect.kind === "send" && effect.phase <= CLOSE).length;
}

/** Message set in which `instead` replaces each message by others. */
export function retold(tally: Tally, instead: (message: Message) => readonly Message[]): Tally {
  return [...messagesOf(tally)].flatMap(instead).reduce((all, message) => addMessage(all, message).tally, emptyTally);
}
