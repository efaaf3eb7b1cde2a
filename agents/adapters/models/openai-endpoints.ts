import type { ModelRequest } from "../../ports/model.ts";
import type { Server } from "./openai-body.ts";
import { ask, Retryable, type Answer, type Learn } from "./openai-http.ts";
import { parametersOf } from "./openai-list.ts";
import { providers, without, type Dialect } from "./openai-providers.ts";
import { usualThinking } from "./thinking-budget.ts";

/** The servers of one model, the preferred one first. */
export interface Endpoints {
  /**
   * Makes one try: asks every server in turn until one answers, those that failed lately last. `begin` runs before
   * each text that a server begins. Throws at once what no other server can avoid, else the failure of the server that
   * may be tried again first.
   */
  ask(request: ModelRequest, signal: AbortSignal, begin: () => (text: string) => void): Promise<ServerReply>;
}

export interface ServerReply extends Answer {
  readonly server: Server;
}

interface Endpoint {
  readonly server: Server;
  dialect: Dialect;
  /** Tokens of thought, once it has shown that it thinks. */
  usualThinking: number | null;
  /** Time at which the whole dialect is tried again. */
  relearnsAtMs: number;
  failures: number;
  /** Until then, other servers are asked first. */
  restsUntilMs: number;
}

const FIRST_REST_MS = 1000;
const MAX_REST_MS = 60_000;
/** A server may be updated, and a refusal may have meant something else. */
const RELEARN_MS = 3_600_000;

/** `now`: milliseconds that never go back. */
export function createEndpoints(servers: readonly Server[], now = (): number => performance.now()): Endpoints {
  const endpoints = servers.map((server): Endpoint => {
    const unknown = { dialect: fullDialect(server), usualThinking: null, relearnsAtMs: Infinity };
    return { server, ...unknown, failures: 0, restsUntilMs: 0 };
  });
  const dialectNow = (endpoint: Endpoint): Dialect => {
    if (endpoint.relearnsAtMs > now()) return endpoint.dialect;
    endpoint.relearnsAtMs = Infinity;
    endpoint.dialect = fullDialect(endpoint.server);
    return endpoint.dialect;
  };
  return {
    async ask(request, signal, begin) {
      const nowMs = now();
      const isResting = ({ restsUntilMs }: Endpoint): boolean => restsUntilMs > nowMs;
      const failures: Retryable[] = [];
      for (const endpoint of [...endpoints.filter((one) => !isResting(one)), ...endpoints.filter(isResting)]) {
        const { server } = endpoint;
        try {
          const learn: Learn = {
            lacks(parts) {
              endpoint.dialect = without(endpoint.dialect, parts);
              endpoint.relearnsAtMs = Math.min(endpoint.relearnsAtMs, now() + RELEARN_MS);
            },
            thinks: async () =>
              (endpoint.usualThinking ??=
                server.thinkingTokens ?? usualThinking(await parametersOf(server, signal), false)),
          };
          const known = { dialect: dialectNow(endpoint), usualThinking: endpoint.usualThinking };
          const answer = await ask(server, request, known, signal, begin, learn);
          endpoint.failures = 0;
          return { ...answer, server };
        } catch (error) {
          if (!(error instanceof Retryable)) throw error;
          const restMs = Math.min(FIRST_REST_MS * 2 ** endpoint.failures++, MAX_REST_MS);
          endpoint.restsUntilMs = now() + Math.max(restMs, error.retryAfterMs);
          failures.push(error);
        }
      }
      throw firstToMend(failures);
    },
  };
}

function fullDialect({ provider }: Server): Dialect {
  return providers[provider].dialect;
}

function firstToMend(failures: readonly Retryable[]): Retryable {
  const rank = ({ isPassing, retryAfterMs }: Retryable): number => (isPassing ? retryAfterMs : Infinity);
  const [first] = failures.toSorted((a, b) => rank(a) - rank(b) || 0);
  if (first === undefined) throw new Error("a model has one server at least");
  return first;
}
