import type { ReactElement } from "react";
import { Link } from "wouter";
import type { HistoryPage } from "../../../sdk/src/index.ts";
import { LATEST_BLOCKS } from "../shared/source.tsx";
import { useDashboard } from "../dashboard.tsx";

interface Props {
  readonly isFiltered: boolean;
  readonly told: HistoryPage | undefined;
}

/** Says why no request is listed. */
export function Nothing({ isFiltered, told }: Props): ReactElement | null {
  const {
    settings: { deploymentBlock },
  } = useDashboard();
  // The frame says that the chain has not come so far.
  if (told?.source === "chain" && told.toBlock < deploymentBlock) return null;
  return isFiltered ? (
    <p>No request matches. Change the search.</p>
  ) : (
    <p>
      {told?.source === "subgraph" ? "The subgraph knows no request yet." : `Nobody has asked in ${LATEST_BLOCKS}.`}{" "}
      <Link href="/ask">Ask a question</Link>.
    </p>
  );
}
