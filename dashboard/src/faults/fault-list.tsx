import { useQuery } from "@tanstack/react-query";
import type { ReactElement, ReactNode } from "react";
import { Link } from "wouter";
import type { FoundFaults } from "../../../sdk/src/index.ts";
import { useChainTerms } from "../agents/agents-page.tsx";
import { amount, shortHex, shortId, time } from "../shared/format.ts";
import { FEW_BLOCKS, LATEST_BLOCKS, Source } from "../shared/source.tsx";
import { retryMs, Trouble } from "../shared/trouble.tsx";
import type { PastFault } from "../shared/types.ts";
import { useDashboard } from "../dashboard.tsx";

interface Props {
  /** Faults of this agent alone. */
  readonly agentId?: number;
  /** Faults in this request alone. */
  readonly requestId?: bigint;
  /** The block from which the chain's events tell everything; absent: they are only read in the latest blocks. */
  readonly since?: bigint;
  /** What stands there if there are none at all. */
  readonly none: string;
}

/** Faults that are listed. */
const MOST = 100;

/** Time between two looks at the faults of one request: proofs come after its decision. */
const LOOK_MS = 10_000;

function isCheap({ source, toBlock }: FoundFaults, since: bigint): boolean {
  return source === "subgraph" || toBlock - Number(since) < FEW_BLOCKS;
}

/** Who was slashed, for what, by which proof, and what it cost; the newest first. */
export function FaultList({ agentId, requestId, since, none }: Props): ReactElement {
  const { conclave, settings, publicClient } = useDashboard();
  const found = useQuery({
    queryKey: ["faults", settings, agentId, String(requestId)],
    queryFn: async ({ signal }) =>
      conclave.faults({
        limit: MOST,
        signal,
        ...(since !== undefined && { blocks: Number((await publicClient.getBlockNumber()) - since) + 1 }),
        ...(agentId !== undefined && { agentId }),
        ...(requestId !== undefined && { requestId }),
      }),
    refetchInterval: ({ state: { data, error } }) =>
      since !== undefined && data !== undefined && isCheap(data, since) ? LOOK_MS : retryMs(error),
  });
  if (found.error !== null) return <Trouble error={found.error} onRetry={() => void found.refetch()} />;
  if (found.data === undefined) return <p className="loading">Reading the faults…</p>;
  const { faults, source } = found.data;
  const isWhole = source === "subgraph" || since !== undefined;
  return (
    <>
      {faults.length === 0 && <p>{isWhole ? none : `None in ${LATEST_BLOCKS}.`}</p>}
      {faults.length === MOST && <p className="soft small">The newest {MOST}. Each agent has its own list.</p>}
      <ul className="plain stack">
        {faults.map((fault) => (
          <li key={`${fault.transaction} ${fault.agentId} ${fault.requestId}`} className="fault">
            <Fault fault={fault} />
          </li>
        ))}
      </ul>
      <Source
        told={found.data}
        what="faults"
        proof="The chain took the proof of each."
        {...(since !== undefined && { blocks: "all blocks since the question" })}
      />
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
