import { memoryReading } from "../agents/adapters/memory/source-reader.ts";
import type { SeatIndex } from "../agents/core/types.ts";
import { sleep, type Clock } from "../agents/ports/clock.ts";
import type { SourceReader } from "../agents/ports/source-reader.ts";
import type { Recorder } from "./recorder.ts";
import { shownBy, type SourcePlan, type SourcesPlan } from "./sources.ts";

interface Eyes {
  readonly clock: Clock;
  readonly recorder: Recorder;
  readonly latencyMs: () => number;
}

/** SM8: reads the pages of a plan with one seat's eyes, on the virtual clock. */
export function simSourceReader({ pages }: SourcesPlan, seat: SeatIndex, eyes: Eyes): SourceReader {
  const { clock, recorder, latencyMs } = eyes;
  return {
    async read(source, signal) {
      const place = pages.findIndex(({ name }) => name === source.text);
      const page = pages[place] as SourcePlan;
      await sleep(clock, (page.latenciesMs[seat] as number) + latencyMs(), signal);
      const text = shownBy(page, seat, clock.now());
      if (text !== null) recorder.read(seat, { source: place, text });
      recorder.count(`page ${text !== null ? page.fault : page.absence === "not-final" ? "early" : "gone"}`);
      return text === null ? { kind: "failed", reason: page.absence, detail: "" } : memoryReading(source.text, text);
    },
  };
}
