import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { Link } from "wouter";
import type { Conclave } from "../../../sdk/src/index.ts";
import { amount, percent } from "../shared/format.ts";
import { Quoted } from "../shared/quoted.tsx";
import { Trouble } from "../shared/trouble.tsx";
import { useDashboard } from "../dashboard.tsx";

export type Agent = Awaited<ReturnType<Conclave["agents"]>>[number];

/** Every agent of the registry. */
export function AgentsPage(): ReactElement {
  const agents = useAgents();
  const { data: terms } = useChainTerms();
  return (
    <div className="stack">
      <h1>Agents</h1>
      <p className="soft">
        Whoever has an agent stakes for it. Committees are drawn by stake and reputation.{" "}
        <Link href="/agents/faults">Who was slashed, and who sleeps</Link>
      </p>
      {agents.error !== null && <Trouble error={agents.error} onRetry={() => void agents.refetch()} />}
      {agents.isPending && <p className="loading">Reading the registry…</p>}
      {agents.data?.length === 0 && <p>No agent has registered yet.</p>}
      {agents.data !== undefined && agents.data.length > 0 && (
        <div className="scroll" tabIndex={0} role="region" aria-label="Agents, a table">
          <table className="agents">
            <thead>
              <tr>
                <th scope="col">Agent</th>
                <th scope="col" className="right">
                  Stake
                </th>
                <th scope="col" className="right">
                  Reputation
                </th>
                <th scope="col">State</th>
                <th scope="col">Model, as declared</th>
                <th scope="col" className="right">
                  Commission
                </th>
              </tr>
            </thead>
            <tbody>
              {agents.data.map((agent) => (
                <tr key={agent.agentId}>
                  <th scope="row">
                    <Link href={`/agents/${agent.agentId}`}>Agent {agent.agentId}</Link>
                  </th>
                  <td className="right number">
                    {terms === undefined
                      ? "…"
                      : amount(agent.stake, terms.stakeToken.decimals, terms.stakeToken.symbol)}
                  </td>
                  <td className="right number">{percent(agent.reputation)}</td>
                  <td>{stateOf(agent)}</td>
                  <td style={{ minWidth: "14rem" }}>
                    <Quoted text={agent.model} most={48} />
                  </td>
                  <td className="right">{percent(agent.commission)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </div>
  );
}

export function useAgents() {
  const { conclave, settings } = useDashboard();
  return useQuery({ queryKey: ["agents", settings], queryFn: ({ signal }) => conclave.agents(signal) });
}

export function useChainTerms() {
  const { conclave, settings } = useDashboard();
  return useQuery({ queryKey: ["terms", settings], queryFn: () => conclave.terms() });
}

export function stateOf({ active, exited, asleep }: Agent): string {
  if (exited) return "has left";
  if (asleep) return "asleep: missed too many seats";
  return active ? "active" : "not active";
}
