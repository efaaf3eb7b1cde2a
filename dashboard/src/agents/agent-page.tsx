import type { ReactElement, ReactNode } from "react";
import { Link } from "wouter";
import { FaultList } from "../faults/fault-list.tsx";
import { amount, percent, shortHex } from "../shared/format.ts";
import { Quoted } from "../shared/quoted.tsx";
import { Trouble } from "../shared/trouble.tsx";
import { AgentRecord } from "./agent-record.tsx";
import { RecentSeats } from "./recent-seats.tsx";
import { stateOf, useAgents, useChainTerms, type Agent } from "./agents-page.tsx";
import { StakePanel } from "./stake-panel.tsx";

/** One agent: its record, and what the connected account has staked for it. */
export function AgentPage({ id }: { readonly id: string }): ReactElement {
  const agents = useAgents();
  const agent = agents.data?.find(({ agentId }) => String(agentId) === id);
  if (agents.error !== null) return <Trouble error={agents.error} onRetry={() => void agents.refetch()} />;
  if (agents.isPending) return <p className="loading">Reading the registry…</p>;
  if (agent === undefined)
    return (
      <div className="narrow stack">
        <h1>There is no such agent</h1>
        <p>
          <Link href="/agents">All agents</Link>
        </p>
      </div>
    );
  return (
    <article className="stack">
      <h1>Agent {agent.agentId}</h1>
      <Record agent={agent} />
      <StakePanel agentId={agent.agentId} />
      <AgentRecord agentId={agent.agentId} />
      <section className="stack" aria-label="Faults">
        <h2>Faults</h2>
        <FaultList agentId={agent.agentId} none="It was never slashed." />
        <p className="small">
          <Link href="/agents/faults">The faults of all agents</Link>
        </p>
      </section>
      <RecentSeats agentId={agent.agentId} />
    </article>
  );
}

function Record({ agent }: { readonly agent: Agent }): ReactElement {
  const { data: terms } = useChainTerms();
  const stake = (value: bigint): string =>
    terms === undefined ? "…" : amount(value, terms.stakeToken.decimals, terms.stakeToken.symbol);
  return (
    <dl className="facts">
      <Row name="State">{stateOf(agent)}</Row>
      <Row name="Reputation">{percent(agent.reputation)}</Row>
      <Row name="Stake">{stake(agent.stake)}</Row>
      <Row name="Unbonding">{stake(agent.unbonding)}</Row>
      <Row name="Commission">
        {percent(agent.commission)}
        {agent.raise !== null && `, ${percent(agent.raise.commission)} announced`}
      </Row>
      <Row name="Record">{agent.proven ? "proven" : "new: its stake weighs half"}</Row>
      <Row name="Model, as declared">
        <Quoted text={agent.model} most={80} />
      </Row>
      <Row name="Operator">
        <span className="mono" title={agent.operator}>
          {shortHex(agent.operator)}
        </span>
      </Row>
    </dl>
  );
}

function Row({ name, children }: { readonly name: string; readonly children: ReactNode }): ReactElement {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
