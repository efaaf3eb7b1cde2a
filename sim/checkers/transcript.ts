import { bytesToHex, encodeRequestId } from "../../agents/core/encoding/bytes.ts";
import { digestOf } from "../../agents/core/encoding/codec.ts";
import { decodeMessage, readRoot } from "../../agents/core/encoding/transcript.ts";
import { dataNumber } from "../../agents/core/sources/data.ts";
import { grounded, sourcesOf } from "../../agents/core/sources/named.ts";
import type { Decision, Digest, Message, SeatIndex, Value } from "../../agents/core/types.ts";
import { agrees } from "../plan.ts";
import { isDataQuestion } from "../sources.ts";
import { readInTime, type RawReading } from "./readings.ts";
import { digestIn, fieldsOf } from "./raw.ts";
import { honestSeats, type Certified, type Trace } from "../trace.ts";

/** The first certificate that an honest seat announced. */
export function firstCertificate(trace: Trace): Certified["certificate"] | null {
  return honestSeats(trace).flatMap(({ certificates }) => certificates[0] ?? [])[0]?.certificate ?? null;
}

/** Says which honest seats hold a certificate that states something else than the first one. */
export function differingFrom(
  trace: Trace,
  first: Certified["certificate"],
  stated: (decision: Decision) => string,
  noun: string,
): readonly string[] {
  return honestSeats(trace).flatMap(({ seat, certificates }) =>
    certificates
      .filter(({ certificate }) => stated(certificate.decision) !== stated(first.decision))
      .map(() => `seat ${seat} holds other ${noun}`),
  );
}

/** The raw messages of the transcript that the first certificate names, in its order; null if it cannot be read. */
export function transcribed(trace: Trace): readonly Message[] | null {
  const root = firstCertificate(trace)?.decision.transcript;
  const block = root === undefined ? null : trace.block(root);
  const read = block === null ? null : readRoot(trace.attempt, trace.protocol, block);
  if (read === null || "refused" in read) return null;
  return read.messages.flatMap((digest) => {
    const bytes = trace.block(digest);
    return (bytes === null ? null : decodeMessage(bytes)) ?? [];
  });
}

/** PH3: how many seats list the message as seen, in any later phase. */
export function witnesses(messages: readonly Message[], message: Message): number {
  const { seat, payloadDigest, phase } = message.header;
  const listing = messages.filter(({ header, payload }) => {
    const lists = fieldsOf(payload)["seen"];
    return (
      header.phase > phase &&
      Array.isArray(lists) &&
      (lists as readonly Value[]).some((list) => {
        const entry = Array.isArray(list) ? (list as readonly Value[])[seat] : null;
        return entry instanceof Uint8Array && bytesToHex(entry) === payloadDigest;
      })
    );
  });
  return new Set(listing.map(({ header }) => header.seat)).size;
}

/** PH1, CL2, SG4, SG5: the commitment that a raw proposal opens. A commitment counts rounds from after the one in which sources are read. */
export function openingOf(
  { attempt: { request } }: Trace,
  { requestId, attempt, seat }: Message["header"],
  round: number,
  proposal: ReturnType<typeof fieldsOf>,
): Digest {
  const { answer = null, proof = null, tier = null, salt = null, citations, others } = proposal;
  const reading = sourcesOf(request.question).length > 0 ? 1 : 0;
  const bound = {
    requestId: encodeRequestId(requestId),
    attempt,
    round: round - reading,
    seat,
    answer,
    proof,
    tier,
    salt,
  };
  return digestOf({
    ...bound,
    ...(citations !== undefined && { citations }),
    ...(others !== undefined && { others }),
  });
}

/** A citation as a raw proposal has it. */
interface RawCitation {
  readonly source: number;
  readonly passage: string;
  readonly quotation: string;
}

/** SG4: the citations of a raw proposal. */
export function citationsIn(proposal: ReturnType<typeof fieldsOf>): readonly RawCitation[] {
  const list = proposal["citations"];
  return (Array.isArray(list) ? (list as readonly Value[]) : []).flatMap((one) => {
    const { source, passage, quotation } = fieldsOf(one);
    if (typeof source !== "number" || typeof passage !== "string" || typeof quotation !== "string") return [];
    return { source, passage, quotation };
  });
}

/** Tells of a seat's raw proposal whether the sources bear it. */
type Bears = (proposal: ReturnType<typeof fieldsOf>, seat: SeatIndex) => boolean;

/** SG12: whether the answer is the number that its seat named in time, and more than 1/3 of the seats named one within the tolerance. */
function bearingData({ attempt }: Trace, readings: readonly RawReading[]): Bears {
  const { request } = grounded(attempt);
  const values = new Map(readings.map(({ seat, sources: [one] }) => [seat, fieldsOf(one)["value"]] as const));
  const numberOf = (value: Value | undefined): string =>
    typeof value === "string" ? (dataNumber(request, value)?.text ?? "") : "";
  return (proposal, seat) => {
    const { answer } = proposal;
    const [cited] = citationsIn(proposal);
    if (typeof answer !== "string" || cited === undefined) return false;
    const agreeing = [...values.values()].filter((value) => agrees(request.terms, numberOf(value), answer));
    const isOwn = cited.passage === values.get(seat) && numberOf(cited.passage) === answer;
    return isOwn && 3 * agreeing.length > attempt.committee.length;
  };
}

/**
 * SG9: tells of raw proposals whether more than 1/3 of the seats named every passage that it cites, and the words stand there. True of every
 * proposal where the question names no source.
 */
export function bearing(trace: Trace, messages: readonly Message[]): Bears {
  if (trace.sources === null) return () => true;
  const seats = trace.attempt.committee.length;
  const readings = readInTime(trace, messages);
  if (isDataQuestion(trace.attempt)) return bearingData(trace, readings);
  const named = readings.map(({ sources }) =>
    sources.map((one) => {
      const passages = (fieldsOf(one)["passages"] ?? []) as readonly Value[];
      return new Set(passages.map(digestIn));
    }),
  );
  return (proposal) => {
    const citations = citationsIn(proposal);
    return (
      citations.length > 0 &&
      citations.every(({ source, passage, quotation }) => {
        const readers = named.filter((one) => one[source]?.has(digestOf(passage)) === true).length;
        return 3 * readers > seats && quotation !== "" && passage.includes(quotation);
      })
    );
  };
}
