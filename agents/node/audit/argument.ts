import { asDigest, isPayloadMap } from "../../core/encoding/payload.ts";
import { decodeProposal } from "../../core/phases/proposals.ts";
import type { PayloadMap } from "../../core/protocol.ts";
import type { Header, Ppm, SeatIndex, Value } from "../../core/types.ts";
import type { Deliberation, Spoken } from "./deliberation.ts";

/** TR9: the argument in a transcript, told alike for every protocol: who answered what, who objected and why, who was judged right. */

interface Said {
  readonly seat: SeatIndex;
  readonly round: number;
  /** Index of the message. */
  readonly message: number;
}

export interface Answer extends Said {
  /** Name of the phase, e.g. "reveal" or "synthesis". */
  readonly phase: string;
  readonly text: string;
  readonly proof: string;
  readonly confidence: Ppm;
  readonly quotations: readonly { readonly source: number; readonly words: string }[];
}

/** A seat that was asked and gave no answer. */
export interface Silence extends Said {
  /** In the seat's words (PH14). */
  readonly why: string;
}

/** What a seat says of another one's answer. */
export interface Remark extends Said {
  /** The answer; null if no message of the transcript has it. */
  readonly about: Answer | null;
  readonly verdict: "accept" | "reject" | "critique";
  /** Empty if there are no words. */
  readonly text: string;
  /** Who was asked whether the remark is right, and what they said. */
  readonly judged: readonly { readonly seat: SeatIndex; readonly verdict: "uphold" | "refute" | "abstain" }[];
}

export interface Argument {
  /** Every answer, in the order of the transcript. */
  readonly answers: readonly Answer[];
  readonly silences: readonly Silence[];
  readonly remarks: readonly Remark[];
  /** Seats that changed their answer, with the first and the last one; none where no model is shown another's answer. */
  readonly changes: readonly { readonly from: Answer; readonly to: Answer }[];
  /** Indices of messages that one seat signed for one place with different payloads: its equivocations. */
  readonly equivocations: readonly (readonly number[])[];
}

export function argumentOf({
  protocol,
  messages,
  byPayload,
}: Pick<Deliberation, "protocol" | "messages" | "byPayload">): Argument {
  const bodies = messages.map(({ rendering }) => bodyOf(rendering?.body ?? {}));
  const place = (message: number): Said => {
    const { seat, round } = (messages[message] as (typeof messages)[number]).header;
    return { seat, round, message };
  };
  const answers = bodies.flatMap((body, at) => {
    const answer = answerIn(body);
    return answer === null ? [] : [{ ...place(at), phase: messages[at]?.rendering?.name ?? "", ...answer }];
  });
  const silences = bodies.flatMap((body, at) => {
    const why = silenceIn(body);
    return why === null ? [] : [{ ...place(at), why }];
  });
  const about = (target: Value | undefined): Answer | null => {
    const digest = asDigest(target);
    const found = digest === null ? undefined : byPayload.get(digest);
    return answers.find(({ message }) => found?.includes(message)) ?? null;
  };
  const judgements = bodies.flatMap((body, at) => judgementsIn(body).map((one) => ({ ...one, ...place(at) })));
  const remarks = bodies.flatMap((body, at) =>
    remarksIn(body).map(({ target, ...remark }): Remark => {
      const said = place(at);
      const judged = judgements.filter(
        (one) => one.author === said.seat && one.round === said.round && one.target === asDigest(target),
      );
      return {
        ...said,
        ...remark,
        about: about(target),
        judged: judged.map(({ seat, verdict }) => ({ seat, verdict })),
      };
    }),
  );
  const changes = protocol.showsNoAnswers === true ? [] : changesOf(answers);
  return { answers, silences, remarks, changes, equivocations: equivocationsIn(messages) };
}

/** What a message says; under a hashgraph an event carries it as a record. */
function bodyOf(body: PayloadMap): PayloadMap {
  const { record } = body;
  return isPayloadMap(record) && isPayloadMap(record["body"]) ? record["body"] : body;
}

/** PH14: why a seat that was asked says that it has no answer; null if the message says no such thing. */
export function silenceIn(body: PayloadMap): string | null {
  const { proposal, why } = bodyOf(body);
  return proposal === null && typeof why === "string" ? why : null;
}

function answerIn({ proposal }: PayloadMap): Pick<Answer, "text" | "proof" | "confidence" | "quotations"> | null {
  if (!isPayloadMap(proposal)) return null;
  const { salt: _, ...rest } = proposal;
  const decoded = decodeProposal(rest, true);
  if (decoded === null) return null;
  const { answer: text, proof, tier: confidence, citations = [] } = decoded;
  return { text, proof, confidence, quotations: citations.map(({ source, quotation: words }) => ({ source, words })) };
}

type Found = Pick<Remark, "verdict" | "text"> & { readonly target: Value | undefined };

function remarksIn({ votes, critiques, review }: PayloadMap): readonly Found[] {
  return [
    ...listOf(votes).flatMap((vote): readonly Found[] => {
      if (!isPayloadMap(vote) || (vote["verdict"] !== "accept" && vote["verdict"] !== "reject")) return [];
      return [{ target: vote["target"], verdict: vote["verdict"], text: textOf(vote["counterProof"]) }];
    }),
    ...listOf(critiques).flatMap((critique): readonly Found[] => {
      const [target, text] = listOf(critique);
      return [{ target, verdict: "critique", text: textOf(text) }];
    }),
    ...[review].flatMap((one): readonly Found[] => {
      if (!isPayloadMap(one) || (one["verdict"] !== "accept" && one["verdict"] !== "reject")) return [];
      return [{ target: one["draft"], verdict: one["verdict"], text: textOf(one["text"]) }];
    }),
  ];
}

function judgementsIn({ judgements }: PayloadMap): readonly {
  readonly author: Value | undefined;
  readonly target: string | null;
  readonly verdict: "uphold" | "refute" | "abstain";
}[] {
  return listOf(judgements).flatMap((one) => {
    if (!isPayloadMap(one)) return [];
    const { author, verdict } = one;
    if (verdict !== "uphold" && verdict !== "refute" && verdict !== "abstain") return [];
    return [{ author, target: asDigest(one["target"]), verdict }];
  });
}

function changesOf(answers: readonly Answer[]): Argument["changes"] {
  const bySeat = Map.groupBy(answers, ({ seat }) => seat);
  return [...bySeat.values()].flatMap((own) => {
    const [from] = own;
    const to = own.at(-1);
    return from === undefined || to === undefined || from.text === to.text ? [] : [{ from, to }];
  });
}

function equivocationsIn(messages: Deliberation["messages"]): Argument["equivocations"] {
  const slots = Map.groupBy(messages.keys(), (index) => slotOf((messages[index] as Spoken).header));
  return [...slots.values()].flatMap((indices) => {
    const [first = 0, ...others] = indices;
    const payloadOf = (index: number): string | undefined => messages[index]?.header.payloadDigest;
    const different = others.filter((other) => payloadOf(other) !== payloadOf(first));
    return different.length > 0 ? [[first, ...different]] : [];
  });
}

/** Returns the messages that the same seat signed for the same slot with another payload. */
export function conflictsOf(messages: Deliberation["messages"], { header }: Spoken): readonly number[] {
  return messages.flatMap(({ header: other }, index) => (isConflict(header, other) ? [index] : []));
}

/** Names the slot that a message claims; all messages of a transcript have the same attempt and protocol. */
function slotOf({ seat, round, phase }: Header): string {
  return `${seat} ${round} ${phase}`;
}

function isConflict(one: Header, other: Header): boolean {
  return slotOf(one) === slotOf(other) && one.payloadDigest !== other.payloadDigest;
}

function listOf(value: Value | undefined): readonly Value[] {
  return Array.isArray(value) ? (value as readonly Value[]) : [];
}

function textOf(value: Value | undefined): string {
  return typeof value === "string" ? value : "";
}
