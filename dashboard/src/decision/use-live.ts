import { useEffect, useState } from "react";
import type { RequestUpdate } from "../../../sdk/src/index.ts";
import type { LiveRequest, LiveState } from "../../../sdk/src/verify/index.ts";
import type { Stage } from "../shared/types.ts";
import { useDashboard } from "../dashboard.tsx";

/** What the committee of the running attempt says, while it says it; null while nothing was heard. The dashboard polls the chain all the while. */
export function useLive(
  { request, attempt }: RequestUpdate,
  committee: Extract<Stage, { kind: "drawn" }>["committee"],
): LiveState | null {
  const { settings } = useDashboard();
  const [state, setState] = useState<LiveState | null>(null);
  useEffect(() => {
    const left = new AbortController();
    const { signal } = left;
    void watch({ deployment: settings, request, attempt, committee, streams: settings.live, signal }, setState);
    return () => left.abort();
  }, [request, attempt, committee, settings]);
  return state;
}

async function watch(request: LiveRequest, tell: (state: LiveState) => void): Promise<void> {
  const { streams, signal } = request;
  if (streams.length === 0) return;
  const { watchLive } = await import("../../../sdk/src/verify/index.ts");
  try {
    for await (const state of watchLive(request)) if (!signal.aborted) tell(state);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
