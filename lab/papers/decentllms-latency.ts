import { canonicalOrder } from "../../agents/core/seat/order.ts";
import { protocolById } from "../../agents/core/protocols/index.ts";
import type { Protocol } from "../../agents/core/protocol.ts";
import { faultTolerance } from "../../agents/core/quorum.ts";
import type { Attempt, SeatIndex } from "../../agents/core/types.ts";
import { respond } from "../../sim/model.ts";
import { agrees } from "../../sim/plan.ts";
import { protocolCosts } from "../complexity/formulas.ts";
import { costOf } from "../complexity/measure.ts";
import { attemptFor } from "../eval/attempt.ts";
import { BASELINES, tableOf, type Baseline } from "../eval/baselines.ts";
import { planFor, type Badness } from "../eval/deliberate.ts";
import type { Panel } from "../eval/panel.ts";
import type { Question } from "../eval/question.ts";
import { simulate } from "./deliberations.ts";

/** Fig. 7: leaderless, a rotating leader (WBFT), and `mbft` for comparison; the fixed leader's debate is a baseline without messages. */
export const PROTOCOLS = ["leaderless", "wbft", "mbft"] as const;
export const DEBATE = "fixed-leader-debate";

export interface Latency {
  readonly method: string;
  readonly bad: number;
  /** Longest chain of model calls. */
  readonly calls: number;
  /** Virtual time; null for the baseline, and where no world was simulated. */
  readonly virtualMs: number | null;
}

/** Measures the paper's worst case: the seats whose turn comes first are bad. */
export async function latenciesOf(
  calls: { readonly seats: number },
  simulated: { readonly seats: number; readonly question: Question; readonly seed: number },
): Promise<readonly Latency[]> {
  const latencies: Latency[] = [];
  for (let bad = 0; bad <= faultTolerance(calls.seats); bad++) {
    for (const id of PROTOCOLS) {
      const isSimulated = bad <= faultTolerance(simulated.seats);
      const virtualMs = isSimulated ? await virtualMsOf(id, simulated, bad) : null;
      latencies.push({ method: id, bad, calls: callsOf(id, calls.seats, bad), virtualMs });
    }
    latencies.push({
      method: DEBATE,
      bad,
      calls: await debateCalls(calls.seats, simulated.question, bad),
      virtualMs: null,
    });
  }
  return latencies;
}

function leadersOf(id: string): (attempt: Attempt) => readonly SeatIndex[] {
  return protocolCosts.find((costs) => costs.id === id)?.leading.order ?? canonicalOrder;
}

function callsOf(id: string, seats: number, bad: number): number {
  const order = (attempt: Attempt): readonly SeatIndex[] => leadersOf(id)(attempt).slice(0, bad);
  return costOf(protocolById(id) as Protocol, seats, bad === 0 ? "agree" : "liars", { phase: null, order })
    .criticalPathCalls;
}

async function virtualMsOf(
  id: string,
  { seats, question, seed }: { readonly seats: number; readonly question: Question; readonly seed: number },
  bad: number,
): Promise<number | null> {
  const protocol = protocolById(id) as Protocol;
  const first = leadersOf(id)(attemptFor(question, protocol.code, seats, "normal")).slice(0, bad);
  const liars = new Map<SeatIndex, Badness>(first.map((seat) => [seat, "confident"]));
  const committee = { seats, bad: liars, misled: new Set<SeatIndex>(), assurance: "normal" } as const;
  return (await simulate(planFor(protocol, question, committee, seed), question)).certifiedMs;
}

/** Honest seats know the answer. */
async function debateCalls(seats: number, question: Question, bad: number): Promise<number> {
  const attempt = attemptFor(question, 0, seats, "normal");
  const { terms } = attempt.request;
  const mind = { answer: question.truth, approves: (other: string) => agrees(terms, other, question.truth) };
  const panel: Panel = {
    cost: { calls: 0, failed: 0, promptTokens: 0, outputTokens: 0 },
    ask: (_, prompt) => {
      const fields = respond({ ...prompt, maxTokens: 0, seed: 0 }, terms, mind);
      return Promise.resolve({ kind: "answered", fields, confidencePpm: null, promptTokens: 0, outputTokens: 0 });
    },
  };
  const liars = new Map<SeatIndex, Badness>(
    canonicalOrder(attempt)
      .slice(0, bad)
      .map((seat) => [seat, "confident"]),
  );
  const table = tableOf(attempt, question, { bad: liars, misled: new Set() }, panel);
  return (await (BASELINES[DEBATE] as Baseline)(table)).criticalPath;
}
