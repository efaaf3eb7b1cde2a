import { memoryReading } from "../../agents/adapters/memory/source-reader.ts";
import type { Input, PayloadMap, Protocol } from "../../agents/core/protocol.ts";
import { readingBlock } from "../../agents/core/sources/reading.ts";
import { createRandom } from "../random.ts";
import type { SourcesPlan } from "../sources.ts";
import type { Culprit } from "./culprit.ts";
import { saying, type Said } from "./saying.ts";

/**
 * SM10: a Byzantine seat of a data question takes another number for what it read, says another one than it answers, or both. All liars of
 * a world tell the same lie, or the truth.
 */
export function misreading(protocol: Protocol, { pages }: SourcesPlan, culprit: Culprit): Protocol {
  const { plan, random, recorder } = culprit;
  const value = createRandom(plan.seed, "deceit").pick([plan.truth, ...plan.lies.slice(0, 2)]);
  const misread = random.chance(600_000) ? readingBlock(memoryReading(pages[0]?.name ?? "", value)) : null;
  const isDoubleTongued = random.chance(400_000);

  const taken = (input: Input): Input =>
    input.kind === "read" && misread !== null ? { ...input, blocks: [misread] } : input;
  const said = ({ part, body }: Said): PayloadMap => {
    if (!isDoubleTongued || part !== "gather") return body;
    recorder.count("false reading");
    return { ...body, sources: [{ value }] };
  };
  return saying(protocol, plan.attempt, said, taken);
}
