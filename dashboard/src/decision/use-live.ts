import { useEffect, useState } from "react";
import type { LiveState } from "../../../sdk/src/verify/index.ts";
import type { Stage } from "../shared/types.ts";
import { useWorld } from "../world.tsx";
import type { RequestUpdate } from "../../../sdk/src/index.ts";

/** What the committee of the running attempt says, while it says it; null while nothing was heard. The page polls the chain all the while. */
export function useLive(
  update: RequestUpdate,
  committee: Extract<Stage, { kind: "drawn" }>["committee"],
): LiveState | null {
  const { settings } = useWorld();
  const [state, setState] = useState<LiveState | null>(null);
  useEffect(() => {
    const left = new AbortController();
    const { request, attempt } = update;
    const watch = async (): Promise<void> => {
      const { watchLive } = await import("../../../sdk/src/verify/index.ts");
      const { signal } = left;
      const place = { deployment: settings, request, attempt, committee, streams: settings.live, signal };
      for await (const next of watchLive(place)) if (!signal.aborted) setState(next);
    };
    if (settings.live.length > 0)
      watch().catch((error: unknown) => {
        if (!left.signal.aborted) throw error;
      });
    return () => left.abort();
  }, [update, committee, settings]);
  return state;
}
