import { hexToBytes } from "../../agents/core/encoding/bytes.ts";
import { digestOf } from "../../agents/core/encoding/codec.ts";
import { GATHER } from "../../agents/core/phases/gather.ts";
import {
  commitForm,
  commitmentOf,
  encodeProposal,
  revealForm,
  type Proposal,
} from "../../agents/core/phases/proposals.ts";
import { CLOSE } from "../../agents/core/phases/round-book.ts";
import type { Effect, PayloadMap, Protocol, Step } from "../../agents/core/protocol.ts";
import { encodeCitation, type Citation } from "../../agents/core/sources/citations.ts";
import { passagesOf } from "../../agents/core/sources/passages.ts";
import type { Ppm, Value } from "../../agents/core/types.ts";
import { tellingLine, type SourcesPlan } from "../sources.ts";
import type { Culprit } from "./culprit.ts";

type Send = Extract<Effect, { kind: "send" }>;

/** What a proposal of this seat cites: what its runtime does, or a lie of one kind. */
const CITING = ["own", "invented", "another's", "misquoted", "exchanged"] as const;

/** An answer that this seat made itself, in place of its runtime's. */
interface Made {
  readonly proposal: Proposal;
  readonly salt: Uint8Array;
  /** What it shows with the answer; other citations than those it committed to, or ones that say what does not stand there. */
  readonly shown: readonly PayloadMap[];
}

/**
 * SM9: bends what a Byzantine seat says of sources before it signs it: it names passages that it never read, denies what it heard, and cites
 * what nobody read, what only another seat was shown, or words that do not stand there. It knows all pages. All liars of a world invent the
 * same passage.
 */
export function deceiving(protocol: Protocol, { pages }: SourcesPlan, culprit: Culprit): Protocol {
  const { plan, seat, random, recorder } = culprit;
  const { attempt } = plan;
  const isNaming = random.chance(600_000);
  const isDeaf = random.chance(300_000);
  const citing = random.pick(CITING);
  const answer = random.pick([plan.truth, plan.lies[0] ?? plan.truth]);
  const invented = `${tellingLine(answer)} Nobody was shown this.`;
  const [place, page] = random.pick([...pages.entries()]);
  const passages = page.texts.flatMap((text) => (text === null ? [] : passagesOf(text)));
  const foreign = passages.length === 0 ? invented : random.pick(passages);
  const made = new Map<number, Made>();

  const whole = (passage: string): Citation => ({ source: place, passage, quotation: passage.slice(0, 64).trimEnd() });
  const make = (): Made => {
    const bound = whole(citing === "another's" || citing === "misquoted" ? foreign : invented);
    const proposal = { answer, proof: "it stands there", tier: 900_000 as Ppm, citations: [bound] };
    const shown = {
      misquoted: { ...bound, quotation: tellingLine(`${answer}, as everybody knows`) },
      exchanged: whole(foreign),
    };
    const said = citing === "misquoted" || citing === "exchanged" ? shown[citing] : bound;
    return { proposal, salt: random.bytes(32), shown: [encodeCitation(said)] };
  };

  const gathered = (payload: PayloadMap): PayloadMap => {
    if (!isNaming) return payload;
    recorder.count("false reading");
    const named = [invented, foreign].map((passage) => hexToBytes(digestOf(passage)));
    const sources = (payload["sources"] as readonly PayloadMap[]).map((one, at) => {
      const own = (one["passages"] ?? []) as readonly Value[];
      return at === place ? { passages: [...own, ...named] } : one;
    });
    return { ...payload, sources };
  };
  const deafened = (payload: PayloadMap): PayloadMap => {
    if (!isDeaf) return payload;
    recorder.count("deaf");
    return { ...payload, seen: [attempt.committee.map(() => null)] };
  };
  const committed = (payload: PayloadMap, round: number): PayloadMap => {
    if (citing === "own" || !("commitment" in payload)) return payload;
    const own = make();
    made.set(round, own);
    // SG5: a commitment counts rounds from after the one in which sources are read.
    const commitment = commitmentOf(attempt, round - 1, seat, own.proposal, own.salt);
    return { ...payload, commitment: hexToBytes(commitment) };
  };
  const revealed = (payload: PayloadMap, round: number): PayloadMap => {
    const own = made.get(round);
    if (own === undefined) return payload;
    recorder.count(citing === "exchanged" ? "changed citation" : "false citation");
    const { why: _, ...rest } = payload;
    return { ...rest, proposal: { ...encodeProposal(own.proposal), citations: own.shown, salt: own.salt } };
  };

  const bent = ({ phase, round, payload }: Send): PayloadMap => {
    if (round === 0 && phase === GATHER) return gathered(payload);
    if (round === 0 && phase === CLOSE) return deafened(payload);
    if (phase === commitForm.phase) return committed(payload, round);
    return phase === revealForm.phase ? revealed(payload, round) : payload;
  };
  const bend = (step: Step<unknown>): Step<unknown> => ({
    ...step,
    effects: step.effects.map((effect) => (effect.kind === "send" ? { ...effect, payload: bent(effect) } : effect)),
  });
  return {
    ...protocol,
    start: (context) => bend(protocol.start(context)),
    step: (state, context, tally, input) => bend(protocol.step(state, context, tally, input)),
  };
}
