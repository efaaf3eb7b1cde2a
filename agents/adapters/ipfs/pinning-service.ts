import { z } from "zod";
import { cidString } from "../../core/encoding/cid.ts";
import { ConclaveError } from "../../core/errors.ts";
import type { Digest } from "../../core/types.ts";
import { apiKeyFields, hasNoCredentials } from "../api-key.ts";
import { backoffMs, sleep } from "../chain/backoff.ts";
import { bodyText, connectionFailure, quoted, retryAfterMs } from "../http.ts";
import { parseJson } from "../json.ts";

/**
 * AV8: a client of the IPFS Pinning Service API, https://ipfs.github.io/pinning-services-api-spec/. What the service
 * claims is not checked.
 */

const TIMEOUT_MS = 30_000;
/** Retries of one request, for 429, 5xx and broken connections. */
const RETRIES = 4;
const LONGEST_SLEEP_MS = 60_000;
const MAX_BYTES = 4 << 20;
/** The specification allows 1000 results and 20 origins. */
const PAGE = 100;
const MAX_PAGES = 100;
const MAX_ORIGINS = 20;
/** Shortest key that is hidden in messages: shorter ones occur in any text. */
const LEAST_KEY = 8;
const FIRST_POLL_MS = 1_000;
const LONGEST_POLL_MS = 15_000;

const ALIVE = "queued,pinning,pinned";
const ALL = `${ALIVE},failed`;

/** One service of the config. */
export const pinningServiceSchema = z
  .strictObject({
    /** URL without "/pins", e.g. https://api.example.org/psa. */
    endpoint: z
      .url({ protocol: /^https?$/u })
      .max(2048)
      .refine(isPrivate, "expected https, or http on this machine: the key must not be readable on the way")
      .refine(hasNoCredentials, "must not contain a user or password; use apiKeyFile")
      .refine((url) => !/[?#]/u.test(url), "must have no query"),
    ...apiKeyFields,
  })
  .refine(
    ({ apiKeyFile, apiKeyEnv }) => (apiKeyFile === undefined) !== (apiKeyEnv === undefined),
    "give apiKeyFile or apiKeyEnv, the file or the environment variable that holds the key",
  );

const printableId = z
  .string()
  .regex(/^[\x21-\x7e]{1,255}$/u)
  // Such a name would lead to the service's own URL or to its parent.
  .refine((id) => !/^\.+$/u.test(id));

const statusSchema = z.object({
  requestid: printableId,
  status: z.enum(["queued", "pinning", "pinned", "failed"]),
  created: z.iso.datetime({ offset: true }),
  pin: z.object({ cid: z.string().min(1).max(255), name: z.string().max(255).nullish() }),
  info: z
    .object({ status_details: z.string().optional().catch(undefined) })
    .nullish()
    .catch(null),
});
const listSchema = z.object({ count: z.int().min(0), results: z.array(statusSchema).max(1000) });
const failureSchema = z.object({ error: z.object({ reason: z.string(), details: z.string().optional() }) });

type Status = z.infer<typeof statusSchema>;
type StatusList = z.infer<typeof listSchema>;

export interface RemotePin {
  /** The service's name for the request. */
  readonly id: string;
  readonly state: Status["status"];
  /** ISO 8601. */
  readonly created: string;
  readonly cid: string;
  /** The pin's name, if it has one. */
  readonly name: string | null;
}

export interface PinningServiceOptions {
  /** The service's name in the config. */
  readonly name: string;
  readonly endpoint: string;
  readonly apiKey: string;
  /** Timeout of one try. */
  readonly timeoutMs?: number;
  /** First sleep between two checks of a pin. */
  readonly pollMs?: number;
}

export interface PinningService {
  /**
   * Asks for a pin, unless there is one, and resolves when the service says that it holds all of the DAG.
   * @param origins multiaddrs of nodes that hold the blocks
   * @param signal of how long to wait, too
   */
  pin(root: Digest, wish: Wish, signal: AbortSignal): Promise<RemotePin>;
  /** Lists pins, the newest first; only those of the root if one is given. */
  list(root: Digest | null, signal: AbortSignal): AsyncGenerator<RemotePin>;
  remove(id: string, signal: AbortSignal): Promise<void>;
}

export interface Wish {
  readonly name: string;
  readonly origins: readonly string[];
  /** Time that the service may take. */
  readonly patienceMs: number;
  readonly onState: (state: RemotePin["state"]) => void;
}

/**
 * Creates the client. It throws PINNING_FAILED if the service refuses or answers nonsense, NETWORK_FAILED if it does
 * not answer.
 */
export function createPinningService(options: PinningServiceOptions): PinningService {
  async function page(query: Readonly<Record<string, string>>, signal: AbortSignal): Promise<StatusList> {
    const search = new URLSearchParams({ ...query, limit: String(PAGE) });
    return read(options, await send(options, "GET", `?${search.toString()}`, signal), listSchema);
  }

  /** Asks for a pin. Before another try it checks whether a broken request was heard. */
  const request = (root: Digest, { name, origins }: Wish, signal: AbortSignal): Promise<Status> => {
    const cid = cidString(root);
    return retrying(signal, async () => {
      const there = (await page({ cid, status: ALIVE }, signal)).results.find(({ pin }) => pin.cid === cid);
      if (there !== undefined) return there;
      const body = { cid, name, origins: origins.slice(0, MAX_ORIGINS) };
      return read(options, await send(options, "POST", "", signal, body), statusSchema);
    });
  };

  async function waitFor(root: Digest, first: Status, wish: Wish, signal: AbortSignal): Promise<RemotePin> {
    let status = first;
    for (let sleepMs = options.pollMs ?? FIRST_POLL_MS; ; sleepMs = Math.min(sleepMs * 1.5, LONGEST_POLL_MS)) {
      const { requestid, pin } = status;
      if (pin.cid !== cidString(root))
        throw failed(options, "answer", `it answers with another CID, ${quoted(pin.cid, options.apiKey)}`);
      wish.onState(status.status);
      if (status.status === "pinned") return remotePin(options, status);
      if (status.status === "failed")
        throw failed(options, "failed", `it could not pin it${detailsOf(options, status)}`);
      await sleep(sleepMs, signal);
      status = await retrying(signal, async () =>
        read(options, await send(options, "GET", pathOf(requestid), signal), statusSchema),
      );
    }
  }

  return {
    async pin(root, wish, signal) {
      const patience = AbortSignal.timeout(wish.patienceMs);
      const either = AbortSignal.any([signal, patience]);
      try {
        return await waitFor(root, await request(root, wish, either), wish, either);
      } catch (error) {
        signal.throwIfAborted();
        if (!patience.aborted) throw error;
        throw failed(
          options,
          "late",
          `it is not pinned after ${wish.patienceMs / 1000} s; repeat the command to go on waiting`,
        );
      }
    },
    async *list(root, signal) {
      const query = { status: ALL, ...(root === null ? {} : { cid: cidString(root) }) };
      const listed = new Set<string>();
      let before: string | null = null;
      for (let pages = 0; pages < MAX_PAGES; pages++) {
        const bound: Readonly<Record<string, string>> = before === null ? {} : { before };
        const { count, results } = await retrying(signal, () => page({ ...query, ...bound }, signal));
        const known = listed.size;
        for (const status of results) {
          if (listed.has(status.requestid)) continue;
          listed.add(status.requestid);
          yield remotePin(options, status);
        }
        // Some services return fewer results than asked for.
        if (results.length < PAGE && results.length >= count) return;
        const last = results.at(-1)?.created;
        if (last === undefined) return;
        if (listed.size === known) break;
        // Others may be as old as the last one, so the page includes it again.
        before = new Date(Date.parse(last) + 1).toISOString();
      }
      throw failed(options, "answer", `its list does not end, or has more than ${PAGE * MAX_PAGES} pins`);
    },
    async remove(id, signal) {
      await retrying(signal, () => send(options, "DELETE", pathOf(id), signal));
    },
  };
}

/** Makes one try of a request; resolves with the text of its answer. */
async function send(
  options: PinningServiceOptions,
  method: "GET" | "POST" | "DELETE",
  path: string,
  signal: AbortSignal,
  body?: object,
): Promise<string> {
  const { endpoint, apiKey, timeoutMs = TIMEOUT_MS } = options;
  const limit = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(`${endpoint.replace(/\/+$/u, "")}/pins${path}`, {
      method,
      headers: { authorization: `Bearer ${apiKey}`, accept: "application/json", "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.any([signal, limit]),
      // A redirect could lead anywhere, the key with it.
      redirect: "error",
    });
    const tooLong = (): ConclaveError => failed(options, "answer", `its answer has more than ${MAX_BYTES} bytes`);
    const text = await bodyText(response, MAX_BYTES, tooLong);
    if (response.ok) return text;
    throw refusal(options, response, text);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ConclaveError || error instanceof Passing) throw error;
    throw new Passing(
      unreachable(options, limit.aborted ? `no answer in ${timeoutMs / 1000} s` : connectionFailure(error)),
    );
  }
}

/** A failure that another try may avoid. */
class Passing extends Error {
  readonly final: ConclaveError;
  readonly afterMs: number;

  constructor(final: ConclaveError, afterMs = 0) {
    super(final.message);
    this.final = final;
    this.afterMs = afterMs;
  }
}

async function retrying<T>(signal: AbortSignal, action: () => Promise<T>): Promise<T> {
  for (let failures = 0; ; failures++) {
    try {
      return await action();
    } catch (error) {
      if (!(error instanceof Passing)) throw error;
      if (failures === RETRIES || error.afterMs > LONGEST_SLEEP_MS) throw error.final;
      await sleep(Math.max(error.afterMs, backoffMs(failures)), signal);
    }
  }
}

function refusal(options: PinningServiceOptions, { status, headers }: Response, text: string): Error {
  const said = saidIn(options, text);
  if (status === 429 || status >= 500) {
    const afterMs = retryAfterMs(headers);
    const until = afterMs > LONGEST_SLEEP_MS ? `, and asks to be left alone for ${Math.ceil(afterMs / 1000)} s` : "";
    return new Passing(unreachable(options, `it answers ${status}${said}${until}`), afterMs);
  }
  if (status === 401 || status === 403)
    return failed(options, "key", `it refuses the key (${status})${said}; check apiKeyFile or apiKeyEnv`);
  return failed(options, "refused", `it answers ${status}${said}`);
}

function read<Schema extends z.ZodType>(options: PinningServiceOptions, text: string, schema: Schema): z.infer<Schema> {
  const value = parseJson(text);
  if (value === undefined) throw failed(options, "answer", "its answer is not JSON");
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const field = parsed.error.issues[0]?.path.join(".") ?? "";
  throw failed(options, "answer", `its answer does not fit the specification at ${field === "" ? "the top" : field}`);
}

function saidIn({ apiKey }: PinningServiceOptions, text: string): string {
  try {
    const { error } = failureSchema.parse(JSON.parse(text));
    return `: ${quoted([error.reason, error.details].filter((part) => part !== undefined).join(": "), apiKey)}`;
  } catch {
    return "";
  }
}

function detailsOf({ apiKey }: PinningServiceOptions, { info }: Status): string {
  return info?.status_details === undefined ? "" : `: ${quoted(info.status_details, apiKey)}`;
}

/** Reads a pin's status; its texts are made printable. */
function remotePin(options: PinningServiceOptions, { requestid, status, created, pin }: Status): RemotePin {
  const { apiKey } = options;
  if (apiKey.length >= LEAST_KEY && [requestid, pin.cid, pin.name].some((text) => text?.includes(apiKey)))
    throw failed(options, "answer", "it names a pin by the key");
  return { id: requestid, state: status, created, cid: pin.cid, name: pin.name ?? null };
}

function pathOf(id: string): string {
  return `/${encodeURIComponent(id)}`;
}

type FailureKind = "key" | "refused" | "failed" | "late" | "answer";

function failed(options: PinningServiceOptions, kind: FailureKind, reason: string): ConclaveError {
  return new ConclaveError("PINNING_FAILED", `Pin at ${nameOf(options)}: ${reason}`, { service: options.name, kind });
}

function unreachable(options: PinningServiceOptions, reason: string): ConclaveError {
  return new ConclaveError("NETWORK_FAILED", `Reach ${nameOf(options)}: ${reason}`, { service: options.name });
}

function nameOf({ name, endpoint }: PinningServiceOptions): string {
  return `the pinning service ${name} (${new URL(endpoint).origin})`;
}

function isPrivate(url: string): boolean {
  const parsed = URL.parse(url);
  if (parsed === null || parsed.protocol === "https:") return true;
  return /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/u.test(parsed.hostname);
}
