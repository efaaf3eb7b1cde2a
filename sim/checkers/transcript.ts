import { encodeRequestId } from "../../agents/core/encoding/bytes.ts";
import { digestOf } from "../../agents/core/encoding/codec.ts";
import { decodeMessage, readRoot } from "../../agents/core/encoding/transcript.ts";
import { sourcesOf } from "../../agents/core/sources/named.ts";
import type { Decision, Digest, Message, Value } from "../../agents/core/types.ts";
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

/** PH1, SG4, SG5: the commitment that a raw proposal opens. A commitment counts rounds from after the one in which sources are read. */
export function openingOf(
  { attempt: { request } }: Trace,
  { requestId, attempt, seat }: Message["header"],
  round: number,
  proposal: ReturnType<typeof fieldsOf>,
): Digest {
  const { answer = null, proof = null, tier = null, salt = null, citations } = proposal;
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
  return digestOf(citations === undefined ? bound : { ...bound, citations });
}

/** The fields of a raw value; none if it is no map. */
export function fieldsOf(value: Value | undefined): { readonly [key: string]: Value } {
  return value !== null && typeof value === "object" && !Array.isArray(value) && !(value instanceof Uint8Array)
    ? (value as { readonly [key: string]: Value })
    : {};
}
