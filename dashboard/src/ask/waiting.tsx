import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import type { Asked } from "../../../sdk/src/index.ts";
import { shortHex } from "../shared/format.ts";
import { NodeAway } from "../shared/node-away.tsx";
import { Quoted } from "../shared/quoted.tsx";
import { Trouble } from "../shared/trouble.tsx";
import { useDashboard } from "../dashboard.tsx";
import { forgetSent, isRefused, leaveSent, type Sent } from "./sent.ts";

interface Props {
  readonly sent: Sent;
  readonly onAsked: (asked: Asked) => void;
  /** The user does not wait for it any more. */
  readonly onLeft: () => void;
}

/** Characters of the question that are shown. */
const MOST_SHOWN = 200;

/** Waits for a question that was sent before the page was loaded again, or by another tab. */
export function Waiting({ sent: { hash, account, question }, onAsked, onLeft }: Props): ReactElement {
  const { conclave, settings } = useDashboard();
  const waiting = useQuery({
    queryKey: ["asked", settings, hash],
    gcTime: 0,
    queryFn: async ({ signal }) => {
      const asked = await conclave.asked(hash, signal).catch((error: unknown) => {
        if (isRefused(error)) forgetSent(hash);
        throw error;
      });
      forgetSent(hash);
      onAsked(asked);
      return String(asked.requestId);
    },
  });
  return (
    <div className="narrow stack">
      <h1>Ask</h1>
      <section className="card stack" aria-label="Sent">
        <p role="status">Your question is sent and waits for the chain. Its decision opens here.</p>
        <p>
          <Quoted text={question} most={MOST_SHOWN} />
        </p>
        <p className="small">
          Sent by <span className="mono">{shortHex(account)}</span> in transaction <span className="mono">{hash}</span>
        </p>
        {waiting.isFetching && <NodeAway />}
        {waiting.error !== null && <Trouble error={waiting.error} onRetry={() => void waiting.refetch()} />}
        <div className="row">
          <button
            type="button"
            onClick={() => {
              leaveSent(hash);
              onLeft();
            }}
          >
            Do not wait: ask another question
          </button>
        </div>
      </section>
    </div>
  );
}
