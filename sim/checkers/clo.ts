import { faultTolerance, quorumOf } from "../../agents/core/quorum.ts";
import { agrees } from "../plan.ts";
import type { Trace } from "../trace.ts";
import { fieldsOf } from "./raw.ts";
import { firstCertificate, transcribed } from "./transcript.ts";

/**
 * SI14: where seats of clo sample again, f + 1 of them gave the decided answer in some round, at high assurance more than 2/3 (CL7), by the raw
 * messages of the certified transcript.
 */
export function checkClo(trace: Trace): readonly string[] {
  const { attempt, protocol, sources } = trace;
  const { terms } = attempt.request;
  if (protocol.id !== "clo" || terms.kind === "text" || sources !== null) return [];
  const decision = firstCertificate(trace)?.decision;
  const messages = transcribed(trace);
  if (decision?.status !== "decided" || messages === null) return [];
  const seats = attempt.committee.length;
  const givers = new Set(
    messages.flatMap(({ header, payload }) => {
      const { answer } = fieldsOf(fieldsOf(payload)["proposal"]);
      return typeof answer === "string" && agrees(terms, answer, decision.answer) ? [header.seat] : [];
    }),
  );
  const needed = terms.assurance === "high" ? quorumOf(seats) : faultTolerance(seats) + 1;
  return givers.size >= needed
    ? []
    : [`${givers.size} seats gave ${JSON.stringify(decision.answer)}, ${needed} needed`];
}
