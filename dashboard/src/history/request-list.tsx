import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useLayoutEffect, useRef, type ReactElement } from "react";
import { Link } from "wouter";
import { answerText, percent, protocolName, shortId, statusText, time } from "../shared/format.ts";
import { Quoted } from "../shared/quoted.tsx";
import type { PastRequest } from "../shared/types.ts";

interface Props {
  readonly requests: readonly PastRequest[];
  /** Loads more; null if there is no more, or if it loads already. */
  readonly onEnd: (() => void) | null;
}

/** Height of a row before it is measured, in pixels. */
const ROW = 76;
const AHEAD = 12;
/** Characters of a question in a row. */
const QUESTION = 280;

/** A list of any length: only the rows in view are there. */
export function RequestList({ requests, onEnd }: Props): ReactElement {
  const list = useRef<HTMLDivElement>(null);
  // No compiler of React runs here, which could not memoize what it returns.
  // eslint-disable-next-line react/incompatible-library
  const rows = useWindowVirtualizer({
    count: requests.length,
    estimateSize: () => ROW,
    getItemKey: (index) => String(requests[index]?.requestId),
    overscan: AHEAD,
    scrollMargin: list.current?.offsetTop ?? 0,
  });
  const items = rows.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  const newest = useRef(requests[0]?.requestId);
  // What is new comes above, and moves nothing that is being read.
  useLayoutEffect(() => {
    const before = requests.findIndex(({ requestId }) => requestId === newest.current);
    newest.current = requests[0]?.requestId;
    const { scrollMargin } = rows.options;
    const place = rows.measurementsCache[before]?.start ?? 0;
    if (before > 0 && scrollY > scrollMargin) scrollBy(0, place - scrollMargin);
  }, [requests, rows]);
  useEffect(() => {
    if (last >= requests.length - AHEAD) onEnd?.();
  }, [last, requests.length, onEnd]);

  return (
    <div ref={list} role="list" aria-label="Requests" className="requests" style={{ height: rows.getTotalSize() }}>
      {items.map(({ index, key, start }) => {
        const request = requests[index];
        if (request === undefined) return null;
        const offset = start - rows.options.scrollMargin;
        return (
          <div
            key={key}
            ref={rows.measureElement}
            data-index={index}
            role="listitem"
            aria-setsize={requests.length}
            aria-posinset={index + 1}
            style={{ transform: `translateY(${offset}px)` }}
          >
            <Row request={request} />
          </div>
        );
      })}
    </div>
  );
}

function Row({ request }: { readonly request: PastRequest }): ReactElement {
  const { requestId, question, decision, status, provisional } = request;
  return (
    <Link href={`/request/${requestId}`} className="request">
      <span className="question">
        <Quoted text={question} most={QUESTION} />
      </span>
      <span className="meta">
        <span className="number">{shortId(requestId)}</span>
        <time dateTime={new Date(request.time * 1_000).toISOString()}>{time(request.time)}</time>
        <span>{protocolName(request.protocol)}</span>
      </span>
      <span className={`answer is-${status}`}>
        {decision === null ? statusText(status) : <Quoted text={answerText(decision)} most={48} />}
      </span>
      <span className="meta number">
        {decision?.status === "decided" ? percent(decision.confidence) : ""}
        {provisional ? " provisional" : ""}
      </span>
    </Link>
  );
}
