import { limits } from "../../limits.ts";
import type { Protocol } from "../../protocol.ts";
import type { Attempt } from "../../types.ts";
import { conclude } from "./conclude.ts";
import { mbftConfig } from "./config.ts";
import { openRound, step, type MbftState } from "./course.ts";
import { acceptsPayload } from "./payloads.ts";
import { PROMPTS_VERSION, proposePrompt } from "./prompts.ts";

/** mbft, sound mode: docs/spec/mbft.md. One seat's course through the phases; `conclude` is the rule book applied. */
export const mbft: Protocol<MbftState> = {
  id: "mbft",
  code: 1,
  version: PROMPTS_VERSION,
  title: "Metacognitive BFT, sound mode",
  check,
  accepts: (attempt, place, payload) =>
    place.round < limits.deliberationRounds && acceptsPayload(attempt, place, payload),
  start: (context) => openRound(context, 0, proposePrompt(context.attempt)),
  step,
  closed: (state) => state.closed,
  conclude,
};

function check(attempt: Attempt): string | null {
  const seats = attempt.committee.length;
  if (seats < limits.minCommittee || seats > limits.maxCommittee)
    return `committee size ${seats} is outside ${limits.minCommittee}..${limits.maxCommittee}`;
  // MB1: theta > (f + h) * tauMax must hold for some h >= 0.
  return mbftConfig(attempt, limits.deliberationRounds).fooled < 0
    ? `theta cannot exceed f * tauMax for ${seats} seats`
    : null;
}
