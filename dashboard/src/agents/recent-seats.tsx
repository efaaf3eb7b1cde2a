import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { RequestList } from "../history/request-list.tsx";
import { LATEST_BLOCKS, Source } from "../shared/source.tsx";
import { Trouble } from "../shared/trouble.tsx";
import { useDashboard } from "../dashboard.tsx";

const MOST = 20;

/** The latest requests in whose committees the agent sat. */
export function RecentSeats({ agentId }: { readonly agentId: number }): ReactElement {
  const { conclave, settings } = useDashboard();
  const seats = useQuery({
    queryKey: ["seats", settings, agentId],
    queryFn: ({ signal }) => conclave.history({ agentId, limit: MOST, signal }),
  });
  return (
    <section className="stack">
      <h2>Its latest seats</h2>
      {seats.error !== null && <Trouble error={seats.error} onRetry={() => void seats.refetch()} />}
      {seats.data?.requests.length === 0 && (
        <p>It sat on no committee that decided{seats.data.source === "chain" && ` in ${LATEST_BLOCKS}`}.</p>
      )}
      {seats.data !== undefined && seats.data.requests.length > 0 && (
        <RequestList requests={seats.data.requests} onEnd={null} />
      )}
      <Source told={seats.data} what="requests" proof="Open a decision to prove it." />
    </section>
  );
}
