import { commitForm, revealForm } from "../../agents/core/phases/proposals.ts";
import { GATHER } from "../../agents/core/phases/readings.ts";
import { CLOSE } from "../../agents/core/phases/round-book.ts";
import type { Effect, Input, PayloadMap, Protocol, Step } from "../../agents/core/protocol.ts";
import { stagesOf } from "../../agents/core/protocols/hashgraph/config.ts";
import { hashgraph } from "../../agents/core/protocols/hashgraph/index.ts";
import type { Attempt } from "../../agents/core/types.ts";

type Send = Extract<Effect, { kind: "send" }>;

/** What a seat says of sources and answers, in a phase or in the record of an event. Rounds are those of answers, from 0. */
export interface Said {
  /** `revise`: an answer that no commitment binds. */
  readonly part: "gather" | "close" | "commit" | "reveal" | "revise";
  readonly round: number;
  readonly body: PayloadMap;
}

/** Bends what a seat says before it signs it, and what it takes in. The rest of a message stays as its runtime made it. */
export function saying(
  protocol: Protocol,
  attempt: Attempt,
  bend: (said: Said) => PayloadMap,
  taken: (input: Input) => Input = (input) => input,
): Protocol {
  const bent = protocol.id === hashgraph.id ? bentRecord : bentPhase;
  const bendAll = (step: Step<unknown>): Step<unknown> => ({
    ...step,
    effects: step.effects.map((effect) =>
      effect.kind === "send" ? { ...effect, payload: bent(attempt, effect, bend) } : effect,
    ),
  });
  return {
    ...protocol,
    start: (context) => bendAll(protocol.start(context)),
    step: (state, context, tally, input) => bendAll(protocol.step(state, context, tally, taken(input))),
  };
}

const PARTS: Readonly<Record<number, Said["part"]>> = {
  [GATHER]: "gather",
  [CLOSE]: "close",
  [commitForm.phase]: "commit",
  [revealForm.phase]: "reveal",
};

/** Sources are read in the first round of all. */
function bentPhase(_: Attempt, { phase, round, payload }: Send, bend: (said: Said) => PayloadMap): PayloadMap {
  const part = PARTS[phase];
  const isGathering = part === "gather" || part === "close";
  if (part === undefined || isGathering !== (round === 0)) return payload;
  return bend({ part, round: round - 1, body: payload });
}

function bentRecord(attempt: Attempt, { payload }: Send, bend: (said: Said) => PayloadMap): PayloadMap {
  const { record = null } = payload;
  if (record === null) return payload;
  const { stage, body, ...rest } = record as { readonly stage: number; readonly body: PayloadMap };
  const place = stagesOf(attempt)[stage];
  if (place === undefined || place.kind === "match" || place.kind === "ballot") return payload;
  const part = place.kind === "output" ? (place.round === 0 ? "reveal" : "revise") : place.kind;
  return { ...payload, record: { ...rest, stage, body: bend({ part, round: place.round, body }) } };
}
