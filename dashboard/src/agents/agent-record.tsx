import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { Link } from "wouter";
import type { Conclave } from "../../../sdk/src/index.ts";
import { percent, shortId, time } from "../shared/format.ts";
import { SubgraphAlone } from "../shared/source.tsx";
import { Trouble } from "../shared/trouble.tsx";
import { useDashboard } from "../dashboard.tsx";

type History = NonNullable<Awaited<ReturnType<Conclave["agentHistory"]>>>;

/** Entries of each list. */
const MOST = 100;

/** What happened to an agent: its reputation over time, and how reliable it was. Only a subgraph knows. */
export function AgentRecord({ agentId }: { readonly agentId: number }): ReactElement | null {
  const { conclave, settings } = useDashboard();
  const history = useQuery({
    queryKey: ["agent history", settings, agentId],
    enabled: settings.subgraphUrl !== null,
    queryFn: ({ signal }) => conclave.agentHistory(agentId, MOST, signal),
  });
  if (history.error !== null) return <Trouble error={history.error} onRetry={() => void history.refetch()} />;
  const { data } = history;
  if (data === undefined || data === null) return null;
  return (
    <>
      <Reputation history={data} />
      <Reliability points={data.reliability} />
    </>
  );
}

/** Parts of the drawing, in its own units. */
const [WIDTH, HEIGHT] = [600, 120];

function Reputation({
  history: { reputationChanges, registeredAt, reputation },
}: {
  readonly history: History;
}): ReactElement {
  const changes = reputationChanges.toReversed();
  const [oldest] = changes;
  const from = reputationChanges.length === MOST && oldest !== undefined ? oldest.time : registeredAt;
  const to = changes.at(-1)?.time ?? from;
  const x = (at: number): number => (to === from ? WIDTH : ((at - from) / (to - from)) * WIDTH);
  const y = (ppm: number): number => HEIGHT - (ppm / 1_000_000) * HEIGHT;
  const steps = changes.map(({ time: at, after }) => `H${x(at).toFixed(1)}V${y(after).toFixed(1)}`).join("");
  return (
    <section className="stack">
      <h2>Reputation over time</h2>
      <SubgraphAlone />
      {oldest === undefined ? (
        <p className="soft">It has not changed since the agent registered: {percent(reputation)}.</p>
      ) : (
        <>
          <svg
            className="curve"
            viewBox={`0 -2 ${WIDTH} ${HEIGHT + 4}`}
            preserveAspectRatio="none"
            role="img"
            aria-label={`From ${percent(oldest.before)} on ${time(from)} to ${percent(reputation)} on ${time(to)}, in ${changes.length} changes`}
          >
            <path d={`M0 ${y(oldest.before).toFixed(1)}${steps}`} />
          </svg>
          <p className="row soft small">
            <span>{time(from)}</span> <span>{time(to)}</span>
          </p>
          <details>
            <summary>Each change, the newest first</summary>
            <ul className="plain small">
              {reputationChanges.map(({ requestId, before, after, time: at, transaction }) => (
                <li key={`${transaction} ${requestId}`}>
                  {percent(before)} to {percent(after)} by{" "}
                  <Link href={`/request/${requestId}`}>{shortId(requestId)}</Link>, {time(at)}
                </li>
              ))}
            </ul>
          </details>
        </>
      )}
    </section>
  );
}

/** A curve as a table: what an agent that is sure is worth, by how clear the decision was. */
function Reliability({ points }: { readonly points: History["reliability"] }): ReactElement | null {
  if (points.length === 0) return null;
  return (
    <section className="stack">
      <h2>Reliability</h2>
      <p className="soft small">
        How often its first answers agreed with the decisions that stood, by the confidence of the decision. Only
        decisions with which more than two thirds of the seats agreed count.
      </p>
      <SubgraphAlone />
      <div className="scroll" tabIndex={0} role="region" aria-label="Reliability, a table">
        <table className="agents">
          <thead>
            <tr>
              <th scope="col">Decision</th>
              <th scope="col" className="right">
                When it was sure
              </th>
              <th scope="col" className="right">
                When it was not
              </th>
            </tr>
          </thead>
          <tbody>
            {points.map(({ tenth, sure, unsure }) => (
              <tr key={tenth}>
                <th scope="row">
                  {10 * tenth} to {10 * tenth + 10} % sure
                </th>
                <td className="right number">{agreement(sure)}</td>
                <td className="right number">{agreement(unsure)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function agreement({ agreed, outvoted }: History["reliability"][number]["sure"]): string {
  const all = agreed + outvoted;
  return all === 0 ? "–" : `${agreed} of ${all} (${percent((agreed / all) * 1_000_000)})`;
}
