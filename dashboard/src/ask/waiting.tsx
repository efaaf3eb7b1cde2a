import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import type { Asked } from "../../../sdk/src/index.ts";
import { NodeAway } from "../shared/node-away.tsx";
import { Trouble } from "../shared/trouble.tsx";
import { useDashboard } from "../dashboard.tsx";

interface Props {
  /** The transaction that asks. */
  readonly hash: `0x${string}`;
  readonly onAsked: (asked: Asked) => void;
  readonly onForget: () => void;
}

/** Waits for a question that was sent before the page was loaded again. */
export function Waiting({ hash, onAsked, onForget }: Props): ReactElement {
  const { conclave, settings } = useDashboard();
  const waiting = useQuery({
    queryKey: ["asked", settings, hash],
    gcTime: 0,
    queryFn: async ({ signal }) => {
      const asked = await conclave.asked(hash, signal);
      onAsked(asked);
      return String(asked.requestId);
    },
  });
  return (
    <div className="narrow stack">
      <h1>Ask</h1>
      <section className="card stack" aria-label="Sent">
        <p role="status">Your question is sent and waits for the chain. Its decision opens here.</p>
        <p className="small">
          Transaction <span className="mono">{hash}</span>
        </p>
        {waiting.isFetching && <NodeAway />}
        {waiting.error !== null && <Trouble error={waiting.error} onRetry={() => void waiting.refetch()} />}
        <div className="row">
          <button type="button" onClick={onForget}>
            Do not wait: ask another question
          </button>
        </div>
      </section>
    </div>
  );
}
