/** What one seat does with sources, and what follows where nobody can cite any: the same in phases and in a graph (docs/spec/sources.md). */
import { digestOf } from "../encoding/codec.ts";
import { limits } from "../limits.ts";
import { reworded, withBriefs, type Prompt } from "../prompts/prompt.ts";
import { admitting } from "../prompts/source-prompt.ts";
import { saidNonAnswer } from "../request/non-answers.ts";
import { excerptsOf } from "../sources/excerpt.ts";
import { grounded, sourcesOf } from "../sources/named.ts";
import { ONE_PPM, type Attempt, type Ppm } from "../types.ts";
import { readAsData } from "./data.ts";
import type { Decided } from "./pay.ts";
import type { Call, SeatView } from "./phased-rules.ts";
import type { Gathering, Heard, Readings, SeatReading } from "./readings.ts";
import { shownAnswer } from "./reasons.ts";

/** SG5: what a seat says that it read, as it does before its answer. */
export function gatheringOf(asked: Attempt, readSoFar: SeatView<unknown>["read"]): Gathering {
  const attempt = grounded(asked);
  const read = readAsData(attempt, readSoFar);
  const sources = sourcesOf(asked.request.question).map((_, index): Heard => {
    const reading = read?.[index] ?? NOT_IN_TIME;
    if (reading.kind === "failed") return { failed: reading.reason };
    return attempt.request.isDataQuestion === true
      ? { value: reading.text }
      : { passages: reading.passages.map(digestOf) };
  });
  return { sources };
}

const NOT_IN_TIME = { kind: "failed", reason: "timeout" } as const;

/** What each source shows a model; null where its seat read nothing. */
export type Texts = readonly (string | null)[];

/**
 * SG7: the calls as `show` words them with what the seat read, and ever less of it for a model that it does not fit. Who read nothing
 * neither answers nor judges.
 */
export function showing<One extends Call>(
  { request }: Attempt,
  read: SeatView<unknown>["read"],
  calls: readonly One[],
  show: (call: One, texts: Texts) => Prompt,
): readonly Call[] {
  // To make excerpts of long texts takes time.
  if (calls.length === 0) return [];
  const excerpts = (read ?? []).map((one) => (one?.kind === "read" ? excerptsOf(one, request.question) : null));
  if (excerpts.every((excerpt) => excerpt === null)) return [];
  const texts = limits.shownSourceBytes.map((bytes): Texts => {
    const room = Math.floor(bytes / excerpts.length);
    return excerpts.map((excerpt) => excerpt?.(room) ?? null);
  });
  const different = texts.filter((some, at) => at === 0 || some.some((text, index) => text !== texts[at - 1]?.[index]));
  const admits = request.admitsNonAnswers === true;
  return calls.map((call) => {
    const [whole, ...shorter] = different.map((some) => show(call, some)) as [Prompt, ...Prompt[]];
    const prompt = reworded(whole, (wording, set) => {
      const others = shorter.map(({ [set]: { user, briefs = [user] } }) => briefs);
      return withBriefs(wording, [...(wording.briefs ?? []), ...others.flat()]);
    });
    return { about: call.about, prompt: admits ? admitting(prompt) : prompt };
  });
}

/** SG8: what wins where nothing can be cited; null if the attempt is Hung. */
export function winnerWithout(attempt: Attempt, readings: Readings): (Decided & { readonly confidence: Ppm }) | null {
  const verdict = grounded(attempt).request.admitsNonAnswers === true ? readings.verdict() : null;
  return (
    verdict && {
      answer: saidNonAnswer(verdict.nonAnswer),
      confidence: Math.floor((verdict.seats * ONE_PPM) / attempt.committee.length) as Ppm,
      alike: [],
    }
  );
}

/** PH14: who read each source, and what failed. */
export function explainReadings({ committee, request }: Attempt, told: readonly SeatReading[]): readonly string[] {
  return sourcesOf(request.question).map((source, index) => {
    const failures = told.flatMap(({ body }) => {
      const one = body.sources[index] as Heard;
      return "failed" in one ? one.failed : [];
    });
    const why = failures.length === 0 ? "" : ` (${[...new Set(failures)].slice(0, SHOWN_FAILURES).join("; ")})`;
    const values = told.flatMap(({ seat, body }) => {
      const one = body.sources[index] as Heard;
      return "value" in one ? `seat ${seat} read ${shownAnswer(one.value)}` : [];
    });
    return [`${source}: read by ${told.length - failures.length} of ${committee.length} seats${why}`, ...values].join(
      "; ",
    );
  });
}

/** Different failures that an explanation of a source names. */
const SHOWN_FAILURES = 3;
