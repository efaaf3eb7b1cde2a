import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { backingOf } from "../../agents/core/phases/backing.ts";
import { protocols } from "../../agents/core/protocols/index.ts";
import type { Ppm, Skill } from "../../agents/core/types.ts";
import type { AnswerBook } from "../eval/answer-book.ts";
import { attemptFor } from "../eval/attempt.ts";
import { certifiedIn, deliberation, planFor, type Committee } from "../eval/deliberate.ts";
import { markOf } from "../eval/mark.ts";
import { createPanel } from "../eval/panel.ts";
import { questionsOf } from "../eval/question.ts";
import { HARD_SUITES, TAUGHT_SUITES } from "../eval/suites.ts";

/** Those whose confidence follows from their backing (CF9). */
export const CALIBRATED = ["mbft", "mbft-bayesian", "wbft", "escalating", "clo"] as const;
/** Hard and taught questions in turn; those of `lookup` are those of `policy`. */
const SUITES = HARD_SUITES.flatMap((hard, index) => {
  const taught = TAUGHT_SUITES.filter((suite) => suite !== "lookup")[index];
  return taught === undefined ? [hard] : [hard, taught];
});
/** What the models of the repository have on these questions by SK6, in the order of their seats. */
const SKILLS: readonly Skill[] = [3, 2, 2, 2];
const COLUMNS = "seed,question,suite,protocol,seats,backing,right";

/** A decision of honest seats on a question with a known answer. */
export interface Recorded {
  /** It draws the questions. */
  readonly seed: number;
  /** Number of the question among those of the seed. */
  readonly question: number;
  readonly suite: string;
  readonly protocol: string;
  readonly seats: number;
  /** Null: hung. */
  readonly backing: Ppm | null;
  readonly right: boolean;
}

export function readDecisions(path: string): readonly Recorded[] {
  if (!existsSync(path)) return [];
  const [head, ...lines] = readFileSync(path, "utf8").trimEnd().split("\n");
  if (head !== COLUMNS) throw new Error(`Read ${path}: its first line is not ${COLUMNS}`);
  return lines.map((line) => {
    const [seed, question, suite = "", protocol = "", seats, backing, right] = line.split(",");
    return {
      seed: Number(seed),
      question: Number(question),
      suite,
      protocol,
      seats: Number(seats),
      backing: backing === "" ? null : (Number(backing) as Ppm),
      right: right === "1",
    };
  });
}

/**
 * Lets every calibrated protocol decide `count` questions of a seed in committees of one size, and adds the decisions to the file; those
 * that it holds are not made again. One model checks an answer once, whoever asks it.
 */
export async function recordDecisions(
  book: AnswerBook,
  { path, seed, count, seats }: Readonly<Record<"seed" | "count" | "seats", number>> & { readonly path: string },
  progress: (done: number) => void,
): Promise<void> {
  const known = new Set(readDecisions(path).map(keyOf));
  if (!existsSync(path)) writeFileSync(path, `${COLUMNS}\n`);
  const bySuite = SUITES.map((suite) => questionsOf(suite, Math.ceil(count / SUITES.length), seed));
  const models = book.variants.length;
  for (let question = 0; question < count; question++) {
    const posed = bySuite[question % SUITES.length]?.[Math.floor(question / SUITES.length)];
    if (posed === undefined) continue;
    for (const protocol of protocols.filter(({ id }) => CALIBRATED.some((one) => one === id))) {
      const place = { seed, question, suite: posed.suite, protocol: protocol.id, seats };
      if (known.has(keyOf(place)) || protocol.refuseRequest(attemptFor(posed, protocol.code, seats, "normal")) !== null)
        continue;
      const panel = createPanel({ book: frugal(book), question: posed, seed, variantOf: (lane) => lane % models });
      const skills = Array.from({ length: seats }, (_, seat) => SKILLS[seat % models] ?? 2);
      const committee: Committee = { seats, assurance: "normal", bad: new Map(), misled: new Set(), skills };
      const trace = await deliberation(planFor(protocol, posed, committee, seed), panel);
      const { status, answer, shares } = certifiedIn(trace);
      const right = status === "decided" && markOf(trace.attempt.request, posed.truth, answer).status === "right";
      const backing = status === "decided" ? backingOf(shares) : "";
      appendFileSync(path, `${Object.values(place).join(",")},${backing},${Number(right)}\n`);
    }
    progress(question + 1);
  }
}

function keyOf({
  seed,
  question,
  protocol,
  seats,
}: Pick<Recorded, "seed" | "question" | "protocol" | "seats">): string {
  return `${seed} ${question} ${protocol} ${seats}`;
}

/** The book, of which all seats with one model get the same answer to the same check. */
function frugal(book: AnswerBook): AnswerBook {
  return {
    ...book,
    ask: async (variant, request) =>
      await book.ask(variant, request.confidenceOf === "answer" ? request : { ...request, seed: 0 }),
  };
}
