import { consensusReport } from "../references/hashgraph-report.ts";
import { protocolById } from "../../agents/core/protocols/index.ts";
import type { Protocol } from "../../agents/core/protocol.ts";
import type { Asked } from "../../agents/core/request/kinds.ts";
import { planFor } from "../eval/deliberate.ts";
import { badSeats } from "../eval/evaluate.ts";
import { markOf } from "../eval/mark.ts";
import { questionsOf, type Question } from "../eval/question.ts";
import type { Suite } from "../eval/suites.ts";
import { plainVote } from "../eval/vote.ts";
import { mean } from "simple-statistics";
import { deliberateOn, simulate, type Deliberated } from "./deliberations.ts";
import { robustnessClaim, rescueClaims, type Course, type Robust } from "./hashgraph-claims.ts";
import { factsOf, pooledFacts } from "./facts.ts";
import { GREEDY, greedyAnswer, type Greedy } from "./greedy.ts";
import {
  comparisonOf,
  greedyText,
  percent,
  sharesText,
  sized,
  type Chart,
  type Setting,
  type Study,
  type Table,
} from "./study.ts";

const SEATS = 7;
const SUITES: readonly Suite[] = ["arithmetic", "wason", "policy", "policies"];
const QUESTIONS = { quick: 3, full: 12 };
/** Questions of all suites together that are asked again with bad seats. */
const ATTACKED = { quick: 4, full: 16 };
const WORLDS = { quick: 4, full: 30 };
/** Rates at which a simulated honest model errs in a call, parts per million. */
const ERRORS = [0, 200_000] as const;
const MOST_BAD = 4;

export const hashgraphStudy: Study = {
  id: "hashgraph",
  paper: "Ogunsina and Ogunsina, A Hashgraph-Inspired Consensus Mechanism for Reliable Multi-Model Reasoning",
  async run(setting) {
    const courses = await coursesOf(setting);
    const robust = [...(await simulated(setting)), ...(await embedded(setting))];
    return {
      claims: [...rescueClaims(courses), robustnessClaim(robust, SEATS)],
      comparisons: [comparisonOf("`hashgraph`", courses)],
      tables: [rescueTable(courses), preservationTable(courses), robustnessTable(robust)],
      charts: [robustnessChart(robust)],
    };
  },
};

function hashgraph(): Protocol {
  return protocolById("hashgraph") as Protocol;
}

async function coursesOf(setting: Setting): Promise<readonly Course[]> {
  const { seed, book, tell } = setting;
  const asking = { book: await book(), protocol: hashgraph(), seats: SEATS, seed };
  const courses: Course[] = [];
  for (const question of SUITES.flatMap((suite) => questionsOf(suite, sized(setting, QUESTIONS), seed)))
    courses.push(courseOf(await deliberateOn(question, asking), await greedyAnswer(asking.book, question)));
  tell(`${courses.length} questions deliberated`);
  return courses;
}

export function courseOf(deliberated: Deliberated, greedy: Greedy): Course {
  const { question, trace, tally, status, answer } = deliberated;
  const { request } = trace.attempt;
  const report = consensusReport(trace.attempt, tally);
  const firsts = report.rounds[0]?.answers.map((one) => one.answer) ?? [];
  return {
    suite: question.suite,
    firsts: firsts.length,
    firstsRight: countRight(request, firsts, question),
    isUnanimous: report.rounds[0]?.isUnanimous === true,
    voteIsRight: countRight(request, [plainVote(request, firsts, question.text).answer ?? ""], question) === 1,
    greedyIsRight: greedy.isRight,
    status,
    rounds: report.rounds.length,
    path: report.path,
    changed: new Set(report.rounds.flatMap(({ changed }) => changed)).size,
    oscillating: report.oscillating.length,
    facts:
      request.terms.kind === "policies"
        ? factsOf(request.terms, { firsts, greedy: greedy.answer, answer }, question.truth)
        : null,
  };
}

function countRight(asked: Asked, answers: readonly string[], { truth }: Question): number {
  return answers.filter((answer) => markOf(asked, truth, answer).status === "right").length;
}

/**
 * Runs simulated models, which keep their opinion whatever others say; also with more bad seats than the protocol
 * bears.
 */
async function simulated(setting: Setting): Promise<readonly Robust[]> {
  const { seed, tell } = setting;
  const questions = questionsOf("policy", sized(setting, WORLDS), seed);
  const points: Robust[] = [];
  for (const errorPpm of ERRORS)
    for (let bad = 0; bad <= MOST_BAD; bad++) {
      const statuses: Deliberated["status"][] = [];
      for (const [index, question] of questions.entries()) {
        const liars = badSeats({ seats: SEATS, badness: ["confident"], seed }, question, bad);
        const committee = { seats: SEATS, bad: liars, misled: new Set<never>(), assurance: "normal" } as const;
        const plan = planFor(hashgraph(), question, committee, seed + index);
        statuses.push((await simulate({ ...plan, model: { failPpm: 0, errorPpm } }, question)).status);
      }
      const models = errorPpm === 0 ? "simulated, never wrong" : `simulated, wrong in ${errorPpm / 10_000} % of calls`;
      points.push({ models, bad, statuses, greedy: [] });
      tell(`${models}, ${bad} bad: ${statuses.length} worlds`);
    }
  return points;
}

async function embedded(setting: Setting): Promise<readonly Robust[]> {
  const { seed, book, tell } = setting;
  const asking = { book: await book(), protocol: hashgraph(), seats: SEATS, seed };
  const count = sized(setting, ATTACKED);
  const bySuite = SUITES.map((suite) => questionsOf(suite, Math.ceil(count / SUITES.length), seed));
  const questions = bySuite.flat().slice(0, count);
  const greedy: boolean[] = [];
  for (const question of questions) greedy.push((await greedyAnswer(asking.book, question)).isRight);
  const points: Robust[] = [];
  for (let bad = 0; bad <= MOST_BAD; bad++) {
    const statuses: Deliberated["status"][] = [];
    for (const question of questions)
      statuses.push((await deliberateOn(question, { ...asking, byzantine: bad })).status);
    points.push({ models: "embedded", bad, statuses, greedy });
    tell(`embedded, ${bad} bad: ${statuses.length} questions`);
  }
  return points;
}

function rescueTable(courses: readonly Course[]): Table {
  const groups: readonly (readonly [string, readonly Course[]])[] = [
    ...SUITES.map((suite) => [suite, courses.filter((one) => one.suite === suite)] as const),
    ["all", courses] as const,
  ];
  return {
    title: "Rescue, convergence and stability",
    note: `${SEATS} seats, nobody bad, the embedded model in all seats. *Rescued*: decided right though a plain vote of the first answers is not; *lost*: the reverse. Rounds include the first; the rules want an agreement to last one more round, so two is the least.`,
    head: [
      "suite",
      "questions",
      "one first answer right",
      "plain vote of first answers right",
      GREEDY,
      "right / hung / wrong",
      "rescued",
      "lost",
      "mean rounds",
      "most rounds",
      "seats that changed",
      "oscillated",
      "vote / plurality (fallbacks)",
    ],
    rows: groups.map(([name, group]) => [
      name,
      String(group.length),
      percent(mean(group.map(({ firsts, firstsRight }) => firstsRight / Math.max(1, firsts)))),
      percent(group.filter(({ voteIsRight }) => voteIsRight).length / group.length),
      greedyText(group),
      sharesText(group.map(({ status }) => status)),
      String(group.filter(({ status, voteIsRight }) => status === "right" && !voteIsRight).length),
      String(group.filter(({ status, voteIsRight }) => status !== "right" && voteIsRight).length),
      mean(group.map(({ rounds }) => rounds)).toFixed(2),
      String(Math.max(...group.map(({ rounds }) => rounds))),
      mean(group.map(({ changed }) => changed)).toFixed(2),
      String(group.reduce((sum, { oscillating }) => sum + oscillating, 0)),
      ["vote", "plurality"].map((path) => group.filter((one) => one.path === path).length).join(" / "),
    ]),
  };
}

function preservationTable(courses: readonly Course[]): Table {
  const facts = pooledFacts(courses.flatMap((course) => course.facts ?? []));
  return {
    title: "Content preservation",
    note: "Sets of policies: each right policy that at least one seat named at first is a fact that could be kept, each wrong one a false statement. Hung questions keep nothing; wrong policies are means over the decided ones, of first answers and of greedy calls, too.",
    head: [
      "questions",
      "decided",
      "right policies named by somebody",
      "kept in the decision",
      "recall, %",
      "recall where decided, %",
      "wrong policies per first answer",
      "per greedy call",
      "per decision",
    ],
    rows: [
      [
        String(facts.questions),
        String(facts.decided),
        String(facts.named),
        String(facts.kept),
        percent(facts.kept / Math.max(1, facts.named)),
        percent(facts.kept / Math.max(1, facts.namedWhereDecided)),
        ...(["perFirst", "perGreedy", "perDecision"] as const).map(
          (key) => facts.falseWhereDecided?.[key].toFixed(2) ?? "none decided",
        ),
      ],
    ],
  };
}

function robustnessTable(points: readonly Robust[]): Table {
  const models = [...new Set(points.map((point) => point.models))];
  const at = (name: string, bad: number): readonly Deliberated["status"][] =>
    points.find((point) => point.models === name && point.bad === bad)?.statuses ?? [];
  const greedy = points.find((one) => one.greedy.length > 0)?.greedy ?? [];
  const greedyShare = percent(greedy.filter(Boolean).length / greedy.length);
  return {
    title: "Robustness by adversarial fraction: right / hung / wrong in %",
    note: `${SEATS} seats, confident liars who agree on the wrong answer. f = 2 is what the protocol bears; beyond it nothing is promised, and an honest seat may end without a certificate (counted as hung). In brackets the number of decisions. The last column has no seats that could be bad: how often one call of the embedded model is right on its questions.`,
    head: [
      "bad seats",
      "fraction, %",
      ...models.map((name) => `${name} (${at(name, 0).length})`),
      `embedded: ${GREEDY} (${greedy.length})`,
    ],
    rows: Array.from({ length: MOST_BAD + 1 }, (_, bad) => [
      String(bad),
      percent(bad / SEATS),
      ...models.map((name) => sharesText(at(name, bad))),
      greedyShare,
    ]),
  };
}

function robustnessChart(points: readonly Robust[]): Chart {
  const models = [...new Set(points.map((point) => point.models))];
  return {
    file: "hashgraph-robustness",
    title: `Hashgraph: right decisions by bad seats, ${SEATS} seats (f = 2)`,
    x: { title: "bad seats", values: Array.from({ length: MOST_BAD + 1 }, (_, bad) => bad) },
    y: { title: "decided right, %", most: 100 },
    lines: models.map((name) => ({
      name,
      points: points
        .filter((point) => point.models === name)
        .map(({ bad, statuses }) => [bad, (100 * statuses.filter((one) => one === "right").length) / statuses.length]),
    })),
  };
}
