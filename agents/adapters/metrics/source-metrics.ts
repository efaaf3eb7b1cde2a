import { Counter, Histogram, type Registry } from "prom-client";
import { READING_FAILURES } from "../../core/sources/snapshot.ts";
import type { Source } from "../../core/sources/source.ts";
import type { SourceReader } from "../../ports/source-reader.ts";

const SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30];
const KINDS = ["document", "page", "call", "search"] as const satisfies readonly Source["kind"][];
/** The result of a reading that its phase, or its attempt, did not wait for. */
const ABORTED = "aborted";

/** Returns the same reader, and counts its readings, their results and their time from now on. */
export function measuredReader(reader: SourceReader, registry: Registry): SourceReader {
  const registers = [registry];
  const reads = new Counter({
    name: "conclave_source_reads_total",
    help: "Readings of sources, by the kind of the source and by what came of them",
    labelNames: ["kind", "result"],
    registers,
  });
  for (const kind of KINDS) for (const result of ["read", ABORTED, ...READING_FAILURES]) reads.inc({ kind, result }, 0);
  const duration = new Histogram({
    name: "conclave_source_read_seconds",
    help: "Time of one reading, its wait in the queue included",
    buckets: SECONDS,
    registers,
  });
  const bytes = new Counter({
    name: "conclave_source_snapshot_bytes_total",
    help: "Bytes of the snapshots that were read",
    registers,
  });
  return {
    async read(source, signal) {
      const { kind } = source;
      const end = duration.startTimer();
      try {
        const reading = await reader.read(source, signal);
        if (reading.kind === "read") bytes.inc(reading.block.length);
        reads.inc({ kind, result: reading.kind === "read" ? "read" : reading.reason });
        return reading;
      } catch (error) {
        reads.inc({ kind, result: ABORTED });
        throw error;
      } finally {
        end();
      }
    },
  };
}
