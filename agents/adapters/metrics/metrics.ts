import type { ServerResponse } from "node:http";
import { Registry } from "prom-client";
import type { AgentFacts, LiveFacts } from "../../ports/metrics.ts";
import type { HostedModel, Model } from "../../ports/model.ts";
import type { SourceReader } from "../../ports/source-reader.ts";
import { refuse, startHttpServer, type HttpServer, type HttpServerLimits } from "../http-server.ts";
import { showAgent } from "./agent-metrics.ts";
import { showLive } from "./live-metrics.ts";
import { showNetwork, type RefusedKind } from "./network-metrics.ts";
import { measuredModel } from "./model-metrics.ts";
import { measuredReader } from "./source-metrics.ts";

export interface MetricsPlace {
  readonly host: string;
  readonly port: number;
  /**
   * True accepts any Host header. Otherwise a request has to name this machine, which a page in a browser whose name
   * leads here does not.
   */
  readonly public: boolean;
}

/** Series of one agent, in the format of Prometheus. */
export interface Metrics {
  /** Returns the same model, and counts its queue, its process and its answers from now on. */
  measured(model: HostedModel): Model;
  /** Returns the same reader, and counts its readings from now on. */
  measuredReader(reader: SourceReader): SourceReader;
  /** Shows the agent's facts, which are read whenever the metrics are requested. */
  showAgent(facts: () => AgentFacts): void;
  /** Shows what the network refused. */
  showNetwork(refused: () => Readonly<Record<RefusedKind, number>>): void;
  /** Shows what the live stream does. */
  showLive(facts: () => LiveFacts): void;
  /** Serves GET /metrics and nothing else. Throws NETWORK_FAILED if the port is taken. */
  serve(place: MetricsPlace): Promise<HttpServer>;
}

/** Bounds for scrapers, which ask a few times a minute. */
const limits: HttpServerLimits = { concurrency: 4, requests: 60, windowMs: 10_000 };

export function createMetrics(): Metrics {
  const registry = new Registry();
  const answer = async (path: string, response: ServerResponse): Promise<void> => {
    if (path !== "/metrics") return refuse(response, 404, "ask for /metrics");
    const text = await registry.metrics();
    response.writeHead(200, { "content-type": registry.contentType, "cache-control": "no-store" }).end(text);
  };
  return {
    measured: (model) => measuredModel(model, registry),
    measuredReader: (reader) => measuredReader(reader, registry),
    showAgent: (facts) => showAgent(facts, registry),
    showNetwork: (refused) => showNetwork(refused, registry),
    showLive: (facts) => showLive(facts, registry),
    serve: ({ host, port, public: isPublic }) =>
      startHttpServer({
        name: "metrics",
        host,
        port,
        limits,
        localOnly: !isPublic,
        answer: ({ url = "" }, response) => answer(url.split("?", 1)[0] ?? "", response),
      }),
  };
}
