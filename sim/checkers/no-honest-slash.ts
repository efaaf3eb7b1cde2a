import type { SeatIndex } from "../../agents/core/types.ts";
import type { Fault } from "../options.ts";
import { honestSeats, type Trace } from "../trace.ts";
import { boundTo } from "./pay.ts";
import { transcribed } from "./transcript.ts";

/** Faults that can keep an answer from the others until they have decided: processes that die, and links that fail. */
const HIDING: readonly Fault[] = ["crash", "partition", "drop", "delay", "reorder", "skew", "storm"];

/**
 * SI4: with at most f Byzantine seats and honest models that do not err, no certificate lowers the reputation of an
 * honest seat; only a fault that hid its answer, or all that it said, costs it one step (PY9, PY10), and a page that lied to it what it was
 * sure of (SM8). In every world, no honest seat signs two payloads for one slot, or two decisions in one ballot.
 */
export function checkNoHonestSlash(trace: Trace): readonly string[] {
  const honest = new Set(honestSeats(trace).map(({ seat }) => seat));
  const doubled = [...trace.messages.values()].flatMap((messages) => {
    const header = messages[0]?.header;
    if (header === undefined || messages.length < 2 || !honest.has(header.seat)) return [];
    return [`honest seat ${header.seat} signed two payloads in phase ${header.phase}, round ${header.round}`];
  });
  const accused = trace.seats.flatMap(({ seat, evidence, conflicts }) =>
    [...evidence.map(({ first }) => first.header.seat), ...conflicts.map((conflict) => conflict.seat)]
      .filter((one) => honest.has(one))
      .map((one) => `seat ${seat} has evidence against honest seat ${one}`),
  );
  if (!trace.tolerable || !trace.truthful) return [...doubled, ...accused];
  const messages = transcribed(trace) ?? [];
  const isSlow = trace.sources?.pages.some(({ fault }) => fault === "slow") === true;
  const isHidden = (seat: SeatIndex): boolean =>
    (isSlow || trace.faults.some((fault) => HIDING.includes(fault))) &&
    (boundTo(trace, messages, seat)?.shown === null || !messages.some(({ header }) => header.seat === seat));
  const slashed = honestSeats(trace).flatMap(({ seat, certificates }) =>
    (certificates.at(-1)?.certificate.decision.reputationChanges ?? [])
      .filter(
        ({ seat: of, steps }) =>
          steps < 0 && honest.has(of) && trace.sources?.fooled.has(of) !== true && !(steps === -1 && isHidden(of)),
      )
      .map((change) => `the certificate of seat ${seat} slashes honest seat ${change.seat} by ${-change.steps}`),
  );
  return [...doubled, ...accused, ...slashed];
}
