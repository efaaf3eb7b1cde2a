import type { ServerResponse } from "node:http";
import { Registry } from "prom-client";
import type { AgentFacts } from "../../ports/metrics.ts";
import type { HostedModel, Model } from "../../ports/model.ts";
import { isLoopback, refuse, startHttpServer, type HttpServer, type HttpServerLimits } from "../http-server.ts";
import { showAgent } from "./agent-metrics.ts";
import { measuredModel } from "./model-metrics.ts";

export interface MetricsPlace {
  readonly host: string;
  readonly port: number;
  /** Else a request has to name this machine as itself: a page in a browser, whose name can lead here, does not. */
  readonly public: boolean;
}

/** The series of one agent, in the format of Prometheus. */
export interface Metrics {
  /** The same model; its queue and process, and what it answers from now on, are counted. */
  measured(model: HostedModel): Model;
  /** The facts are read whenever the metrics are asked for. */
  showAgent(facts: () => AgentFacts): void;
  /** GET /metrics, nothing else. Throws NETWORK_FAILED when the port is taken. */
  serve(place: MetricsPlace): Promise<HttpServer>;
}

/** A scraper asks a few times a minute. */
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
    showAgent: (facts) => showAgent(facts, registry),
    serve: ({ host, port, public: isPublic }) =>
      startHttpServer({
        name: "metrics",
        host,
        port,
        limits,
        answer: async ({ url = "", headers }, response) => {
          if (!isPublic && !isLoopback(nameIn(headers.host))) return refuse(response, 403, "ask for localhost");
          return await answer(url.split("?", 1)[0] ?? "", response);
        },
      }),
  };
}

/** Of a Host header, without port and brackets; "" for none. */
function nameIn(host: string | undefined): string {
  return URL.parse(`http://${host ?? ""}`)?.hostname.replace(/^\[(.*)\]$/, "$1") ?? "";
}
