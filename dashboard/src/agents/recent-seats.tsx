import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { RequestList } from "../history/request-list.tsx";
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
      {seats.data?.requests.length === 0 && <p className="soft">It sat on no committee that decided.</p>}
      {seats.data !== undefined && seats.data.requests.length > 0 && (
        <RequestList requests={seats.data.requests} onEnd={null} />
      )}
    </section>
  );
}
