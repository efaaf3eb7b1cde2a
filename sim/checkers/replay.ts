import { decodeMessage, readRoot, replay } from "../../agents/core/encoding/transcript.ts";
import type { Decision } from "../../agents/core/types.ts";
import { honestSeats, type Trace } from "../trace.ts";

/** SI8: every certified transcript replays, from the blocks alone, to the decision that was certified. */
export function checkReplay(trace: Trace): readonly string[] {
  const distinct = new Map<string, Decision>();
  for (const { certificates } of honestSeats(trace))
    for (const { decision } of certificates.map(({ certificate }) => certificate))
      distinct.set(JSON.stringify({ ...decision, round: 0 }), decision);
  return [...distinct.values()].flatMap((decision) => {
    const reason = differs(trace, decision);
    return reason === null ? [] : [`transcript ${decision.transcript.slice(0, 10)}: ${reason}`];
  });
}

function differs(trace: Trace, decision: Decision): string | null {
  const { attempt, protocol } = trace;
  const rootBlock = trace.block(decision.transcript);
  if (rootBlock === null) return "no honest seat holds its root block";
  const read = readRoot(attempt, protocol, rootBlock);
  if ("refused" in read) return read.refused;
  const entries = read.messages.map((digest) => {
    const bytes = trace.block(digest);
    return { digest, message: bytes === null ? null : decodeMessage(bytes) };
  });
  const result = replay(attempt, protocol, decision.transcript, entries);
  if (result.kind === "failed") return result.reason;
  const { outcome } = result.conclusion;
  const keys = [
    "status",
    "outcome",
    "answer",
    "confidence",
    "reputationChanges",
    "shares",
    "answered",
    "agreed",
  ] as const;
  const wrong = keys.find((key) => JSON.stringify(outcome[key]) !== JSON.stringify(decision[key]));
  return wrong === undefined
    ? null
    : `${wrong} is ${JSON.stringify(outcome[wrong])} when replayed, not ${JSON.stringify(decision[wrong])}`;
}
