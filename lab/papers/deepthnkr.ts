import { agreementOf, bandOf, type Band } from "../references/agreement.ts";
import { debateForms } from "../../agents/core/protocols/debate/index.ts";
import { protocolById } from "../../agents/core/protocols/index.ts";
import type { Protocol } from "../../agents/core/protocol.ts";
import type { Answer } from "../eval/answer-book.ts";
import { THINK_MS } from "../eval/deliberate.ts";
import { tokensOf } from "../eval/panel.ts";
import { questionsOf } from "../eval/question.ts";
import type { Suite } from "../eval/suites.ts";
import { mean } from "simple-statistics";
import { deliberateOn, firstAnswers, revealsOf, type Deliberated } from "./deliberations.ts";
import { MODES, deepthnkrClaims, meanReadings, type Run, type Trajectory } from "./deepthnkr-claims.ts";
import { GREEDY, greedyAnswer } from "./greedy.ts";
import {
  comparisonOf,
  greedyText,
  sharesText,
  sized,
  type Chart,
  type Setting,
  type Study,
  type Table,
} from "./study.ts";

const SIZES = [4, 7] as const;
const SUITES: readonly Suite[] = ["arithmetic", "wason", "policy", "text"];
const MODE_QUESTIONS = { quick: 1, full: 4 };
const QUESTIONS = { quick: 2, full: 12 };
const DEBATE_SEATS = 4;

export const deepthnkrStudy: Study = {
  id: "deepthnkr",
  paper: "Thomas, A Structured Multi-Round Debate Protocol for Heterogeneous Councils (DeepThnkr)",
  async run(setting) {
    const runs = await runsOf(setting);
    const debates = await debatesOf(setting);
    const trajectories = debates.flatMap(({ trajectory }) => trajectory ?? []);
    return {
      claims: deepthnkrClaims(runs, trajectories),
      comparisons: [comparisonOf("the chair of `debate`", debates)],
      tables: [modeTable(runs), trajectoryTable(debates), bandTable(trajectories)],
      charts: [trajectoryChart(trajectories)],
    };
  },
};

async function runsOf(setting: Setting): Promise<readonly Run[]> {
  const { seed, book, tell } = setting;
  const questions = questionsOf("policy", sized(setting, MODE_QUESTIONS), seed);
  const answers = await book();
  const runs: Run[] = [];
  for (const seats of SIZES)
    for (const { id } of MODES)
      for (const question of questions) {
        const protocol = protocolById(id) as Protocol;
        const { panel, criticalPath, certifiedMs } = await deliberateOn(question, {
          book: answers,
          protocol,
          seats,
          seed,
        });
        const single = mean((await firstAnswers(answers, question, seats, seed)).map(tokensIn));
        runs.push({
          mode: id,
          seats,
          requests: panel.cost.calls,
          criticalPath,
          virtual: (certifiedMs ?? 0) / THINK_MS,
          tokens: tokensOf(panel.cost) / single,
        });
        tell(`${id}, ${seats} seats: ${panel.cost.calls} requests`);
      }
  return runs;
}

function tokensIn(answer: Answer): number {
  return answer.kind === "answered" ? answer.promptTokens + answer.outputTokens : 0;
}

/** One debate, readable or not. */
interface Debate {
  readonly suite: Suite;
  readonly status: Deliberated["status"];
  readonly greedyIsRight: boolean;
  /** Null when somebody said nothing that a reading needs. */
  readonly trajectory: Trajectory | null;
}

async function debatesOf(setting: Setting): Promise<readonly Debate[]> {
  const { seed, book, tell } = setting;
  const asking = { book: await book(), protocol: protocolById("debate") as Protocol, seats: DEBATE_SEATS, seed };
  const debates: Debate[] = [];
  for (const suite of SUITES) {
    for (const question of questionsOf(suite, sized(setting, QUESTIONS), seed)) {
      const deliberated = await deliberateOn(question, asking);
      const { isRight } = await greedyAnswer(asking.book, question);
      const trajectory = trajectoryOf(deliberated, isRight);
      debates.push({ suite, status: deliberated.status, greedyIsRight: isRight, trajectory });
    }
    tell(`${suite}: debated`);
  }
  return debates;
}

/** Null when somebody said nothing that a reading needs. */
export function trajectoryOf(deliberated: Deliberated, greedyIsRight: boolean): Trajectory | null {
  const { question, trace, tally, status } = deliberated;
  const readings = agreementOf(trace.attempt, debateForms, tally).map(({ percent }) => percent);
  if (readings.length !== 3 || readings.includes(null)) return null;
  const firsts = revealsOf(deliberated).filter(({ round }) => round === 0);
  const [first, second, third] = readings as [number, number, number];
  return {
    suite: question.suite,
    readings: [first, second, third],
    isContested: new Set(firsts.map(({ answer }) => answer)).size > 1,
    band: bandOf(third),
    status,
    greedyIsRight,
  };
}

/** Names the debates that the tables of readings leave out, if any. */
export function unreadText(debates: readonly Debate[]): string {
  const unread = debates.filter(({ trajectory }) => trajectory === null);
  const listed = unread.map(({ suite, status }) => `${suite}, chair ${status === "none" ? "hung" : status}`);
  const named =
    listed.length === 0 ? "" : `; left out because somebody said nothing that a reading needs: ${listed.join("; ")}`;
  return `${debates.length - unread.length} of ${debates.length} debates have all three readings${named}.`;
}

function modeTable(runs: readonly Run[]): Table {
  const meanOf = (rows: readonly Run[], key: "requests" | "criticalPath" | "virtual" | "tokens"): string =>
    mean(rows.map((one) => one[key]))
      .toFixed(1)
      .replace(/\.0$/, "");
  return {
    title: "Table II and Fig. 9: requests, latency and tokens by mode",
    note: `Means of policy questions with the embedded model. L is one call; virtual time has every call take L = ${THINK_MS} ms and holds network, commitments and certification as well. T is the tokens of a first answer to the same question. Adversarial: k = n - 2. A single model is 1, L, T.`,
    head: [
      "mode",
      "n",
      "requests: the paper",
      "here",
      "calls one after the other: the paper",
      "here",
      "virtual time in L",
      "tokens in T: the paper",
      "here",
    ],
    rows: SIZES.flatMap((seats) =>
      MODES.map(({ id, requests, requestsOf, latency }) => {
        const rows = runs.filter((one) => one.mode === id && one.seats === seats);
        const expected = requestsOf(seats);
        return [
          `\`${id}\``,
          String(seats),
          `${requests} = ${expected}`,
          meanOf(rows, "requests"),
          String(latency),
          meanOf(rows, "criticalPath"),
          meanOf(rows, "virtual"),
          `${expected}${id === "debate" ? " and more" : ""}`,
          meanOf(rows, "tokens"),
        ];
      }),
    ),
  };
}

const GROUPS = [
  ["first answers all the same", (one: Trajectory) => !one.isContested],
  ["first answers differ", (one: Trajectory) => one.isContested],
] as const;

function trajectoryTable(debates: readonly Debate[]): Table {
  const all = debates.flatMap(({ trajectory }) => trajectory ?? []);
  const groups: readonly (readonly [string, readonly Trajectory[]])[] = [
    ...GROUPS.map(([name, holds]) => [name, all.filter(holds)] as const),
    ...SUITES.map((suite) => [suite, all.filter((one) => one.suite === suite)] as const),
  ];
  return {
    title: "Fig. 5 and Table I: agreement over the rounds of a debate",
    note: `${DEBATE_SEATS} members, the embedded model. The meter is the lexical one (AG3) on whole texts, answer and derivation. The paper's worked example reads 19, 16, 16. ${unreadText(debates)}`,
    head: [
      "questions",
      "number",
      "answers, %",
      "critiques, %",
      "replies, %",
      "chair right / hung / wrong, %",
      `${GREEDY}, %`,
    ],
    rows: groups
      .filter(([, rows]) => rows.length > 0)
      .map(([name, rows]) => [
        name,
        String(rows.length),
        ...(meanReadings(rows) ?? []).map((reading) => reading.toFixed(0)),
        sharesText(rows.map(({ status }) => status)),
        greedyText(rows),
      ]),
  };
}

function bandTable(all: readonly Trajectory[]): Table {
  const bands: readonly (readonly [Band, string])[] = [
    ["accept", "above 70: low risk"],
    ["read", "30 to 70: read the replies"],
    ["contested", "below 30: contested"],
  ];
  return {
    title: "VII-C: what the last reading is worth",
    note: "The chair's answer by the band of the agreement after the replies.",
    head: ["agreement, %", "debates", "chair right / hung / wrong, %", `${GREEDY}, %`],
    rows: bands.map(([band, name]) => {
      const rows = all.filter((one) => one.band === band);
      const shares =
        rows.length === 0 ? ["none", "none"] : [sharesText(rows.map(({ status }) => status)), greedyText(rows)];
      return [name, String(rows.length), ...shares];
    }),
  };
}

function trajectoryChart(all: readonly Trajectory[]): Chart {
  const lines = GROUPS.flatMap(([name, holds]) => {
    const means = meanReadings(all.filter(holds));
    return means === null ? [] : [{ name, points: means.map((reading, round) => [round + 1, reading] as const) }];
  });
  return {
    file: "deepthnkr-agreement",
    title: "DeepThnkr: agreement over the rounds of a debate",
    x: { title: "round: answers, critiques, replies", values: [1, 2, 3] },
    y: { title: "agreement, %", most: 100 },
    lines: [
      ...lines,
      {
        name: "the paper's worked example",
        points: [
          [1, 19],
          [2, 16],
          [3, 16],
        ],
      },
    ],
  };
}
