import type { ReactElement } from "react";
import { Link } from "wouter";
import { percent, time } from "../shared/format.ts";
import type { Stage } from "../shared/types.ts";

interface Props {
  readonly committee: Extract<Stage, { kind: "drawn" }>["committee"];
  /** Unix seconds. */
  readonly deadline: number;
}

/** Who deliberates now. What they say is secret until all have committed to their answers. */
export function Committee({ committee, deadline }: Props): ReactElement {
  return (
    <section className="stack" aria-live="polite">
      <h2>{committee.length} seats deliberate</h2>
      <p className="soft">
        They have until {time(deadline)}. What they say can be read once their decision is on the chain.
      </p>
      <ul className="panes">
        {committee.map(({ agentId, reputation }, seat) => (
          <li key={`seat ${seat}`} className="pane waiting">
            <h3>Seat {seat}</h3>
            <p className="soft small">
              <Link href={`/agents/${agentId}`}>Agent {agentId}</Link>, reputation {percent(reputation)}
            </p>
            <p className="soft">Deliberates…</p>
          </li>
        ))}
      </ul>
    </section>
  );
}
