import { argumentOf, type Answer, type Argument, type Remark } from "../../node/audit/argument.ts";
import type { Deliberation } from "../../node/audit/deliberation.ts";
import type { SeatIndex } from "../../core/types.ts";
import { percent, printable } from "../shared/output.ts";
import { linesOf, numbers, titleOf } from "./lines.ts";

/** TR9: the argument of a deliberation in words, as plain text that is safe to print. */
export interface Story {
  /** A row for each seat: seat, agent, what it answered one after another, its last confidence, and why. */
  readonly answers: readonly (readonly string[])[];
  /** What seats said of each other's answers. */
  readonly objections: readonly string[];
  /** Who changed the answer. */
  readonly changes: readonly string[];
  /** Messages that one seat signed for one place with different contents. */
  readonly equivocations: readonly Equivocation[];
}

export interface Equivocation {
  readonly title: string;
  readonly sides: readonly Side[];
}

/** What one of the messages says, line by line: first what not all of them say. */
interface Side {
  readonly title: string;
  readonly differing: readonly string[];
  readonly same: readonly string[];
}

export const ANSWERS_HEAD = ["seat", "agent", "answered", "sure", "because"] as const;

/** Characters of a proof or an objection that a line of the story has room for; `--messages` shows all. */
const SHOWN = 160;

export function storyOf(deliberation: Deliberation): Story {
  const argument = argumentOf(deliberation);
  const { committee } = deliberation.attempt;
  return {
    answers: committee.map(({ agentId }, seat) => [
      String(seat),
      `#${agentId}`,
      ...answered(argument, seat as SeatIndex),
    ]),
    objections: objectionsIn(argument),
    changes: argument.changes.map(({ from, to }) => {
      const when = from.round === to.round ? `as ${printable(to.phase)}` : `in round ${to.round}`;
      return `seat ${from.seat} came from "${shown(from.text)}" to "${shown(to.text)}" ${when}`;
    }),
    equivocations: argument.equivocations.map((indices) => equivocationOf(deliberation, indices)),
  };
}

function answered(
  { answers, silences }: Argument,
  seat: SeatIndex,
): readonly [answered: string, sure: string, because: string] {
  const own = answers.filter((answer) => answer.seat === seat);
  const last = own.at(-1);
  if (last === undefined) {
    const silence = silences.findLast((one) => one.seat === seat);
    // A seat that its protocol asked for no answer has neither.
    return silence === undefined ? ["", "", ""] : ["nothing", "", shown(silence.why)];
  }
  const texts = own.map(({ text }) => `"${shown(text)}"`).filter((text, at, all) => text !== all[at - 1]);
  const quoted = last.quotations.map(({ source, words }) => ` [${source + 1}] "${shown(words)}"`);
  return [texts.join(", then "), percent(last.confidence), `${shown(last.proof)}${quoted.join("")}`];
}

/** Objections word for word, each once, then how many accepted what. */
function objectionsIn({ remarks }: Argument): readonly string[] {
  const spoken = remarks.filter(({ verdict }) => verdict !== "accept");
  const once = [...Map.groupBy(spoken, (remark) => `${remark.seat} ${nameOf(remark.about)} ${remark.text}`).values()];
  const accepted = Map.groupBy(
    remarks.filter(({ verdict }) => verdict === "accept"),
    ({ about }) => nameOf(about),
  );
  return [
    ...once.flatMap((same) => same.slice(-1)).map(objection),
    ...[...accepted].map(([name, accepts]) => `${name}: accepted by ${seats(accepts)}`),
  ];
}

function objection(remark: Remark): string {
  const { seat, about, verdict, text } = remark;
  const does = verdict === "reject" ? "rejects" : "criticises";
  const words = text === "" ? "" : `: "${shown(text)}"`;
  return `seat ${seat} ${does} ${nameOf(about)}${words}${judgedOf(remark)}`;
}

function judgedOf({ judged }: Remark): string {
  const by = (verdict: string): string => seats(judged.filter((one) => one.verdict === verdict));
  const said = [
    ["uphold", "is right"],
    ["refute", "is wrong"],
    ["abstain", "cannot be told"],
  ].flatMap(([verdict, words]) => (by(verdict as string) === "" ? [] : [`${words}, judges ${by(verdict as string)}`]));
  return said.length === 0 ? "" : ` (${said.join("; ")})`;
}

function seats(said: readonly { readonly seat: SeatIndex }[]): string {
  const own = [...new Set(said.map(({ seat }) => seat))].toSorted((a, b) => a - b);
  if (own.length === 0) return "";
  return `seat${own.length === 1 ? "" : "s"} ${own.join(", ")}`;
}

function nameOf(about: Answer | null): string {
  return about === null ? "an answer that is not in the transcript" : `"${shown(about.text)}" of seat ${about.seat}`;
}

function equivocationOf(deliberation: Deliberation, indices: readonly number[]): Equivocation {
  const [first] = indices.map((index) => deliberation.messages[index]);
  const name = printable(first?.rendering?.name ?? "message");
  const parts = indices.map((index) => partsOf(deliberation, index));
  const isSaidByAll = (part: string): boolean => parts.every((own) => own.includes(part));
  return {
    title: `seat ${first?.header.seat} signed ${indices.length} different messages as its ${name} of round ${first?.header.round}: ${numbers(indices)}`,
    sides: indices.map((index, at) => {
      const own = parts[at] ?? [];
      const linesIn = (said: readonly string[]): readonly string[] => said.flatMap((part) => part.split("\n"));
      return {
        title: titleOf(deliberation, index),
        differing: linesIn(own.filter((part) => !isSaidByAll(part))),
        same: linesIn(own.filter(isSaidByAll)),
      };
    }),
  };
}

/** What a message says: each part is a line with the deeper lines that belong to it. */
function partsOf(deliberation: Deliberation, index: number): readonly string[] {
  const spoken = deliberation.messages[index];
  if (spoken === undefined) return [];
  const parts: string[] = [];
  for (const { depth, text, isMark } of linesOf(deliberation, spoken)) {
    if (isMark) continue;
    if (depth > 0) parts.push(`${parts.pop() ?? ""}\n${"  ".repeat(depth)}${text}`);
    else parts.push(text);
  }
  // The messages may differ in nothing else: the seat told some that it had heard another set of messages.
  return [...parts, `says that it held: ${spoken.parents.length === 0 ? "nothing" : numbers(spoken.parents)}`];
}

/** A stranger's text as one line of bounded length. */
function shown(text: string): string {
  const characters = Array.from(text);
  return printable(characters.length > SHOWN ? `${characters.slice(0, SHOWN).join("")}…` : text);
}
