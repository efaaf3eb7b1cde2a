import { runReference } from "../../references/mbft.ts";
import { mbft } from "../../../agents/core/protocols/mbft/index.ts";
import { addMessage, emptyTally, messagesOf, type Tally } from "../../../agents/core/seat/tally.ts";
import { addRound, attemptFor } from "../../../test/support/message-set.ts";
import { cpuMs, perSecond } from "./measure.ts";
import { RIGHT, SEATS, referenceScenario, soundActs, type Workload } from "./workloads.ts";

/** Message sets made at a time. The core remembers what it read and concluded, so every decision needs its own set. */
const SETS = 64;

/** The reference mode with its floats: the published engine's rules in TypeScript. */
export function measureReferenceMode(workload: Workload, seconds: number): number {
  const scenario = referenceScenario(workload);
  return perSecond(() => {
    for (let count = 0; count < 100; count++) runReference(scenario);
    return { decisions: 100 };
  }, seconds);
}

/**
 * Measures the sound rules from the complete message set of one round to its outcome. `fresh`: the messages were
 * never seen, so decoding and hashing of commitments count, too. Otherwise the messages were read when they came, as
 * in a seat, and the rules alone count.
 */
export function measureConclude(workload: Workload, seconds: number, fresh: boolean): number {
  const attempt = attemptFor(mbft.code, SEATS, "normal");
  const acts = soundActs(workload);
  const messages = [...messagesOf(addRound(emptyTally, attempt, 0, acts))];
  const setOf = (): Tally =>
    fresh
      ? addRound(emptyTally, attempt, 0, acts)
      : messages.reduce((tally, message) => addMessage(tally, message).tally, emptyTally);
  return perSecond(() => {
    const started = cpuMs();
    const sets = Array.from({ length: SETS }, setOf);
    const preparedMs = cpuMs() - started;
    for (const set of sets) {
      const conclusion = mbft.conclude(attempt, set);
      if (conclusion.kind !== "final" || conclusion.outcome.answer !== RIGHT)
        throw new Error(`The workload "${workload.id}" decides for ${RIGHT}`);
    }
    return { decisions: SETS, preparedMs };
  }, seconds);
}
