import type { ReactElement } from "react";
import { Link } from "wouter";
import { useAgents, type Agent } from "../agents/agents-page.tsx";
import { Trouble } from "../shared/trouble.tsx";
import { FaultList } from "./fault-list.tsx";

/** Everybody who was slashed, and who is not drawn any more. */
export function FaultsPage(): ReactElement {
  return (
    <div className="stack">
      <h1>Faults</h1>
      <p className="soft">
        Stake is slashed by proof alone: for two different things that one key signed for one place, or for an answer
        with stake behind it that two larger committees overturned. Anybody may bring such a proof.
      </p>
      <section className="stack" aria-label="Slashed">
        <h2>Slashed</h2>
        <FaultList none="Nobody was slashed." />
      </section>
      <OutOfTheDraw />
    </div>
  );
}

function OutOfTheDraw(): ReactElement {
  const agents = useAgents();
  const out = (agents.data ?? []).filter(({ asleep, exited }) => asleep || exited);
  return (
    <section className="stack" aria-label="Out of the draw">
      <h2>Out of the draw</h2>
      {agents.error !== null && <Trouble error={agents.error} onRetry={() => void agents.refetch()} />}
      {agents.isPending && <p className="loading">Reading the registry…</p>}
      {agents.data !== undefined && out.length === 0 && <p>No agent sleeps, and none has left.</p>}
      <ul className="plain stack">
        {out.map((agent) => (
          <li key={agent.agentId}>
            <Link href={`/agents/${agent.agentId}`}>Agent {agent.agentId}</Link> {whyOut(agent)}
          </li>
        ))}
      </ul>
    </section>
  );
}

function whyOut({ exited }: Agent): string {
  return exited
    ? "has left for good: its reputation fell below 10 %, or it was slashed while it had less than the minimum stake."
    : "is asleep: it missed three seats in a row. It sits on no committee and earns nothing until its operator or its key wakes it.";
}
