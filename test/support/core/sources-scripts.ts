import { cidString } from "../../../agents/core/encoding/cid.ts";
import { sha256 } from "../../../agents/core/encoding/bytes.ts";
import { isPayloadMap } from "../../../agents/core/encoding/payload.ts";
import { gatherForm, type Gathering } from "../../../agents/core/phases/readings.ts";
import type { Effect, PayloadMap } from "../../../agents/core/protocol.ts";
import { documentBlock } from "../../../agents/core/sources/named.ts";
import { escalating } from "../../../agents/core/protocols/escalating/index.ts";
import type { Attempt, Digest, Terms } from "../../../agents/core/types.ts";
import { attemptOf, type SeatScript } from "./committee.ts";
import { believing, fieldOf, taskOf } from "./council-scripts.ts";

type Send = Extract<Effect, { kind: "send" }>;

export const RULES = "Export rules, version 3. Exports above 500 need a licence. Gifts are exempt.";
export const OTHER = "Übersicht: nothing in here decides anything — “really”.";
export const blockOf = (text: string) => documentBlock(text) as Uint8Array;
export const digest = (text: string): Digest => sha256(blockOf(text));
export const nameOf = (text: string): string => cidString(digest(text));
export const line = (text: string) => `source: ${nameOf(text)}`;
/** The texts at their sources. */
export const standing = (...texts: readonly string[]): ReadonlyMap<string, string> =>
  new Map(texts.map((text) => [nameOf(text), text]));
export const stored = standing(RULES, OTHER);

export function asking(n: number, texts: readonly string[], terms: Partial<Terms> = {}): Attempt {
  const attempt = attemptOf(n, { protocol: escalating.code, ...terms });
  const question = ["Does an export of 720 need a licence?", ...texts.map(line)].join("\n");
  return { ...attempt, request: { ...attempt.request, question } };
}

/** Script that answers `first`, later `last`, always with the same quote, and verifies by `last`. */
export function quoting(quote: string, first: string, last = first, source = "A"): SeatScript {
  let asked = 0;
  return {
    answer: (ask) => {
      const task = taskOf(ask.prompt);
      if (task === "cite" || task === "revise")
        return { fields: { quote, source, proof: "by the rule", answer: asked++ === 0 ? first : last } };
      return task === "adjudicate"
        ? { fields: { check: "c", verdict: fieldOf(ask.prompt, "answer") === last ? "refute" : "uphold" } }
        : believing(last).answer(ask);
    },
  };
}

export const LICENCE = "Exports above 500 need a licence.";

/** What a message says: in a phase, or as the record in an event of a hashgraph. */
export function bodyIn(payload: PayloadMap): PayloadMap {
  const { record } = payload;
  return isPayloadMap(record) ? (record["body"] as PayloadMap) : payload;
}

/** A message in which a seat says that it read something else; any other message as it is. */
export function rereading(effect: Send, gathering: Gathering): Send {
  const body = bodyIn(effect.payload);
  if (!("sources" in body)) return effect;
  const said = { ...body, ...gatherForm.encode(gathering) };
  const { record } = effect.payload;
  return { ...effect, payload: isPayloadMap(record) ? { ...effect.payload, record: { ...record, body: said } } : said };
}
