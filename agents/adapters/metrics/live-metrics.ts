import type { Registry } from "prom-client";
import type { LiveFacts } from "../../ports/metrics.ts";
import { seriesOf } from "./registry.ts";

/** Shows what the live stream does; the facts are read whenever the metrics are requested. */
export function showLive(facts: () => LiveFacts, registry: Registry): void {
  const { gauge, total, totals } = seriesOf(registry);
  gauge("conclave_live_watchers", "Watchers of the live stream now", () => facts().watchers);
  total("conclave_live_events_sent_total", "Events sent to watchers of the live stream", () => facts().sent);
  totals(
    "conclave_live_refused_total",
    "Watchers refused or cut; busy: too many in all, address: too many of one address, slow: did not take what was sent",
    "reason",
    () => facts().refused,
  );
}
