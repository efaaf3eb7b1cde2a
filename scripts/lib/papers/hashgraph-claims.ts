import type { ConsensusReport } from "../../../agents/core/protocols/hashgraph/report.ts";
import type { Suite } from "../eval/question.ts";
import type { Deliberated } from "./deliberations.ts";
import { faultTolerance } from "../../../agents/core/quorum.ts";
import { mean } from "../eval/statistics.ts";
import { pooledFacts, type Facts } from "./facts.ts";
import { percent, verdictOf, type Claim } from "./study.ts";

/** What one question's deliberation shows. */
export interface Course {
  readonly suite: Suite;
  /** First answers of all seats. */
  readonly firsts: number;
  readonly firstsRight: number;
  readonly isUnanimous: boolean;
  /** Whether a plain vote of the first answers is right. */
  readonly voteIsRight: boolean;
  readonly status: Deliberated["status"];
  readonly rounds: number;
  readonly path: ConsensusReport["path"];
  /** Seats that left their class at least once. */
  readonly changed: number;
  readonly oscillating: number;
  /** Of questions for sets of policies. */
  readonly facts: Facts | null;
}

/** One point of the robustness table. */
export interface Robust {
  readonly models: string;
  readonly bad: number;
  readonly statuses: readonly Deliberated["status"][];
}

/** Of "most" in "in most cases". */
const MOST = 0.8;
/** From here on recall is called high, and unanimity a strong sign. */
const HIGH = 0.9;

/** The expectations of the paper's section 6, which has no results of its own. */
export function rescueClaims(courses: readonly Course[]): readonly Claim[] {
  const isRight = ({ status }: Course): boolean => status === "right";
  const known = courses.filter(({ firstsRight }) => firstsRight > 0);
  const rescued = courses.filter((one) => isRight(one) && !one.voteIsRight);
  const lost = courses.filter((one) => !isRight(one) && one.voteIsRight);
  const right = courses.filter(isRight).length / courses.length;
  const single = mean(courses.map(({ firsts, firstsRight }) => firstsRight / Math.max(1, firsts)));
  const vote = courses.filter(({ voteIsRight }) => voteIsRight).length / courses.length;
  const facts = pooledFacts(courses.flatMap((course) => course.facts ?? []));
  const recall = facts.kept / Math.max(1, facts.named);
  const early = courses.filter(({ rounds }) => rounds <= 2).length / courses.length;
  const unanimous = courses.filter((one) => one.isUnanimous);
  const unanimousRight = unanimous.filter(({ voteIsRight }) => voteIsRight).length;
  const oscillated = courses.filter(({ oscillating }) => oscillating > 0).length;
  const knownRight = known.filter(isRight).length;
  return [
    {
      paper: "6: ideally, whenever at least one model knows the right answer, the consensus does",
      here: `of ${known.length} questions with a right first answer ${knownRight} are decided right; ${rescued.length} of them against a plain vote (rescued)`,
      agrees: knownRight === known.length ? "yes" : rescued.length > lost.length ? "in part" : "no",
      why: "a seat revises by what others say and by its own derivation; more than 2/3 must end alike, so a split ends in a fallback or Hung, not in the minority's answer (HG18, HG19)",
    },
    {
      paper: "6: the consensus is at least as good as the best model",
      here: `decided right ${percent(right)} %, one first answer is right in ${percent(single)} %`,
      agrees: verdictOf(right >= single),
      why: "all seats hold the same model, so any of them is the best; hung questions count as not right",
    },
    {
      paper: "6: it does better than taking what most models gave at first",
      here: `decided right ${percent(right)} %, a plain vote of the same first answers ${percent(vote)} %: ${rescued.length} rescued, ${lost.length} lost`,
      agrees: verdictOf(right > vote),
      why: "a plain vote decides with any plurality; consensus pays for its agreement with hung questions, and costs twice the calls or more",
    },
    {
      paper: "6: the consensus has significantly fewer false statements, near zero",
      here: `${facts.falsePerFirst.toFixed(2)} wrong policies per first answer, ${facts.falsePerDecision.toFixed(2)} per decision`,
      agrees: facts.falsePerDecision === 0 ? "yes" : facts.falsePerDecision < facts.falsePerFirst ? "in part" : "no",
      why: "sets of policies stand for statements; nobody labels free text here",
    },
    {
      paper: "6: high recall of what was right in some answer",
      here: `${facts.kept} of ${facts.named} right policies are kept (${percent(recall)} %)`,
      agrees: verdictOf(recall >= HIGH),
      why: `from ${percent(HIGH)} % on it is called high; sets are agreed on whole, so a hung question keeps nothing`,
    },
    {
      paper: "6: one or two rounds in most cases",
      here: `two rounds suffice for ${percent(early)} % of the questions`,
      agrees: verdictOf(early >= MOST),
      why: `from ${percent(MOST)} % on it is called most; two is the least (HG18), four the most (HG20)`,
    },
    {
      paper: "6: oscillation may occur and would need a tie-breaker",
      here: `in ${oscillated} of ${courses.length} questions a seat went back and forth`,
      agrees: "yes",
      why: "the bound on rounds, the vote and the plurality end it (HG19)",
    },
    {
      paper: "6: when all models agree at once they are almost always right",
      here: `${unanimousRight} of ${unanimous.length} unanimous first rounds are right`,
      agrees: unanimous.length === 0 ? "not redone" : verdictOf(unanimousRight / unanimous.length >= HIGH),
      why: `from ${percent(HIGH)} % on it is called almost always; one model in all seats errs alike more often than five different ones would`,
    },
    {
      paper: "6: human raters on detail and on fidelity to the instructions; five proprietary models",
      here: "nothing",
      agrees: "not redone",
      why: "there are no raters, and the models are not to be had offline",
    },
  ];
}

/** Up to 1/3 adversaries are tolerated (Baird 2016), and the threshold shows in practice. */
export function robustnessClaim(points: readonly Robust[], seats: number): Claim {
  const borne = faultTolerance(seats);
  const perfect = points.filter(({ models }) => models === points[0]?.models);
  const rightOf = ({ statuses }: Robust): number => statuses.filter((one) => one === "right").length / statuses.length;
  const within = perfect.filter(({ bad }) => bad <= borne).every((point) => rightOf(point) === 1);
  const beyond = perfect.find((point) => point.bad > borne && rightOf(point) < 1);
  const wrong = perfect.find(({ statuses }) => statuses.includes("wrong"));
  return {
    paper: "6: up to 1/3 adversaries are tolerated; beyond, the answer may be wrong",
    here: `with honest models that are never wrong: ${within ? "always right" : "not always right"} up to ${borne} of ${seats} bad seats, first not always right at ${beyond?.bad ?? "none"}, first wrong at ${wrong?.bad ?? "none"}`,
    agrees: verdictOf(within && beyond !== undefined),
    why: "models that err use up the same margin: see the other columns",
  };
}
