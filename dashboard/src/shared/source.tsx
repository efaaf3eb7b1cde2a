import { useQuery, type UseQueryResult } from "@tanstack/react-query";
import type { ReactElement } from "react";
import type { HistoryPage } from "../../../sdk/src/index.ts";
import { Link } from "wouter";
import { useDashboard } from "../dashboard.tsx";
import { plural } from "./format.ts";
import { Quoted } from "./quoted.tsx";

interface Props {
  readonly told: Pick<HistoryPage, "source" | "toBlock" | "subgraphError"> | undefined;
  /** What is listed. */
  readonly what: "requests" | "faults";
  /** How to see more than the subgraph's word. */
  readonly proof: string;
  /** The blocks whose events were read if no subgraph answers. */
  readonly blocks?: string;
}

/** Blocks whose events may be read again and again. */
export const FEW_BLOCKS = 50_000;
export const LATEST_BLOCKS = "the latest 50 000 blocks";

/** A subgraph that lacks more blocks than this says so. */
const BEHIND_BLOCKS = 10;
/** No node lacks so many blocks for the time in which the page asks it once. */
const AHEAD_BLOCKS = 1_000;

/** The chain's newest block, looked for again and again; its error is that the node does not answer now. */
function useHead(): UseQueryResult<bigint> {
  const { publicClient, settings } = useDashboard();
  return useQuery({
    queryKey: ["head", settings],
    queryFn: () => publicClient.getBlockNumber(),
    refetchInterval: 6_000,
  });
}

/** Says above every page what is wrong with the chain that it is read from. Not loaded apart: the page's server may be away, too. */
export function ChainTrouble(): ReactElement | null {
  const {
    settings: { deploymentBlock },
  } = useDashboard();
  const { data: head, error } = useHead();
  if (error === null && !(Number(head) < deploymentBlock)) return null;
  return (
    <p className="problem" role="status">
      {error === null ? (
        <>
          The chain’s newest block is {String(head)}, and the settings say that the deployment is in block{" "}
          {deploymentBlock}. <Link href="/settings">Correct it in the settings</Link>.
        </>
      ) : (
        "The node gives no answer: this may be old."
      )}
    </p>
  );
}

/** Says where a list comes from, and what it lacks. */
export function Source({ told, what, proof, blocks = LATEST_BLOCKS }: Props): ReactElement | null {
  const { settings } = useDashboard();
  const { data: head } = useHead();
  if (told === undefined) return null;
  const behind = head === undefined ? 0 : Number(head) - told.toBlock;
  if (told.source === "chain" && settings.subgraphUrl === null)
    return <p className="soft small">From the events of {blocks}.</p>;
  if (told.source === "chain")
    return (
      <p className="soft small">
        The subgraph gives no answer. This is from the events of {blocks}
        {blocks === LATEST_BLOCKS && `; older ${what} are missing`}.
        {told.subgraphError !== null && (
          <>
            {" "}
            Reason: <Quoted text={told.subgraphError.message} most={200} />
          </>
        )}
      </p>
    );
  if (behind < -AHEAD_BLOCKS)
    return (
      <p className="problem" role="status">
        From a subgraph that claims to know {plural(-behind, "block")} more than the node of the chain has. One of them
        is wrong: do not rely on this list.
      </p>
    );
  return (
    <p className="soft small">
      {behind > BEHIND_BLOCKS
        ? `From a subgraph that is ${plural(behind, "block")} behind the chain: the newest ${what} may be missing.`
        : `From a subgraph. ${proof}`}
    </p>
  );
}

/** Says that what stands here is the word of a subgraph alone. */
export function SubgraphAlone(): ReactElement {
  return <p className="soft small">From a subgraph. This page has not checked it.</p>;
}
