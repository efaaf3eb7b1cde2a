import { faultTolerance } from "../../agents/core/quorum.ts";
import { readRoot, decodeMessage } from "../../agents/core/encoding/transcript.ts";
import { comparePositions } from "../../agents/core/protocol.ts";
import type { Message } from "../../agents/core/types.ts";
import { honestSeats, slotOf, type Trace } from "../trace.ts";

/**
 * SI9: the certified transcript has every message that enough honest seats held in time. More than 2/3 of the seats
 * prevoted for it, at least f + 1 honest ones among them. If fewer honest seats than that lacked a message, one of the
 * voters held it, and must not have prevoted without it.
 */
export function checkOmission(trace: Trace): readonly string[] {
  if (!trace.tolerable) return [];
  const honest = honestSeats(trace);
  const certified = honest.flatMap(({ certificates }) => certificates[0] ?? [])[0];
  const transcript = certified === undefined ? null : messagesOf(trace, certified.certificate.decision.transcript);
  const last = transcript?.at(-1);
  if (transcript === null || last === undefined) return [];
  const covered = new Map<string, number>();
  for (const message of transcript) covered.set(slotOf(message), (covered.get(slotOf(message)) ?? 0) + 1);
  const inside = new Set(transcript.map(keyOf));
  const holders = new Map<string, { readonly message: Message; count: number }>();
  for (const { inTime } of honest)
    for (const message of inTime ?? []) {
      const entry = holders.get(keyOf(message)) ?? { message, count: 0 };
      entry.count++;
      holders.set(keyOf(message), entry);
    }
  const seats = trace.attempt.committee.length;
  const byzantine = seats - honest.length;
  // The least number of honest seats that prevoted for it.
  const voters = seats - faultTolerance(seats) - byzantine;
  return [...holders.values()].flatMap(({ message, count }) => {
    const isCovered = inside.has(keyOf(message)) || (covered.get(slotOf(message)) ?? 0) > 1;
    if (isCovered || comparePositions(message.header, last.header) > 0 || count <= honest.length - voters) return [];
    const { seat, phase, round } = message.header;
    return [
      `${count} honest seats held what seat ${seat} said in phase ${phase}, round ${round}; the transcript lacks it`,
    ];
  });
}

function messagesOf(trace: Trace, root: Parameters<Trace["block"]>[0]): readonly Message[] | null {
  const bytes = trace.block(root);
  const read = bytes === null ? null : readRoot(trace.attempt, trace.protocol, bytes);
  if (read === null || "refused" in read) return null;
  return read.messages.flatMap((digest) => {
    const block = trace.block(digest);
    return (block === null ? null : decodeMessage(block)) ?? [];
  });
}

function keyOf(message: Message): string {
  return `${slotOf(message)}.${message.header.payloadDigest}`;
}
