// docs/operating.md lists every metric of an agent with its type, and no other.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { HostedModel } from "../../agents/ports/model.ts";
import type { SourceReader } from "../../agents/ports/source-reader.ts";
import type { AgentFacts, LiveFacts } from "../../agents/ports/metrics.ts";
import { readMetrics, servedMetrics } from "./fixtures/metrics.ts";

const OPERATING = join(import.meta.dirname, "../../docs/operating.md");
const ROW = /^\| ((?:`conclave_[^`]+`(?:, )?)+) \| (\w+) \|/gm;

const facts: AgentFacts = {
  peers: 0,
  seats: 0,
  silentSeats: 0,
  untakenSeats: 0,
  attempts: { decided: 0, hung: 0, unanswerable: 0, tooEarly: 0, left: 0 },
  relays: { committed: 0, already: 0, refused: 0 },
  withheld: 0,
  unread: 0,
  silences: 0,
  chain: null,
};
const live: LiveFacts = { watchers: 2, sent: 30, refused: { busy: 4, address: 5, slow: 6 } };

describe("metrics of an agent", () => {
  it("are in docs/operating.md with their types, all of them, and no other", async () => {
    const metrics = await servedMetrics();
    const state = { running: 0, waiting: 0, restarts: 0, memoryBytes: 0 };
    metrics.measured({ state: () => state } as HostedModel);
    metrics.measuredReader({} as SourceReader);
    metrics.showAgent(() => facts);
    metrics.showNetwork(() => ({ connection: 0, stream: 0, frame: 0, queue: 0 }));
    metrics.showLive(() => live);
    const text = await (await fetch(metrics.url)).text();
    await metrics.close();
    const served = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name, type]) => `${name} ${type}`);
    const rows = [...(await readFile(OPERATING, "utf8")).matchAll(ROW)];
    const listed = rows.flatMap(([, names = "", type]) =>
      [...names.matchAll(/`(\w+)[^`]*`/g)].map(([, name]) => `${name} ${type}`),
    );
    assert.deepEqual(listed.toSorted(), served.toSorted());
  });

  it("show what the live stream does", async () => {
    const metrics = await servedMetrics();
    metrics.showLive(() => live);
    const series = await readMetrics(metrics.url);
    await metrics.close();
    assert.deepEqual(Object.fromEntries(series), {
      conclave_live_watchers: 2,
      conclave_live_events_sent_total: 30,
      'conclave_live_refused_total{reason="busy"}': 4,
      'conclave_live_refused_total{reason="address"}': 5,
      'conclave_live_refused_total{reason="slow"}': 6,
    });
  });
});
