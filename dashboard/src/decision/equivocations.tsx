import { useQuery } from "@tanstack/react-query";
import type { ReactElement, ReactNode } from "react";
import { Link } from "wouter";
import type { TranscriptMessage } from "../../../sdk/src/verify/index.ts";
import { useChainTerms } from "../agents/agents-page.tsx";
import { amount, listed, shortHex } from "../shared/format.ts";
import { Quoted } from "../shared/quoted.tsx";
import { FEW_BLOCKS } from "../shared/source.tsx";
import { retryMs } from "../shared/trouble.tsx";
import type { PastFault, Stage } from "../shared/types.ts";
import { useDashboard } from "../dashboard.tsx";
import type { Equivocation } from "./argument.ts";

/** The deliberation whose equivocations are shown: the chain knows by it what they cost. */
export interface Deliberated {
  readonly requestId: bigint;
  readonly attempt: number;
  /** The block of the question. */
  readonly since: bigint;
}

interface Props {
  readonly equivocations: readonly Equivocation[];
  readonly committee: Extract<Stage, { kind: "decided" }>["committee"];
  readonly deliberated: Deliberated;
  /** True if the messages are events, which have a number and no round. */
  readonly isHashgraph: boolean;
}

/** Seats that signed two different things for one place: what it cost them, what differs, and both messages folded. */
export function Equivocations({ equivocations, ...props }: Props): ReactElement | null {
  if (equivocations.length === 0) return null;
  return (
    <section className="stack">
      <h2>Signed two things</h2>
      {[...Map.groupBy(equivocations, ({ seat }) => seat)].map(([seat, own]) => (
        <OfSeat key={seat} seat={seat} equivocations={own} {...props} />
      ))}
    </section>
  );
}

function OfSeat({
  seat,
  equivocations,
  committee,
  deliberated,
  isHashgraph,
}: Props & { readonly seat: number }): ReactElement {
  const agentId = committee[seat]?.agentId;
  return (
    <div className="equivocation stack">
      <p>
        <strong>Seat {seat}</strong> signed different messages for{" "}
        {equivocations.length === 1 ? "one place" : `each of ${equivocations.length} places`}: its signatures prove it.{" "}
        {agentId !== undefined && <Cost agentId={agentId} deliberated={deliberated} />}
      </p>
      <ul className="plain stack">
        {equivocations.map((one) => (
          <li key={one.messages.map(({ cid }) => cid).join(" ")}>
            <p>
              {isHashgraph ? "Event" : "Round"} {one.round}, {one.messages[0]?.name ?? "refused"}:{" "}
              <Difference equivocation={one} />
            </p>
            <details className="small">
              <summary>{one.messages.length === 2 ? "Both messages" : `All ${one.messages.length} messages`}</summary>
              <div className="sides">
                {one.messages.map((message, index) => (
                  <Side key={message.cid} message={message} held={one.held[index] ?? []} />
                ))}
              </div>
            </details>
          </li>
        ))}
      </ul>
    </div>
  );
}

function Difference({ equivocation }: { readonly equivocation: Equivocation }): ReactNode {
  const { differsIn, answers, fields, held } = equivocation;
  if (differsIn === "links") return "the same words, which build on different messages.";
  if (differsIn === "heard") {
    const texts = [...new Set(held.map(seatsText))];
    return `the same words. One says that its seat had heard ${texts.join("; another, ")}.`;
  }
  const given = [...new Set(answers)];
  if (given.length < 2)
    return (
      <>
        the messages differ in <Quoted text={listed(fields)} most={200} />.
      </>
    );
  return (
    <>
      it answered{" "}
      {given.map((answer, index) => (
        <span key={answer ?? ""}>
          {index > 0 && ", and "}
          {answer === null ? (
            "nothing"
          ) : (
            <>
              “<Quoted text={answer} most={60} />”
            </>
          )}
        </span>
      ))}
      .
    </>
  );
}

function seatsText(seats: readonly number[]): string {
  return seats.length === 0 ? "nobody" : listed(seats.map((one) => `seat ${one}`));
}

function Side({
  message,
  held,
}: {
  readonly message: TranscriptMessage;
  readonly held: readonly number[];
}): ReactElement {
  return (
    <div className="side">
      <pre>
        <Quoted text={JSON.stringify(message.says, null, 1)} most={4_000} />
      </pre>
      <p>It says that it had heard {seatsText(held)}.</p>
      <p className="mono soft">{message.cid}</p>
    </div>
  );
}

/** Says what the chain took for it, or that nobody has brought the proof. */
function Cost({
  agentId,
  deliberated,
}: {
  readonly agentId: number;
  readonly deliberated: Deliberated;
}): ReactElement | null {
  const { data: faults, error } = useSlashed(deliberated);
  const { data: terms } = useChainTerms();
  if (error !== null)
    return (
      <>
        What it has cost cannot be read now: <Quoted text={error.message} most={200} />
      </>
    );
  if (faults === undefined || terms === undefined) return null;
  if (faults === null) return <>What it cost stands at the end of this page.</>;
  const own = faults.filter((one) => one.agentId === agentId);
  const agent = <Link href={`/agents/${agentId}`}>agent {agentId}</Link>;
  if (own.length === 0)
    return <>Nobody has brought the proof against {agent} to the slasher yet: anybody can (conclave evidence).</>;
  const { decimals, symbol } = terms.stakeToken;
  return (
    <>
      {own.map(({ cost, reporter, transaction }) => (
        <span key={transaction}>
          {cost === 0n ? "Nothing was left to take from" : `${amount(cost, decimals, symbol)} were taken from`} {agent}{" "}
          for it, by the proof of{" "}
          <span className="mono" title={reporter}>
            {shortHex(reporter)}
          </span>
          .{" "}
        </span>
      ))}
    </>
  );
}

/** Time between two looks at what it cost: proofs come after the decision. */
const LOOK_MS = 10_000;
/** No deliberation has more seats. */
const MOST = 100;

/** Faults of a deliberation; null if it would take many calls of the node to find them. */
function useSlashed({ requestId, attempt, since }: Deliberated) {
  const { conclave, settings, publicClient } = useDashboard();
  return useQuery({
    queryKey: ["slashed", settings, String(requestId), attempt],
    queryFn: async ({ signal }): Promise<readonly PastFault[] | null> => {
      const blocks = Number((await publicClient.getBlockNumber()) - since) + 1;
      if (settings.subgraphUrl === null && blocks > FEW_BLOCKS) return null;
      const found = await conclave.faults({ requestId, limit: MOST, blocks: Math.min(blocks, FEW_BLOCKS), signal });
      if (found.source === "chain" && blocks > FEW_BLOCKS) return null;
      return found.faults.filter((one) => one.fault === "messages" && one.attempt === attempt);
    },
    refetchInterval: ({ state: { data, error } }) => (data === undefined || data === null ? retryMs(error) : LOOK_MS),
  });
}
