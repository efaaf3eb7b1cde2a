import type { ConsensusReport } from "../references/hashgraph-report.ts";
import type { Suite } from "../eval/suites.ts";
import type { Deliberated } from "./deliberations.ts";
import { faultTolerance } from "../../agents/core/quorum.ts";
import { mean } from "simple-statistics";
import { pooledFacts, type Facts, type PooledFacts } from "./facts.ts";
import { percent, verdictOf, type Claim } from "./study.ts";

/** Figures of one question's deliberation. */
export interface Course {
  readonly suite: Suite;
  /** First answers of all seats. */
  readonly firsts: number;
  readonly firstsRight: number;
  readonly isUnanimous: boolean;
  /** True if a plain vote of the first answers is right. */
  readonly voteIsRight: boolean;
  /** True if one greedy call of the same model is right. */
  readonly greedyIsRight: boolean;
  readonly status: Deliberated["status"];
  readonly rounds: number;
  readonly path: ConsensusReport["path"];
  /** Seats that left their class at least once. */
  readonly changed: number;
  readonly oscillating: number;
  /** Policies kept and lost; null for questions that do not ask for policies. */
  readonly facts: Facts | null;
}

/** One point of the robustness table. */
export interface Robust {
  readonly models: string;
  readonly bad: number;
  readonly statuses: readonly Deliberated["status"][];
  /** Results of one greedy call of the same model, question by question; empty for simulated models. */
  readonly greedy: readonly boolean[];
}

/** Share that "in most cases" means. */
const MOST = 0.8;
/** Share from which recall is called high, and unanimity a strong sign. */
const HIGH = 0.9;
/** Most wrong policies per decision that are called near zero. */
const NEAR_ZERO = 0.05;

/** Judges the expectations of the paper's section 6, which has no results of its own. */
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
  const greedy = courses.filter(({ greedyIsRight }) => greedyIsRight).length / courses.length;
  const early = courses.filter(({ rounds }) => rounds <= 2).length / courses.length;
  const unanimous = courses.filter((one) => one.isUnanimous);
  const unanimousRight = unanimous.filter(({ voteIsRight }) => voteIsRight).length;
  const knownRight = known.filter(isRight).length;
  return [
    {
      paper: "6: ideally, whenever at least one model knows the right answer, the consensus does",
      here: `of ${known.length} questions with a right first answer ${knownRight} are decided right; ${rescued.length} of them against a plain vote (rescued)`,
      agrees:
        known.length === 0
          ? "not redone"
          : knownRight === known.length
            ? "yes"
            : rescued.length > lost.length
              ? "in part"
              : "no",
      why: "a seat revises by what others say and by its own derivation; more than 2/3 must end alike, so a split ends in a fallback or Hung, not in the minority's answer (HG18, HG19)",
    },
    {
      paper: "6: the consensus is at least as good as the best model",
      here: `decided right ${percent(right)} %; of the same questions one first answer is right in ${percent(single)} %, one greedy call of the same model in ${percent(greedy)} %`,
      agrees: verdictOf(right >= Math.max(single, greedy)),
      why: "all seats hold the same model, and it is best at temperature 0 or as the seats sample it, whichever is more often right; hung questions count as not right",
    },
    {
      paper: "6: it does better than taking what most models gave at first",
      here: `decided right ${percent(right)} %, a plain vote of the same first answers ${percent(vote)} %: ${rescued.length} rescued, ${lost.length} lost`,
      agrees: verdictOf(right > vote),
      why: "a plain vote decides with any plurality; consensus pays for its agreement with hung questions, and costs twice the calls or more",
    },
    falseStatementsClaim(facts),
    {
      paper: "6: high recall of what was right in some answer",
      here: `${facts.kept} of ${facts.named} right policies are kept (${percent(recall)} %)`,
      agrees: facts.named === 0 ? "not redone" : verdictOf(recall >= HIGH),
      why: `from ${percent(HIGH)} % on it is called high; sets are agreed on whole, so a hung question keeps nothing`,
    },
    {
      paper: "6: one or two rounds in most cases",
      here: `two rounds suffice for ${percent(early)} % of the questions`,
      agrees: verdictOf(early >= MOST),
      why: `from ${percent(MOST)} % on it is called most; two is the least (HG18), four the most (HG20)`,
    },
    oscillationClaim(courses),
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

/** Judges the decided questions only, since a hung one has no statements. */
function falseStatementsClaim({ questions, decided, falseWhereDecided: wrong }: PooledFacts): Claim {
  const verdict = (): Claim["agrees"] => {
    if (wrong === null || Math.max(wrong.perFirst, wrong.perDecision) === 0) return "not redone";
    if (wrong.perDecision >= wrong.perFirst) return "no";
    return wrong.perDecision <= NEAR_ZERO && wrong.perDecision <= wrong.perGreedy ? "yes" : "in part";
  };
  return {
    paper: "6: the consensus has significantly fewer false statements, near zero",
    here:
      wrong === null
        ? `none of ${questions} questions is decided`
        : `${wrong.perDecision.toFixed(2)} wrong policies per decision, on the same ${decided} of ${questions} questions ${wrong.perFirst.toFixed(2)} per first answer and ${wrong.perGreedy.toFixed(2)} per greedy call`,
    agrees: verdict(),
    why: `up to ${NEAR_ZERO} is called near zero; sets of policies stand for statements, since nobody labels free text here; the ${questions - decided} hung questions have no decision to count`,
  };
}

/** Judges that oscillation occurs, and that a tie-breaker is needed then. */
function oscillationClaim(courses: readonly Course[]): Claim {
  const oscillated = courses.filter(({ oscillating }) => oscillating > 0);
  const broken = oscillated.filter(({ path }) => path !== "agreement").length;
  return {
    paper: "6: oscillation may occur and would need a tie-breaker",
    here: `in ${oscillated.length} of ${courses.length} questions a seat went back and forth; ${broken} of them ended without an agreement of more than 2/3`,
    agrees: oscillated.length === 0 ? "no" : broken > 0 ? "yes" : "in part",
    why: "where they do not agree by themselves the bound on rounds, the vote and the plurality end it, or it is Hung (HG19)",
  };
}

/** Judges that up to 1/3 adversaries are tolerated (Baird 2016), and that the threshold shows in practice. */
export function robustnessClaim(points: readonly Robust[], seats: number): Claim {
  const borne = faultTolerance(seats);
  const perfect = points.filter(({ models }) => models === points[0]?.models);
  const rightOf = ({ statuses }: Robust): number => statuses.filter((one) => one === "right").length / statuses.length;
  const within = perfect.filter(({ bad }) => bad <= borne).every((point) => rightOf(point) === 1);
  const beyond = perfect.find((point) => point.bad > borne && rightOf(point) < 1);
  const wrong = perfect.find(({ statuses }) => statuses.includes("wrong"));
  const agrees = !within || beyond === undefined ? "no" : wrong === undefined ? "in part" : "yes";
  return {
    paper: "6: up to 1/3 adversaries are tolerated; beyond, the answer may be wrong",
    here: `with honest models that are never wrong: ${within ? "always right" : "not always right"} up to ${borne} of ${seats} bad seats, first not always right at ${beyond?.bad ?? "none"}, first wrong at ${wrong?.bad ?? "none"}`,
    agrees,
    why: "models that err use up the same margin: see the other columns",
  };
}
