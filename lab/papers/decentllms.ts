import { majorityBaseline, ranking, twoThirdsBaseline } from "../references/leaderless-baselines.ts";
import type { SeatIndex } from "../../agents/core/types.ts";
import { attemptFor } from "../eval/attempt.ts";
import { THINK_MS } from "../eval/deliberate.ts";
import { markOf } from "../eval/mark.ts";
import { METHODS, type Method } from "../eval/methods.ts";
import { createPanel } from "../eval/panel.ts";
import { questionsOf, type Question } from "../eval/question.ts";
import type { Suite } from "../eval/suites.ts";
import { shareOf } from "../eval/statistics.ts";
import { plainVote } from "../eval/vote.ts";
import {
  accuracyClaim,
  latencyClaims,
  resilienceClaim,
  singleClaim,
  tableClaims,
  type Accuracy,
} from "./decentllms-claims.ts";
import { firstAnswers } from "./deliberations.ts";
import { DEBATE, PROTOCOLS, latenciesOf, type Latency } from "./decentllms-latency.ts";
import { CORRECT, PAPER_SCORES, PUSHED, replay, resilienceAt, type Resilience } from "./decentllms-table.ts";
import { GREEDY, greedyAnswer } from "./greedy.ts";
import { percent, sized, type Chart, type Setting, type Study, type Table } from "./study.ts";

const SEATS = 7;
const SUITES: readonly Suite[] = ["arithmetic", "wason", "policy"];
const QUESTIONS = { quick: 2, full: 15 };
/** Seats of the latencies: calls are counted on the core alone, but virtual time needs whole seats. */
const CALLS_SEATS = 13;
const SIMULATED_SEATS = { quick: 7, full: 13 };
const MOST_COLLUDERS = 9;

const RANKED = ["decentllms-best", "decentllms-two-thirds", "decentllms-majority", "leaderless"] as const;
const VOTE = "plain vote of the first answers";

export const decentllmsStudy: Study = {
  id: "decentllms",
  paper: "Jo and Park, Byzantine-Robust Decentralized Coordination of LLM Agents (DecentLLMs)",
  async run(setting) {
    const { isQuick, seed } = setting;
    const seats = isQuick ? SIMULATED_SEATS.quick : SIMULATED_SEATS.full;
    const [question] = questionsOf("policy", 1, seed) as [Question];
    const latencies = await latenciesOf({ seats: CALLS_SEATS }, { seats, question, seed });
    setting.tell("latencies counted");
    const accuracy = await accuracyOf(setting);
    const resilience = Array.from({ length: MOST_COLLUDERS + 1 }, (_, colluders) => resilienceAt(colluders));
    return {
      claims: [
        accuracyClaim(accuracy),
        singleClaim(accuracy),
        ...latencyClaims(latencies),
        ...tableClaims(replay(1)),
        resilienceClaim(resilience),
      ],
      comparisons: [...RANKED, VOTE].map((name) => ({
        who: name,
        questions: accuracy.questions,
        right: accuracy.right[name] ?? 0,
        greedyRight: accuracy.greedyRight,
      })),
      tables: [accuracyTable(accuracy), latencyTable(latencies, seats), scoreTable(), resilienceTable(resilience)],
      charts: [latencyChart(latencies), resilienceChart(resilience)],
    };
  },
};

async function accuracyOf(setting: Setting): Promise<Accuracy> {
  const { seed, book, tell } = setting;
  const answers = await book();
  const questions = SUITES.flatMap((suite) => questionsOf(suite, sized(setting, QUESTIONS), seed));
  const right: Record<string, number> = {};
  let greedyRight = 0;
  const count = (name: string, isRight: boolean): void => void (right[name] = (right[name] ?? 0) + Number(isRight));
  const committee = {
    seats: SEATS,
    bad: new Map<SeatIndex, never>(),
    misled: new Set<SeatIndex>(),
    assurance: "normal",
  } as const;
  for (const question of questions) {
    const attempt = attemptFor(question, 0, SEATS, "normal");
    const { request } = attempt;
    const panel = () => createPanel({ book: answers, question, seed, variantOf: () => 0 });
    const firsts = await firstAnswers(answers, question, SEATS, seed);
    const texts = firsts.map((one) => (one.kind === "answered" ? (one.fields["answer"] ?? "") : ""));
    count(VOTE, markOf(request, question.truth, plainVote(request, texts, question.text).answer).status === "right");
    for (const id of RANKED) {
      const method = METHODS.find((one) => one.id === id) as Method;
      const { answer } = await method.decide(question, committee, panel(), seed);
      count(id, markOf(request, question.truth, answer).status === "right");
    }
    greedyRight += Number((await greedyAnswer(answers, question)).isRight);
    tell(`${question.suite}: ${JSON.stringify(right)}`);
  }
  return { questions: questions.length, right, greedyRight };
}

function accuracyTable({ questions, right, greedyRight }: Accuracy): Table {
  const paper: Readonly<Record<string, string>> = {
    "decentllms-best": "71",
    "decentllms-two-thirds": "64",
    "decentllms-majority": "50",
  };
  return {
    title: "Fig. 6: accuracy against quorum baselines, %",
    note: `${questions} questions (${SUITES.join(", ")}), ${SEATS} seats with the embedded model, nobody bad; in the baselines every seat answers and marks all others. The paper: 100 problems of MMLU-Pro, nine models of different size, larger ones as evaluators.`,
    head: ["method", "the paper", "here", "95 %"],
    rows: [...RANKED, VOTE, GREEDY].map((name) => {
      const { share, interval } = shareOf(name === GREEDY ? greedyRight : (right[name] ?? 0), questions);
      return [name, paper[name] ?? "", percent(share), interval.map(percent).join(" to ")];
    }),
  };
}

function latencyTable(latencies: readonly Latency[], seats: number): Table {
  const methods = [...PROTOCOLS, DEBATE];
  const bad = [...new Set(latencies.map((one) => one.bad))];
  const shown = (method: string, count: number): string => {
    const one = latencies.find((latency) => latency.method === method && latency.bad === count);
    if (one === undefined) return "";
    return one.virtualMs === null ? String(one.calls) : `${one.calls} (${(one.virtualMs / THINK_MS).toFixed(1)})`;
  };
  return {
    title: "Fig. 7: latency by bad agents",
    note: `Model calls one after the other, n = ${CALLS_SEATS}; in brackets the virtual time to the last certificate in a world with n = ${seats}, in units of the least thinking time (${THINK_MS} ms; a call takes one to two of them), network and certification included, where so many bad seats are borne. Bad are those whose turn comes first; they lie and are the surest. The debate is a baseline without messages.`,
    head: ["bad seats", ...methods],
    rows: bad.map((count) => [String(count), ...methods.map((method) => shown(method, count))]),
  };
}

function scoreTable(): Table {
  const scores = replay(1);
  const rank = ranking(scores);
  const paperRank = ranking(PAPER_SCORES);
  return {
    title: "Table I: robust scores of ten workers, nine evaluators of which one colludes",
    note: `Computed from the paper's totals, spread evenly over the five criteria, since it prints no vectors. The quorum baselines take w${twoThirdsBaseline(scores)} (2/3) and w${majorityBaseline(scores)} (majority).`,
    head: ["worker", "the paper", "here", "place in the paper", "place here", "its answer"],
    rows: scores.map((score, worker) => [
      `w${worker}${worker === PUSHED ? " (Byzantine)" : ""}`,
      (PAPER_SCORES[worker] as number).toFixed(1),
      (score / 1000).toFixed(1),
      String(paperRank.indexOf(worker) + 1),
      String(rank.indexOf(worker) + 1),
      CORRECT.includes(worker) ? "right" : "wrong",
    ]),
  };
}

function resilienceTable(rows: readonly Resilience[]): Table {
  return {
    title: "Fig. 8: Byzantine evaluators beside eight honest ones",
    note: "Computed. Colluders give 100 to w9 and 0 to all others. Selected: by the score alone, as in the paper; the last column by our rule as well, which wants the approval of more than half of all evaluators (LL8).",
    head: [
      "colluders",
      "of evaluators",
      "selected",
      "its answer",
      "place of w9",
      "best honest score",
      "score of w9",
      "with approval",
    ],
    rows: rows.map(({ colluders, best, pushedRank, bestHonestScore, pushedScore, approvedBest }) => [
      String(colluders),
      String(colluders + 8),
      `w${best}`,
      CORRECT.includes(best) ? "right" : "wrong",
      String(pushedRank),
      bestHonestScore.toFixed(1),
      pushedScore.toFixed(1),
      approvedBest === null ? "nobody" : `w${approvedBest}`,
    ]),
  };
}

function latencyChart(latencies: readonly Latency[]): Chart {
  return {
    file: "decentllms-latency",
    title: `DecentLLMs: latency by bad leaders or workers, n = ${CALLS_SEATS}`,
    x: { title: "bad seats, first in turn", values: [...new Set(latencies.map(({ bad }) => bad))] },
    y: { title: "model calls on the critical path", most: Math.max(...latencies.map(({ calls }) => calls)) },
    lines: [...PROTOCOLS, DEBATE].map((name) => ({
      name,
      points: latencies.filter(({ method }) => method === name).map(({ bad, calls }) => [bad, calls]),
    })),
  };
}

function resilienceChart(rows: readonly Resilience[]): Chart {
  const x = rows.map(({ colluders }) => colluders);
  return {
    file: "decentllms-evaluators",
    title: "DecentLLMs: robust scores by Byzantine evaluators beside eight honest ones",
    x: { title: "Byzantine evaluators", values: x },
    y: { title: "robust score", most: 100 },
    lines: [
      { name: "best honest worker", points: rows.map((row) => [row.colluders, row.bestHonestScore]) },
      { name: "Byzantine worker w9", points: rows.map((row) => [row.colluders, row.pushedScore]) },
    ],
  };
}
