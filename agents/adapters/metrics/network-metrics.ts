import type { Registry } from "prom-client";
import { seriesOf } from "./registry.ts";

/** What was refused: a stranger's connection, a stranger's stream, a malformed frame; or frames left out of a full queue. */
export type RefusedKind = "connection" | "stream" | "frame" | "queue";

/** Shows what the network refused; the counts are read whenever the metrics are requested. */
export function showNetwork(refused: () => Readonly<Record<RefusedKind, number>>, registry: Registry): void {
  seriesOf(registry).totals(
    "conclave_network_refused_total",
    "What the network refused: connections and streams of strangers, malformed frames, full queues of peers",
    "kind",
    refused,
  );
}
