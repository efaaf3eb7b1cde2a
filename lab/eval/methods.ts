import { protocols } from "../../agents/core/protocols/index.ts";
import type { Protocol } from "../../agents/core/protocol.ts";
import { attemptFor } from "./attempt.ts";
import { BASELINES, tableOf, type Baseline } from "./baselines.ts";
import { deliberate, type Committee, type Result } from "./deliberate.ts";
import type { Panel } from "./panel.ts";
import type { Question } from "./question.ts";

/** A way of deciding a question: a protocol, or a baseline of the papers. */
export interface Method {
  readonly id: string;
  readonly source: "protocol" | "baseline";
  /** What its certificate promises; null for baselines, which have no certificate. */
  readonly assurance: Protocol["assurance"] | null;
  /** Reason why it cannot decide the question, or null. */
  refuses(question: Question, committee: Committee): string | null;
  decide(question: Question, committee: Committee, panel: Panel, seed: number): Promise<Result>;
}

export const METHODS: readonly Method[] = [
  ...protocols.map(fromProtocol),
  ...Object.entries(BASELINES).map(([id, baseline]) => fromBaseline(id, baseline)),
];

function fromProtocol(protocol: Protocol): Method {
  return {
    id: protocol.id,
    source: "protocol",
    assurance: protocol.assurance,
    refuses: (question, { seats, assurance }) =>
      protocol.refuseRequest(attemptFor(question, protocol.code, seats, assurance)),
    decide: async (question, committee, panel, seed) => await deliberate(protocol, question, committee, panel, seed),
  };
}

function fromBaseline(id: string, baseline: Baseline): Method {
  return {
    id,
    source: "baseline",
    assurance: null,
    refuses: ({ pages }) => (pages === undefined ? null : "baselines read no sources"),
    async decide(question, committee, panel) {
      const attempt = attemptFor(question, 0, committee.seats, committee.assurance, committee);
      return await baseline(tableOf(attempt, question, committee, panel));
    },
  };
}
