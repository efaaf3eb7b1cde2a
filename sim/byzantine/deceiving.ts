import { hexToBytes } from "../../agents/core/encoding/bytes.ts";
import { digestOf } from "../../agents/core/encoding/codec.ts";
import { commitmentOf, encodeProposal, type Proposal } from "../../agents/core/phases/proposals.ts";
import type { PayloadMap, Protocol } from "../../agents/core/protocol.ts";
import type { Citation } from "../../agents/core/sources/citations.ts";
import { passagesOf } from "../../agents/core/sources/passages.ts";
import type { Ppm, Value } from "../../agents/core/types.ts";
import { createRandom } from "../random.ts";
import { tellingLine, type SourcesPlan } from "../sources.ts";
import type { Culprit } from "./culprit.ts";
import { saying } from "./saying.ts";

/** What a proposal of this seat cites: what its runtime does, or what no honest seat would. */
const CITING = ["own", "invented", "another's", "misquoted", "exchanged"] as const;

/**
 * SM9: bends what a Byzantine seat says of sources before it signs it: it names passages that it never read, denies what it heard, and cites
 * what nobody read, what only another seat was shown, or words that do not stand there. It knows all pages. All liars of a world tell
 * the same lie of the same passages.
 */
export function deceiving(protocol: Protocol, { pages }: SourcesPlan, culprit: Culprit): Protocol {
  const { plan, seat, random, recorder } = culprit;
  const { attempt } = plan;
  const isNaming = random.chance(600_000);
  const isDeaf = random.chance(300_000);
  const shared = createRandom(plan.seed, "deceit");
  const answer = shared.pick([plan.truth, plan.lies[0] ?? plan.truth]);
  const invented = `${tellingLine(answer)} Nobody was shown this.`;
  const [place, page] = shared.pick([...pages.entries()]);
  const passages = page.texts.flatMap((text) => (text === null ? [] : passagesOf(text)));
  const foreign = passages.length === 0 ? invented : shared.pick(passages);
  /** By round: the salt of the commitment to an answer of its own. */
  const salts = new Map<number, Uint8Array>();

  const whole = (passage: string): Citation => ({ source: place, passage, quotation: passage.slice(0, 64).trimEnd() });
  const misquoted = { ...whole(foreign), quotation: tellingLine(`${answer}, as everybody knows`) };
  /** What it cites when it commits, and when it reveals; null: what its runtime does. */
  const cited: Readonly<Record<(typeof CITING)[number], readonly [Citation, Citation] | null>> = {
    own: null,
    invented: [whole(invented), whole(invented)],
    "another's": [whole(foreign), whole(foreign)],
    misquoted: [misquoted, misquoted],
    exchanged: [whole(invented), whole(foreign)],
  };
  const lie = cited[random.pick(CITING)];
  const proposing = (citation: Citation): Proposal => {
    return { answer, proof: "it stands there", tier: 900_000 as Ppm, citations: [citation] };
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
    if (lie === null || !("commitment" in payload)) return payload;
    const salt = random.bytes(32);
    salts.set(round, salt);
    return { ...payload, commitment: hexToBytes(commitmentOf(attempt, round, seat, proposing(lie[0]), salt)) };
  };
  const revealed = (payload: PayloadMap, round: number): PayloadMap => {
    const salt = salts.get(round);
    if (lie === null || salt === undefined) return payload;
    recorder.count(lie[0].passage === lie[1].passage ? "false citation" : "changed citation");
    const { why: _, ...rest } = payload;
    return { ...rest, proposal: { ...encodeProposal(proposing(lie[1])), salt } };
  };
  const revised = (payload: PayloadMap): PayloadMap => {
    if (lie === null) return payload;
    recorder.count("false citation");
    return { ...payload, proposal: encodeProposal(proposing(lie[1])) };
  };

  return saying(protocol, attempt, ({ part, round, body }) => {
    switch (part) {
      case "gather":
        return gathered(body);
      case "close":
        return deafened(body);
      case "commit":
        return committed(body, round);
      case "reveal":
        return revealed(body, round);
      case "revise":
        return revised(body);
    }
  });
}
