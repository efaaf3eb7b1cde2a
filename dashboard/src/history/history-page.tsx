import {
  useInfiniteQuery,
  useQuery,
  useQueryClient,
  type InfiniteData,
  type UseInfiniteQueryResult,
} from "@tanstack/react-query";
import { lazy, Suspense, useDeferredValue, useState, type ReactElement } from "react";
import { PROTOCOL_CODES, type HistoryPage as Told, type ProtocolId } from "../../../sdk/src/index.ts";
import { Choice, Field } from "../shared/field.tsx";
import { shortId, statusText } from "../shared/format.ts";
import { FEW_BLOCKS, Source } from "../shared/source.tsx";
import { Trouble } from "../shared/trouble.tsx";
import type { PastRequest, PastStatus } from "../shared/types.ts";
import { useDashboard } from "../dashboard.tsx";
import { RequestList } from "./request-list.tsx";

const Nothing = lazy(async () => ({ default: (await import("./nothing.tsx")).Nothing }));

const PAGE = 100;
const STATUSES: readonly PastStatus[] = ["requested", "decided", "hung", "unanswerable", "tooEarly", "refunded"];
const ANY = "";
/** Time between two looks at what is new. */
const LOOK_MS = 15_000;

/** All requests, the newest first. */
export function HistoryPage(): ReactElement {
  const { conclave, settings } = useDashboard();
  const [status, setStatus] = useState<PastStatus | typeof ANY>(ANY);
  const [protocol, setProtocol] = useState<ProtocolId | typeof ANY>(ANY);
  const [text, setText] = useState("");
  const wanted = useDeferredValue(text.trim().toLowerCase());
  const queryKey = ["history", settings, status, protocol];
  const read: Read = (cursor, signal) =>
    conclave.history({
      limit: PAGE,
      signal,
      ...(cursor !== null && { cursor }),
      ...(status !== ANY && { statuses: [status] }),
      ...(protocol !== ANY && { protocol }),
    });
  const history = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) => read(pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
  });
  const newest = history.data?.pages[0];
  // Without a subgraph the node would be asked for the events of many blocks each time.
  const isCheap = newest?.source === "subgraph" || (newest?.toBlock ?? 0) - settings.deploymentBlock < FEW_BLOCKS;
  useNewest(queryKey, read, history, isCheap);
  const requests = (history.data?.pages ?? []).flatMap((page) => page.requests);
  const shown = wanted === "" ? requests : requests.filter((one) => isAbout(one, wanted));
  const isFiltered = wanted !== "" || status !== ANY || protocol !== ANY;
  const more = history.hasNextPage && !history.isFetchingNextPage ? () => void history.fetchNextPage() : null;
  // A page that failed would be asked for without pause, and a search with few matches would read everything.
  const isByItself = history.error === null && wanted === "";
  const trouble = history.error !== null && (
    <Trouble
      error={history.error}
      onRetry={() => void (history.isFetchNextPageError ? history.fetchNextPage() : history.refetch())}
    />
  );

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
      {!history.isFetchNextPageError && trouble}
      {history.data !== undefined && <Source told={newest} what="requests" proof="Open a decision to prove it." />}
      {history.isPending && <p className="loading">Reading the history…</p>}
      {history.data !== undefined && shown.length === 0 && more === null && (
        <Suspense>
          <Nothing isFiltered={isFiltered} told={newest} />
        </Suspense>
      )}
      {shown.length > 0 && <RequestList requests={shown} onEnd={isByItself ? more : null} />}
      {history.isFetchNextPageError && trouble}
      {more !== null && !history.isFetchNextPageError && (shown.length === 0 || !isByItself) && (
        <button type="button" onClick={more}>
          Search older requests
        </button>
      )}
    </div>
  );
}

type Read = (cursor: string | null, signal: AbortSignal) => Promise<Told>;

/** Reads the first page again and again, however many are shown. */
function useNewest(
  queryKey: readonly unknown[],
  read: Read,
  { isSuccess, isFetching, refetch }: Pick<UseInfiniteQueryResult, "isSuccess" | "isFetching" | "refetch">,
  isCheap: boolean,
): void {
  const queries = useQueryClient();
  useQuery({
    queryKey: ["newest", ...queryKey],
    enabled: isSuccess && !isFetching && isCheap,
    initialData: null,
    staleTime: Infinity,
    gcTime: 0,
    refetchInterval: LOOK_MS,
    queryFn: async ({ signal }) => {
      const [newest, { withNewest }] = await Promise.all([read(null, signal), import("./newest.ts")]);
      const shown = queries.getQueryData<InfiniteData<Told, string | null>>(queryKey);
      const next = shown === undefined ? null : withNewest(shown, newest);
      if (next === null) void refetch();
      else queries.setQueryData(queryKey, next);
      return null;
    },
  });
}

function isAbout({ question, requestId, decision }: PastRequest, wanted: string): boolean {
  const texts = [question, decision?.answer ?? "", String(requestId), shortId(requestId)];
  return texts.some((text) => text.toLowerCase().includes(wanted));
}
