import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { memoryReading } from "../../agents/adapters/memory/source-reader.ts";
import { READING_FAILURES, type Reading } from "../../agents/core/sources/snapshot.ts";
import { parseSource, type Source } from "../../agents/core/sources/source.ts";
import { servedMetrics } from "./fixtures/metrics.ts";
import { never } from "./model.suite.ts";

function source(name: string): Source {
  const parsed = parseSource(name);
  if ("refused" in parsed) throw new Error(parsed.refused);
  return parsed.source;
}

const PAGE = source("https://example.org/");
const reads = (kind: string, result: string): string =>
  `conclave_source_reads_total{kind="${kind}",result="${result}"}`;

describe("metrics of sources", () => {
  it("count readings by kind and result, their time and the bytes of what was read", async () => {
    const metrics = await servedMetrics();
    try {
      const good = memoryReading(PAGE.text, "What it says.");
      const failed: Reading = { kind: "failed", reason: "tls", detail: "of its host" };
      const queue = [good, failed, good];
      const reader = metrics.measuredReader({
        read: async () => queue.shift() ?? Promise.reject(new Error("aborted")),
      });
      const before = await metrics.read();
      for (const kind of ["document", "page", "call", "search"])
        for (const result of ["read", "aborted", ...READING_FAILURES]) assert.equal(before.get(reads(kind, result)), 0);
      assert.equal(await reader.read(PAGE, never()), good);
      assert.equal(await reader.read(PAGE, never()), failed);
      await reader.read(PAGE, never());
      await assert.rejects(reader.read(PAGE, never()), /aborted/);
      const after = await metrics.read();
      assert.equal(after.get(reads("page", "read")), 2);
      assert.equal(after.get(reads("page", "tls")), 1);
      assert.equal(after.get(reads("page", "aborted")), 1);
      assert.equal(after.get("conclave_source_read_seconds_count"), 4);
      assert.ok(good.kind === "read");
      assert.equal(after.get("conclave_source_snapshot_bytes_total"), 2 * good.block.length);
      assert.equal([...after].filter(([series, value]) => series.includes("reads_total") && value > 0).length, 3);
    } finally {
      await metrics.close();
    }
  });
});
