import { useEffect, useState } from "react";
import { ConclaveError, type Conclave, type RequestUpdate } from "../../../sdk/src/index.ts";
import { cursorOf } from "../ask/asked.ts";
import { answersNow } from "../shared/node-away.tsx";
import { isAway } from "../shared/trouble.tsx";
import { useDashboard } from "../dashboard.tsx";

export interface Followed {
  /** The newest state; null before the first. */
  readonly update: RequestUpdate | null;
  /** What interrupts; null while all is well. */
  readonly error: unknown;
}

const NOTHING: Followed = { update: null, error: null };
const RETRY_MS = 2_000;

/** Follows a request until it is final. While the node is away it tries again. */
export function useRequest(requestId: bigint): Followed {
  const { conclave, publicClient, settings } = useDashboard();
  const [followed, setFollowed] = useState(NOTHING);
  useEffect(() => {
    const left = new AbortController();
    const tell = (next: (before: Followed) => Followed): void => {
      if (!left.signal.aborted) setFollowed(next);
    };
    const answers = (): Promise<boolean> => answersNow(publicClient);
    void follow(conclave, answers, requestId, cursorOf(settings.oracle, requestId), left.signal, tell);
    return () => left.abort();
  }, [conclave, publicClient, requestId, settings]);
  return followed;
}

async function follow(
  conclave: Conclave,
  answers: () => Promise<boolean>,
  requestId: bigint,
  asked: string | null,
  signal: AbortSignal,
  tell: (next: (before: Followed) => Followed) => void,
): Promise<void> {
  let from = asked;
  while (!signal.aborted)
    try {
      for await (const update of conclave.follow(requestId, { signal, ...(from !== null && { from }) })) {
        from = update.cursor;
        tell(() => ({ update, error: null }));
      }
      return;
    } catch (error) {
      if (from !== null && from === asked && isForeign(error)) {
        from = null;
        continue;
      }
      tell(({ update }) => ({ update, error }));
      if (!isAway(error)) return;
      await pause(signal);
      // The node may be back long before the next state comes.
      if (await answers()) tell(({ update }) => ({ update, error: null }));
    }
}

/** True for a cursor that others have written, or another version of this page. */
function isForeign(error: unknown): boolean {
  return error instanceof ConclaveError && error.code === "USAGE";
}

async function pause(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, RETRY_MS);
  signal.addEventListener("abort", () => resolve(), { once: true });
  await promise;
  clearTimeout(timer);
}
