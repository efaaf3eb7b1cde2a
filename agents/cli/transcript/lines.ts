import { bytesToHex } from "../../core/encoding/bytes.ts";
import { canonicalAnswer } from "../../core/request/answer.ts";
import { ABSENT, type Digest, type Value } from "../../core/types.ts";
import { argumentOf, conflictsOf, type Answer } from "../../node/audit/argument.ts";
import type { Deliberation, Spoken } from "../../node/audit/deliberation.ts";
import { verdictOf } from "../../node/audit/report.ts";
import { answerOf } from "../shared/decision-words.ts";
import { lessonOf } from "../shared/skill.ts";
import { percent, printable } from "../shared/output.ts";

/** A deliberation's result and its messages, as lines of plain text that is safe to print. */

/** A line of a message's content; deeper lines belong to the one before. */
export interface Line {
  readonly depth: number;
  readonly text: string;
  /** Indices of the messages that the line mentions. */
  readonly about: readonly number[];
  /** True for what the seat does not say itself: that it signed twice. */
  readonly isMark?: true;
}

/** Bytes shown of a value that is neither text nor a message. */
const SHOWN_BYTES = 8;

export function titleOf({ messages }: Deliberation, index: number): string {
  const { header, rendering } = messages[index] as Spoken;
  return `[${index + 1}] seat ${header.seat}, ${rendering?.name ?? "refused"} of round ${header.round}`;
}

/**
 * Returns a message's content, field by field: texts are quoted, digests of messages become the messages' numbers, and outcomes the
 * answers that some seat gave.
 */
export function linesOf(deliberation: Deliberation, spoken: Spoken): readonly Line[] {
  const { rendering } = spoken;
  const others = conflictsOf(deliberation.messages, spoken);
  const said =
    rendering === null
      ? [{ depth: 0, text: "refused by the protocol", about: [] }]
      : Object.entries(rendering.body).flatMap(([name, value]) => fieldLines(deliberation, name, value, 0));
  if (others.length === 0) return said;
  return [
    {
      depth: 0,
      text: `EQUIVOCATION: its seat signed ${numbers(others)}, too, in the same place`,
      about: others,
      isMark: true,
    },
    ...said,
  ];
}

/** Writes the numbers of messages, counted from 1, such as "1-4, 7". */
export function numbers(indices: readonly number[]): string {
  const ranges: [from: number, to: number][] = [];
  for (const index of indices.toSorted((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === index - 1) last[1] = index;
    else ranges.push([index, index]);
  }
  return ranges.map(([from, to]) => (from === to ? `${from + 1}` : `${from + 1}-${to + 1}`)).join(", ");
}

function fieldLines(deliberation: Deliberation, name: string, value: Value, depth: number): readonly Line[] {
  const label = `${printable(name)}:`;
  if (isList(value)) {
    if (value.length === 0) return [{ depth, text: `${label} none`, about: [] }];
    const entries = value.flatMap((entry, at) => fieldLines(deliberation, String(at + 1), entry, depth + 1));
    return [{ depth, text: label, about: [] }, ...entries];
  }
  if (isMap(value)) {
    const entries = Object.entries(value).flatMap(([key, item]) => fieldLines(deliberation, key, item, depth + 1));
    return [{ depth, text: label, about: [] }, ...entries];
  }
  const { text, about } = leafOf(deliberation, value);
  return [{ depth, text: `${label} ${text}`, about }];
}

function leafOf(
  deliberation: Deliberation,
  value: Exclude<Value, readonly Value[] | { readonly [key: string]: Value }>,
): Omit<Line, "depth"> {
  if (typeof value === "string") return { text: `"${printable(value)}"`, about: [] };
  if (!(value instanceof Uint8Array)) return { text: value === null ? "none" : String(value), about: [] };
  const hex = bytesToHex(value);
  const about = deliberation.byPayload.get(hex as Digest) ?? [];
  const [first] = about;
  if (first !== undefined) {
    const more = about.length > 1 ? ` and ${about.length - 1} that say the same` : "";
    return { text: `${titleOf(deliberation, first)}${more}`, about };
  }
  const answers = answersByOutcome(deliberation).get(hex as Digest);
  if (answers !== undefined)
    return {
      text: `the answer "${printable((answers[0] as Answer).text)}"`,
      about: answers.map(({ message }) => message),
    };
  const shown = bytesToHex(value.subarray(0, SHOWN_BYTES));
  return { text: value.length > SHOWN_BYTES ? `${shown}... (${value.length} bytes)` : hex, about: [] };
}

const byOutcome = new WeakMap<Deliberation, ReadonlyMap<Digest, readonly Answer[]>>();

function answersByOutcome(deliberation: Deliberation): ReadonlyMap<Digest, readonly Answer[]> {
  const known = byOutcome.get(deliberation);
  if (known !== undefined) return known;
  const outcomes = argumentOf(deliberation).answers.flatMap((answer) => {
    const canonical = canonicalAnswer(deliberation.attempt.request, answer.text);
    return canonical === null ? [] : [{ answer, outcome: canonical.outcome }];
  });
  const groups = Map.groupBy(outcomes, ({ outcome }) => outcome);
  const found = new Map([...groups].map(([outcome, same]) => [outcome, same.map(({ answer }) => answer)]));
  byOutcome.set(deliberation, found);
  return found;
}

function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value);
}

function isMap(value: Value): value is { readonly [key: string]: Value } {
  return value !== null && typeof value === "object" && !(value instanceof Uint8Array) && !Array.isArray(value);
}

export interface Fact {
  readonly name: string;
  readonly text: string;
}

/** Returns what was asked and how it ended. */
export function factsOf(deliberation: Deliberation): readonly Fact[] {
  const { report, attempt, protocol, reasons } = deliberation;
  return [
    { name: "question", text: `"${printable(attempt.request.question)}"` },
    ...endOf(report),
    ...reasons().map((text) => ({ name: "last round", text: printable(text) })),
    { name: "protocol", text: protocol.title },
    { name: "audit", text: auditOf(report) },
  ];
}

/** Returns who signed the decision, and what each seat got for it. */
export function sharesOf({ report: { decision, checked } }: Deliberation): readonly Fact[] {
  if (decision === null) return [];
  const { shares, reputationChanges, answered } = decision;
  const steps = reputationChanges.map(({ seat, steps: by }) => `seat ${seat} ${by > 0 ? "+" : ""}${by}`);
  return [
    {
      name: "signed by",
      text:
        checked.certificateSignatures === null
          ? "not readable: committed through another contract"
          : `${checked.certificateSignatures} of ${shares.length} seats`,
    },
    {
      name: "shares",
      text: shares.map((share, seat) => `seat ${seat} ${share === ABSENT ? "absent" : share}`).join(", "),
    },
    { name: "reputation", text: steps.length === 0 ? "unchanged" : steps.join(", ") },
    {
      name: "skill",
      text:
        answered.length === 0
          ? "unchanged: the decision was not contested"
          : answered.map((seat) => `seat ${seat} ${lessonOf(decision, seat)}`).join(", "),
    },
  ];
}

/** Returns what an auditor compares with the chain: ids, versions, signers and the transcript's CID. */
export function recordOf({ report, attempt, protocol }: Deliberation): readonly Fact[] {
  const { request, committee } = attempt;
  const seats = committee.map(({ agentId, signer, reputation, skill }, seat) => ({
    name: `seat ${seat}`,
    text: `agent ${agentId} (${signer}), reputation ${percent(reputation)}, skill ${skill}`,
  }));
  return [
    { name: "request", text: `${request.id}, attempt ${attempt.attempt}` },
    { name: "protocol", text: `${protocol.id}, version ${protocol.version}` },
    ...seats,
    { name: "transcript", text: report.root ?? "none" },
  ];
}

function auditOf(report: Deliberation["report"]): string {
  const { failure } = report;
  const where = failure === undefined ? "" : `, block ${failure.cid ?? "none"}: ${printable(failure.reason)}`;
  return `${verdictOf(report)}${where}`;
}

function endOf({ decision, refused, rounds }: Deliberation["report"]): readonly Fact[] {
  if (decision === null) return [];
  const { status, answer, confidence } = decision;
  const ended =
    refused !== null
      ? `hung: the protocol refuses the question (${printable(refused)})`
      : status === "hung"
        ? `hung: what was said yields no answer by the protocol's rules`
        : status !== "decided"
          ? `${answerOf(decision)}, confidence ${percent(confidence)}`
          : `decided: "${printable(answer)}", confidence ${percent(confidence)}`;
  return [{ name: "ended", text: `${ended}; rounds: ${rounds}` }];
}
