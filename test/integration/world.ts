// What tests of agents share on any chain. Light: whoever needs no world in memory loads none.
import type { Script } from "../../agents/adapters/memory/model.ts";
import type { AgentTiming } from "../../agents/node/config.ts";
import type { Log } from "../../agents/ports/log.ts";

/** Only what does not come is waited for: a phase ends at once when all have spoken. So the waits are those of a busy machine. */
export const fastTiming: AgentTiming = {
  phaseMs: 60_000,
  graceMs: 2_000,
  certifyMs: 3_000,
  certifyDeltaMs: 500,
  relayStaggerMs: 200,
  relayBatchMs: 20,
  settleBatchMs: 20,
};

export const silentLog: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** Script of a model that knows the truth in every role. */
export function truthful(truth: string): Script {
  return ({ user }) => {
    const right = user.includes(`\nanswer: ${JSON.stringify(truth)}`);
    if (user.startsWith("task: propose") || user.startsWith("task: revise"))
      return { proof: "computed", answer: truth };
    // The sets of prompts name the first document so.
    const [, small, general] = /^(?:sourceA: (.*)|\[1\]: (.*))$/m.exec(user) ?? [];
    const source = small ?? general;
    if (user.startsWith("task: cite") && source !== undefined) {
      const quote = (JSON.parse(source) as string).slice(0, 60);
      return { quote, source: small === undefined ? "1" : "A", proof: "read", answer: truth };
    }
    if (user.startsWith("task: verify"))
      return { check: right ? "ok" : `it is ${truth}`, verdict: right ? "accept" : "reject" };
    return { check: "computed", verdict: right ? "refute" : "uphold" };
  };
}
