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
export function Nothing({ isFiltered, told }: Props): ReactElement {
  const {
    settings: { deploymentBlock },
  } = useDashboard();
  if (told?.source === "chain" && told.toBlock < deploymentBlock)
    return (
      <p className="problem" role="status">
        The chain’s newest block is {told.toBlock}, and the settings say that the deployment is in block{" "}
        {deploymentBlock}. <Link href="/settings">Correct it in the settings</Link>.
      </p>
    );
  return isFiltered ? (
    <p>No request matches. Change the search.</p>
  ) : (
    <p>
      {told?.source === "subgraph" ? "The subgraph knows no request yet." : `Nobody has asked in ${LATEST_BLOCKS}.`}{" "}
      <Link href="/ask">Ask a question</Link>.
    </p>
  );
}
