import * as z from "zod/mini";
import { ConclaveError, type ErrorCode } from "../../core/errors.ts";
import { backoffMs, sleep } from "../chain/backoff.ts";
import { bodyText, connectionFailure, credentialsApart, quoted } from "../http.ts";
import { parseJson } from "../json.ts";
import type { Endpoint } from "./graph-node.ts";

/** A query as the functions of queries.ts make it. */
export interface Query<Answer extends z.ZodMiniType> {
  readonly name: string;
  readonly text: string;
  readonly variables: object;
  readonly answer: Answer;
}

const TIMEOUT_MS = 30_000;
const MAX_BYTES = 16 << 20;
const RETRIES = 2;

const envelope = z.object({
  data: z.optional(z.unknown()),
  errors: z.optional(z.array(z.object({ message: z.optional(z.unknown()) })).check(z.maxLength(1_000))),
});

/**
 * Posts a query, and repeats it if that may help. The answer is checked against the query before it is used. Throws
 * SUBGRAPH_UNREACHABLE, SUBGRAPH_FAILED or SUBGRAPH_INVALID.
 */
export async function postQuery<Answer extends z.ZodMiniType>(
  endpoint: Endpoint,
  query: Query<Answer>,
  signal: AbortSignal,
): Promise<z.infer<Answer>> {
  for (let failures = 0; ; failures++) {
    try {
      return readAnswer(endpoint, query, await post(endpoint, query, signal));
    } catch (error) {
      signal.throwIfAborted();
      const mayPass = error instanceof ConclaveError && error.code === "SUBGRAPH_UNREACHABLE";
      if (!mayPass || failures === RETRIES) throw error;
    }
    await sleep(backoffMs(failures), signal);
  }
}

/** Makes an error about an endpoint's answer. */
export function subgraphError(
  code: ErrorCode,
  { url }: Endpoint,
  reason: string,
  data: Readonly<Record<string, string | number>> = {},
): ConclaveError {
  const origin = new URL(url).origin;
  return new ConclaveError(code, `Ask the subgraph at ${origin}: ${reason}`, { origin, ...data });
}

async function post(
  endpoint: Endpoint,
  { text, variables }: Query<z.ZodMiniType>,
  signal: AbortSignal,
): Promise<string> {
  const limit = AbortSignal.timeout(endpoint.timeoutMs ?? TIMEOUT_MS);
  const body = JSON.stringify({ query: text, variables }, (_, value: unknown) =>
    typeof value === "bigint" ? String(value) : value,
  );
  const { url, headers } = credentialsApart(endpoint.url);
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body,
      // A redirect could lead anywhere, with the URL's key.
      redirect: "manual",
      signal: AbortSignal.any([signal, limit]),
    });
    if (response.status >= 300 && response.status < 400) {
      await response.body?.cancel();
      const reason = `it redirects (HTTP status ${response.status}), and redirects are not followed; name the endpoint that it redirects to`;
      throw subgraphError("SUBGRAPH_FAILED", endpoint, reason, { status: response.status });
    }
    const tooLong = (): ConclaveError => invalid(endpoint, `the answer has more than ${MAX_BYTES} bytes`);
    const answer = await bodyText(response, MAX_BYTES, tooLong);
    if (response.ok) return answer;
    const mayPass = response.status === 429 || response.status >= 500;
    const reason = `it answers with HTTP status ${response.status}`;
    throw subgraphError(mayPass ? "SUBGRAPH_UNREACHABLE" : "SUBGRAPH_FAILED", endpoint, reason, {
      status: response.status,
    });
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ConclaveError) throw error;
    const reason = limit.aborted ? `it has not answered in ${timeoutText(endpoint)}` : connectionFailure(error);
    throw subgraphError("SUBGRAPH_UNREACHABLE", endpoint, `${reason}; check the URL and the node`);
  }
}

function readAnswer<Answer extends z.ZodMiniType>(
  endpoint: Endpoint,
  query: Query<Answer>,
  body: string,
): z.infer<Answer> {
  const value = parseJson(body);
  if (value === undefined) throw invalid(endpoint, "the answer is not JSON");
  const parsed = envelope.safeParse(value);
  if (!parsed.success) throw invalid(endpoint, "the answer has not the form of a GraphQL answer");
  const { data, errors = [] } = parsed.data;
  const [first] = errors;
  if (first !== undefined)
    throw subgraphError(
      "SUBGRAPH_FAILED",
      endpoint,
      `it refuses the query ${query.name}: ${quoted(typeof first.message === "string" ? first.message : "")}`,
    );
  const answer = query.answer.safeParse(data);
  if (answer.success) return answer.data;
  const [issue] = answer.error.issues;
  const field = issue?.path.join(".") ?? "";
  throw invalid(endpoint, `the answer to ${query.name} does not fit at ${field === "" ? "the top" : field}`, { field });
}

function invalid(endpoint: Endpoint, reason: string, data?: Readonly<Record<string, string>>): ConclaveError {
  return subgraphError("SUBGRAPH_INVALID", endpoint, reason, data);
}

function timeoutText({ timeoutMs = TIMEOUT_MS }: Endpoint): string {
  return `${timeoutMs / 1000} s`;
}
