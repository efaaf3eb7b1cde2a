import { useQuery } from "@tanstack/react-query";
import type { ReactElement, ReactNode } from "react";
import { Link } from "wouter";
import { useChainTerms } from "../agents/agents-page.tsx";
import { amount, shortHex, shortId, time } from "../shared/format.ts";
import { Source } from "../shared/source.tsx";
import { Trouble } from "../shared/trouble.tsx";
import type { PastFault } from "../shared/types.ts";
import { useDashboard } from "../dashboard.tsx";

interface Props {
  /** Faults of this agent alone. */
  readonly agentId?: number;
  /** Faults in this request alone. */
  readonly requestId?: bigint;
  /** What stands there if there are none. */
  readonly none: string;
}

/** Faults that are listed. */
const MOST = 100;

/** Who was slashed, for what, by which proof, and what it cost; the newest first. */
export function FaultList({ agentId, requestId, none }: Props): ReactElement {
  const { conclave, settings } = useDashboard();
  const found = useQuery({
    queryKey: ["faults", settings, agentId, String(requestId)],
    queryFn: ({ signal }) =>
      conclave.faults({
        limit: MOST,
        signal,
        ...(agentId !== undefined && { agentId }),
        ...(requestId !== undefined && { requestId }),
      }),
  });
  if (found.error !== null) return <Trouble error={found.error} onRetry={() => void found.refetch()} />;
  if (found.data === undefined) return <p className="loading">Reading the faults…</p>;
  const { faults } = found.data;
  return (
    <>
      {faults.length === 0 && <p>{none}</p>}
      {faults.length === MOST && <p className="soft small">The newest {MOST}. Each agent has its own list.</p>}
      <ul className="plain stack">
        {faults.map((fault) => (
          <li key={`${fault.transaction} ${fault.agentId} ${fault.requestId}`} className="fault">
            <Fault fault={fault} />
          </li>
        ))}
      </ul>
      <Source told={found.data} what="faults" proof="The chain took the proof of each." />
    </>
  );
}

const DEEDS: Readonly<Record<PastFault["fault"], string>> = {
  messages: "signed two messages for one place",
  decisions: "signed two decisions in one ballot",
  overturned: "certified an answer that larger committees overturned",
};

function Fault({
  fault: { agentId, requestId, fault, cost, time: at, ...proof },
}: {
  readonly fault: PastFault;
}): ReactElement {
  const inTokens = useTokens();
  return (
    <>
      <p>
        <Link href={`/agents/${agentId}`}>Agent {agentId}</Link> {DEEDS[fault]} in{" "}
        <Link href={`/request/${requestId}`}>{shortId(requestId)}</Link>;{" "}
        {cost === 0n ? "nothing was left to take" : <>it cost {inTokens(cost)}</>}
      </p>
      <p className="soft small">
        {time(at)}. {fault === "overturned" ? "Appealed against by" : "Proven by"}{" "}
        <span className="mono" title={proof.reporter}>
          {shortHex(proof.reporter)}
        </span>
        {proof.reward > 0n && <>, who got {inTokens(proof.reward)}</>}. The proof is in the transaction{" "}
        <span className="mono">{proof.transaction}</span>.
      </p>
    </>
  );
}

/** Shows an amount of stake, once the token is known. */
function useTokens(): (value: bigint) => ReactNode {
  const { data: terms } = useChainTerms();
  return (value) => (terms === undefined ? "…" : amount(value, terms.stakeToken.decimals, terms.stakeToken.symbol));
}
