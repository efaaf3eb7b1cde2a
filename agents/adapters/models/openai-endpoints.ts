import type { ModelRequest } from "../../ports/model.ts";
import { ask, Retryable, type Answer, type Server } from "./openai-http.ts";
import { providers, type Dialect } from "./openai-providers.ts";

/** The servers of one model, the preferred one first. */
export interface Endpoints {
  /**
   * One attempt: every server in turn until one answers, those that failed lately last. Throws what no other server can mend at once, else
   * the failure of the one that is to be tried again first.
   */
  ask(request: ModelRequest, signal: AbortSignal, onText: (text: string) => void): Promise<Answered>;
}

export interface Answered extends Answer {
  readonly server: Server;
}

interface Endpoint {
  readonly server: Server;
  dialect: Dialect;
  failures: number;
  /** Not asked before others until then. */
  restsUntilMs: number;
}

const FIRST_REST_MS = 1000;
const MAX_REST_MS = 60_000;

export function createEndpoints(servers: readonly Server[]): Endpoints {
  const endpoints = servers.map((server): Endpoint => {
    return { server, dialect: providers[server.provider].dialect, failures: 0, restsUntilMs: 0 };
  });
  return {
    async ask(request, signal, onText) {
      const nowMs = performance.now();
      const isResting = ({ restsUntilMs }: Endpoint): boolean => restsUntilMs > nowMs;
      const failures: Retryable[] = [];
      for (const endpoint of [...endpoints.filter((one) => !isResting(one)), ...endpoints.filter(isResting)]) {
        const { server } = endpoint;
        try {
          const learn = (dialect: Dialect): void => void (endpoint.dialect = dialect);
          const answer = await ask(server, request, endpoint.dialect, signal, onText, learn);
          endpoint.failures = 0;
          return { ...answer, server };
        } catch (error) {
          if (!(error instanceof Retryable)) throw error;
          const restMs = Math.min(FIRST_REST_MS * 2 ** endpoint.failures++, MAX_REST_MS);
          endpoint.restsUntilMs = performance.now() + Math.max(restMs, error.retryAfterMs);
          failures.push(error);
        }
      }
      throw firstToMend(failures);
    },
  };
}

function firstToMend(failures: readonly Retryable[]): Retryable {
  const rank = ({ isPassing, retryAfterMs }: Retryable): number => (isPassing ? retryAfterMs : Infinity);
  const [first] = failures.toSorted((a, b) => rank(a) - rank(b) || 0);
  if (first === undefined) throw new Error("a model has one server at least");
  return first;
}
