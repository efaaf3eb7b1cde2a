import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useDeferredValue, useState, type ReactElement } from "react";
import { Link } from "wouter";
import { PROTOCOL_CODES, type HistoryPage as Page, type ProtocolId } from "../../../sdk/src/index.ts";
import { Choice, Field } from "../shared/field.tsx";
import { plural, statusText } from "../shared/format.ts";
import { Trouble } from "../shared/trouble.tsx";
import type { PastRequest, PastStatus } from "../shared/types.ts";
import { useDashboard } from "../dashboard.tsx";
import { RequestList } from "./request-list.tsx";

const PAGE = 100;
/** A subgraph that lacks more blocks than this says so. */
const BEHIND_BLOCKS = 10;
const STATUSES: readonly PastStatus[] = ["requested", "decided", "hung", "unanswerable", "tooEarly", "refunded"];
const ANY = "";

/** All requests, the newest first. */
export function HistoryPage(): ReactElement {
  const { conclave, settings } = useDashboard();
  const [status, setStatus] = useState<PastStatus | typeof ANY>(ANY);
  const [protocol, setProtocol] = useState<ProtocolId | typeof ANY>(ANY);
  const [text, setText] = useState("");
  const wanted = useDeferredValue(text.trim().toLowerCase());
  const history = useInfiniteQuery({
    queryKey: ["history", settings, status, protocol],
    queryFn: ({ pageParam, signal }) =>
      conclave.history({
        limit: PAGE,
        signal,
        ...(pageParam !== null && { cursor: pageParam }),
        ...(status !== ANY && { statuses: [status] }),
        ...(protocol !== ANY && { protocol }),
      }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
  });
  const requests = (history.data?.pages ?? []).flatMap((page) => page.requests);
  const shown = wanted === "" ? requests : requests.filter((one) => isAbout(one, wanted));
  const more = history.hasNextPage && !history.isFetchingNextPage ? () => void history.fetchNextPage() : null;

  return (
    <div className="stack">
      <h1 className="hidden">Decisions</h1>
      <div className="filters">
        <Field name="text" label="Search" value={text} onChange={setText} />
        <Choice
          label="Status"
          value={status}
          options={[[ANY, "All"], ...STATUSES.map((one) => [one, statusText(one)] as const)]}
          onChange={(one) => setStatus(one as PastStatus)}
        />
        <Choice
          label="Protocol"
          value={protocol}
          options={[[ANY, "All"], ...Object.keys(PROTOCOL_CODES).map((one) => [one, one] as const)]}
          onChange={(one) => setProtocol(one as ProtocolId)}
        />
      </div>
      {history.error !== null && <Trouble error={history.error} onRetry={() => void history.refetch()} />}
      {history.data !== undefined && <Source page={history.data.pages.at(-1)} />}
      {history.isPending && <p className="loading">Reading the history…</p>}
      {history.data !== undefined && shown.length === 0 && more === null && <Nothing isFiltered={shown !== requests} />}
      {shown.length > 0 && <RequestList requests={shown} onEnd={more} />}
      {shown.length === 0 && more !== null && (
        <button type="button" onClick={more}>
          Search older requests
        </button>
      )}
    </div>
  );
}

function isAbout({ question, requestId, decision }: PastRequest, wanted: string): boolean {
  return [question, decision?.answer ?? "", String(requestId)].some((text) => text.toLowerCase().includes(wanted));
}

function Nothing({ isFiltered }: { readonly isFiltered: boolean }): ReactElement {
  return isFiltered ? (
    <p>No request matches. Change the search.</p>
  ) : (
    <p>
      Nobody has asked yet. <Link href="/ask">Ask the first question</Link>.
    </p>
  );
}

/** Says where the list comes from, and what it lacks. */
function Source({ page }: { readonly page: Page | undefined }): ReactElement | null {
  const { publicClient, settings } = useDashboard();
  const { data: head } = useQuery({
    queryKey: ["head", settings],
    queryFn: () => publicClient.getBlockNumber(),
    refetchInterval: 10_000,
  });
  if (page === undefined) return null;
  const behind = head === undefined ? 0 : Number(head) - page.toBlock;
  if (page.source === "chain")
    return (
      <p className="soft small">
        {settings.subgraphUrl === null
          ? "From the events of the latest 50,000 blocks."
          : "The subgraph does not answer. This is from the events of the latest 50,000 blocks; older requests are missing."}
      </p>
    );
  return (
    <p className="soft small">
      {behind > BEHIND_BLOCKS
        ? `From a subgraph that is ${plural(behind, "block")} behind the chain: the newest requests may be missing.`
        : "From a subgraph. Open a decision to prove it."}
    </p>
  );
}
