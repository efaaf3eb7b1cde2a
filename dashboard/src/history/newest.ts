import type { InfiniteData } from "@tanstack/react-query";
import type { HistoryPage } from "../../../sdk/src/index.ts";

/** Returns the pages that are shown with what the first page has become; null where both do not fit together any more. */
export function withNewest(
  shown: InfiniteData<HistoryPage, string | null>,
  newest: HistoryPage,
): InfiniteData<HistoryPage, string | null> | null {
  const [first, ...older] = shown.pages;
  if (newest.next === null) return { pages: [newest], pageParams: [null] };
  const found = new Set(newest.requests.map(({ requestId }) => requestId));
  const isJoined = first?.requests.some(({ requestId }) => found.has(requestId)) === true;
  if (first?.source !== newest.source || !isJoined) return null;
  // What is newer than that and not among it belongs here no more, e.g. since it was decided.
  const end = newest.requests.at(-1)?.time ?? 0;
  const [rest = [], ...after] = shown.pages.map(({ requests }) =>
    requests.filter(({ requestId, time }) => time <= end && !found.has(requestId)),
  );
  const pages = older.map((page, index) => ({ ...page, requests: after[index] ?? [] }));
  return { ...shown, pages: [{ ...newest, requests: [...newest.requests, ...rest], next: first.next }, ...pages] };
}
