import { createUnanimous } from "../../agents/core/protocols/unanimous/index.ts";
import { reasonsStepByStep } from "../../agents/core/protocols/unanimous/config.ts";
import { revealForm } from "../../agents/core/phases/proposals.ts";
import type { Protocol } from "../../agents/core/protocol.ts";
import { addMessage, emptyTally, type Tally } from "../../agents/core/seat/tally.ts";
import { buildTranscript } from "../../agents/core/encoding/transcript.ts";
import type { Attempt, Message, Ppm, SeatIndex } from "../../agents/core/types.ts";
import { agrees } from "../../sim/plan.ts";
import type { Panel } from "../eval/panel.ts";
import { questionsOf } from "../eval/question.ts";
import type { Suite } from "../eval/suites.ts";
import { mean } from "simple-statistics";
import { shareOf } from "../eval/statistics.ts";
import { attemptFor } from "../eval/attempt.ts";
import { deliberateOn, revealsOf, type Deliberated } from "./deliberations.ts";
import { CUT_OFF, accuracyAt, comparisonsOf, unanimousClaims, type Block, type Turns } from "./unanimous-claims.ts";
import { GREEDY, greedyAnswer } from "./greedy.ts";
import { greedyText, percent, sharesText, sized, type Chart, type Setting, type Study, type Table } from "./study.ts";

const RATIOS = [0, 0.25, 0.5, 0.75, 1] as const;
const DEFAULT_RATIO = 0.75;
const SEATS = 4;
const SIZES = { quick: [4, 7], full: [4, 7, 10] };
const QUESTIONS = { quick: 3, full: 12 };
const UTTERANCES = [0, 1, 5, 10, 20, 30] as const;

export const unanimousStudy: Study = {
  id: "unanimous",
  paper: "Pokharel et al., Deliberation-Based Unanimous Consensus of LLM Agents on a Blockchain",
  async run(setting) {
    const { isQuick } = setting;
    const ratios: Turns[] = [];
    for (const ratio of RATIOS)
      ratios.push(...(await turnsOf(setting, "wason", SEATS, ratio)).map(({ turns }) => turns));
    const grown = [];
    for (const seats of isQuick ? SIZES.quick : SIZES.full)
      grown.push(...(await turnsOf(setting, "wason", seats, DEFAULT_RATIO)));
    const sums = await turnsOf(setting, "arithmetic", SEATS, DEFAULT_RATIO);
    const all = [...grown, ...sums];
    const blocks = blocksOf(all.map(({ deliberated }) => deliberated));
    const bySize = grown.map(({ turns }) => turns);
    const arithmetic = sums.map(({ turns }) => turns);
    return {
      claims: unanimousClaims({ ratios, bySize, arithmetic, blocks }),
      comparisons: comparisonsOf({ ratios, bySize, arithmetic }),
      tables: [ratioTable(ratios), sizeTable(bySize), arithmeticTable(arithmetic), blockTable(blocks)],
      charts: [ratioChart(ratios), accuracyChart(bySize)],
    };
  },
};

async function turnsOf(
  setting: Setting,
  suite: Suite,
  seats: number,
  ratio: number,
): Promise<readonly { readonly turns: Turns; readonly deliberated: Deliberated }[]> {
  const { seed, book, tell } = setting;
  const promptRatio = (ratio * 1_000_000) as Ppm;
  const protocol = createUnanimous({ promptRatio, turns: CUT_OFF }) as Protocol;
  const answers = await book();
  const done = [];
  for (const question of questionsOf(suite, sized(setting, QUESTIONS), seed)) {
    const attempt = attemptFor(question, protocol.code, seats, "normal");
    const around = (panel: Panel): Panel => withDirectSeats(panel, attempt, promptRatio);
    const deliberated = await deliberateOn(question, { book: answers, protocol, seats, seed, around });
    const { isRight } = await greedyAnswer(answers, question);
    done.push({ turns: turnsIn(deliberated, { seats, ratio, greedyIsRight: isRight }), deliberated });
  }
  tell(`${suite}, ${seats} seats, prompt ratio ${ratio}: turns ${done.map(({ turns }) => turns.turns).join(" ")}`);
  return done;
}

/**
 * The embedded model reads no instructions: a seat that is not told to think step by step (UN3) is asked for its
 * first answer alone, without the derivation before it.
 */
export function withDirectSeats(panel: Panel, attempt: Attempt, promptRatio: Ppm): Panel {
  return {
    cost: panel.cost,
    async ask(lane, prompt) {
      const isFirst = prompt.user.startsWith("task: propose\n");
      if (!isFirst || reasonsStepByStep(attempt, lane as SeatIndex, promptRatio)) return await panel.ask(lane, prompt);
      const properties = prompt.schema.properties.filter(({ name }) => name !== "proof");
      const answer = await panel.ask(lane, { ...prompt, schema: { properties } });
      return answer.kind === "answered" ? { ...answer, fields: { ...answer.fields, proof: "Said at once." } } : answer;
    },
  };
}

export function turnsIn(
  deliberated: Deliberated,
  { seats, ratio, greedyIsRight }: Pick<Turns, "seats" | "ratio" | "greedyIsRight">,
): Turns {
  const { question, status, messages, trace } = deliberated;
  const { terms } = trace.attempt.request;
  const isDecided = status === "right" || status === "wrong";
  const last = Math.max(0, ...messages.map(({ header }) => header.round));
  const accuracy = Array.from({ length: last + 1 }, (_, round) => {
    const said = revealsOf(deliberated).filter((one) => one.round === round);
    return said.filter(({ answer }) => agrees(terms, answer, question.truth)).length / seats;
  });
  return {
    seats,
    ratio,
    suite: question.suite,
    status,
    greedyIsRight,
    turns: isDecided ? last : CUT_OFF + 1,
    accuracy,
  };
}

/** Returns the utterances of the longest deliberation, as a transcript holds them. */
export function blocksOf(deliberations: readonly Deliberated[]): readonly Block[] {
  const utterancesIn = ({ messages }: Deliberated): readonly Message[] =>
    messages.filter(({ header }) => header.phase === revealForm.phase);
  const longest = deliberations.toSorted((a, b) => utterancesIn(b).length - utterancesIn(a).length)[0] as Deliberated;
  const utterances = utterancesIn(longest);
  const { attempt, protocol } = longest.trace;
  return [...new Set(UTTERANCES.map((count) => Math.min(count, utterances.length)))].map((count) => {
    const tally = utterances.slice(0, count).reduce<Tally>((held, message) => {
      const added = addMessage(held, message);
      return added.kind === "added" ? added.tally : held;
    }, emptyTally);
    const { rootBlock, blocks } = buildTranscript(attempt, protocol, tally, {
      round: CUT_OFF + 1,
      phase: revealForm.phase,
    });
    const bytes = blocks.reduce((sum, block) => sum + block.length, rootBlock.length);
    return { utterances: count, bytes, rootBytes: rootBlock.length };
  });
}

function ratioTable(all: readonly Turns[]): Table {
  return {
    title: "Table III: reflection turns by prompt ratio",
    note: `Wason questions, ${SEATS} seats, cut-off ${CUT_OFF}; the same questions in every row. A turn more than the cut-off stands for Hung, which the paper writes as >10; where the paper writes 0 its agents agreed on a wrong answer.`,
    head: [
      "prompt ratio",
      "turns of each question",
      "mean turns",
      "right / hung / wrong, %",
      `${GREEDY}, %`,
      "the paper's turns",
    ],
    rows: RATIOS.map((ratio, index) => {
      const rows = all.filter((one) => one.ratio === ratio);
      const turns = rows.map((one) => one.turns);
      return [
        String(ratio),
        turns.map((count) => (count > CUT_OFF ? `>${CUT_OFF}` : String(count))).join(" "),
        mean(turns).toFixed(2),
        sharesText(rows.map(({ status }) => status)),
        greedyText(rows),
        ["0 4 >10 1 3", ">10 1 4 3 0", "1 1 1 3 2", "2 1 1 1 1", "1 1 1 1 1"][index] as string,
      ];
    }),
  };
}

function sizeTable(all: readonly Turns[]): Table {
  const sizes = [...new Set(all.map(({ seats }) => seats))];
  return {
    title: "Fig. 8 and 9: turns, and agents that are right at the start of each turn, by committee size",
    note: `Wason questions, prompt ratio ${DEFAULT_RATIO}. Who has decided keeps its answers. The paper's Fig. 8 has seconds for three agents; a turn is one model call more on the critical path.`,
    head: [
      "agents",
      "questions",
      "mean turns",
      "decided by turn 0 / 1 / 2 / 3, %",
      "right at the start of turn 1 / 2 / 3, at the end, %",
      "right / hung / wrong, %",
      `${GREEDY}, %`,
    ],
    rows: sizes.map((seats) => {
      const rows = all.filter((one) => one.seats === seats);
      return [
        String(seats),
        String(rows.length),
        mean(rows.map(({ turns }) => turns)).toFixed(2),
        [0, 1, 2, 3].map((turn) => percent(rows.filter(({ turns }) => turns <= turn).length / rows.length)).join(" / "),
        [0, 1, 2, CUT_OFF].map((turn) => percent(accuracyAt(rows, turn))).join(" / "),
        sharesText(rows.map(({ status }) => status)),
        greedyText(rows),
      ];
    }),
  };
}

function arithmeticTable(rows: readonly Turns[]): Table {
  const { share, interval } = shareOf(rows.filter(({ status }) => status === "right").length, rows.length);
  return {
    title: "XII-E: arithmetic",
    note: `${rows.length} sums of two numbers, ${SEATS} seats, prompt ratio ${DEFAULT_RATIO}.`,
    head: ["the paper", "here, %", "95 %", "right / hung / wrong, %", `${GREEDY}, %`, "mean turns"],
    rows: [
      [
        "77.4",
        percent(share),
        interval.map(percent).join(" to "),
        sharesText(rows.map(({ status }) => status)),
        greedyText(rows),
        mean(rows.map(({ turns }) => turns)).toFixed(2),
      ],
    ],
  };
}

function blockTable(blocks: readonly Block[]): Table {
  const paper: Readonly<Record<number, string>> = {
    1: "247 (8)",
    5: "695 (8)",
    10: "1255 (7)",
    20: "2375 (7)",
    30: "3495 (7)",
  };
  return {
    title: "Table II: block size by utterances",
    note: "Ours is a transcript: a root and one signed block per utterance, of the longest deliberation above, without its commitments and closings. Building it is one SHA-256 per block; time is not measured.",
    head: ["utterances", "bytes", "of them the root", "blocks hashed", "the paper: bytes (ms)"],
    rows: blocks.map(({ utterances, bytes, rootBytes }) =>
      [utterances, bytes, rootBytes, utterances + 1, paper[utterances] ?? ""].map(String),
    ),
  };
}

function ratioChart(all: readonly Turns[]): Chart {
  const meanAt = (ratio: number): number => mean(all.filter((one) => one.ratio === ratio).map(({ turns }) => turns));
  return {
    file: "unanimous-turns",
    title: `Unanimous: turns to converge by prompt ratio (Hung counts as ${CUT_OFF + 1})`,
    x: { title: "share of agents that reason step by step", values: RATIOS },
    y: { title: "mean reflection turns", most: CUT_OFF + 1 },
    lines: [
      { name: "here", points: RATIOS.map((ratio) => [ratio, meanAt(ratio)]) },
      // Table III; 0 counts as 0, although it means a wrong agreement.
      {
        name: "the paper",
        points: [
          [0, 3.8],
          [0.25, 3.8],
          [0.5, 1.6],
          [0.75, 1.2],
          [1, 1],
        ],
      },
    ],
  };
}

function accuracyChart(all: readonly Turns[]): Chart {
  const turns = [0, 1, 2, 3, 4, 5];
  return {
    file: "unanimous-accuracy",
    title: "Unanimous: agents that are right, by turn",
    x: { title: "after so many reflection turns", values: turns },
    y: { title: "right, %", most: 100 },
    lines: [...new Set(all.map(({ seats }) => seats))].map((seats) => ({
      name: `${seats} agents`,
      points: turns.map((turn) => [
        turn,
        100 *
          accuracyAt(
            all.filter((one) => one.seats === seats),
            turn,
          ),
      ]),
    })),
  };
}
