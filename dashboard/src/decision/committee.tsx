import { useQuery } from "@tanstack/react-query";
import { useMemo, type ReactElement } from "react";
import { Link } from "wouter";
import { PROTOCOL_CODES, type RequestUpdate } from "../../../sdk/src/index.ts";
import { readSeedEnd } from "../../../sdk/src/seed-end.ts";
import type { LiveState } from "../../../sdk/src/verify/index.ts";
import { answerText, percent, plural, time } from "../shared/format.ts";
import { Quoted } from "../shared/quoted.tsx";
import type { Stage } from "../shared/types.ts";
import { useDashboard } from "../dashboard.tsx";
import { Argued } from "./argued.tsx";
import { argumentIn } from "./argument.ts";
import { retriesLeft } from "./attempts.ts";
import { gridOf } from "./seat-panes.tsx";
import { useLive } from "./use-live.ts";

interface Props {
  readonly update: RequestUpdate;
  readonly committee: Extract<Stage, { kind: "drawn" }>["committee"];
}

/** Who deliberates now, and what they say as far as an agent lets others watch. */
export function Committee({ update, committee }: Props): ReactElement {
  const { settings } = useDashboard();
  const state = useLive(update, committee);
  const end = useEnd(update);
  const argument = useMemo(() => (state === null ? null : argumentIn(state)), [state]);
  return (
    <section className="stack">
      <h2>
        {committee.length} seats {end.isOver ? "have decided nothing in time" : "deliberate"}
      </h2>
      <p className="soft" aria-live="polite">
        {end.isOver ? nextOf(update, committee.length) : `They have until ${end.text}. `}
        {!end.isOver && statusOf(state, settings.live.length)}
      </p>
      {state !== null && <Signing state={state} seats={committee.length} />}
      {state === null || argument === null || state.messages.length === 0 ? (
        <Drawn committee={committee} isOver={end.isOver} />
      ) : (
        <Argued
          argument={argument}
          messages={state.messages}
          decision={null}
          committee={committee}
          deliberated={{ requestId: update.request.id, attempt: update.attempt, since: update.askedBlock }}
          isWhole
          isHashgraph={update.request.terms.protocol === PROTOCOL_CODES.hashgraph}
        />
      )}
    </section>
  );
}

/** What comes once nobody can commit a decision of this committee any more. */
function nextOf(update: RequestUpdate, seats: number): string {
  const retries = retriesLeft(update, seats);
  if (retries > 0)
    return `Their time is over. Another committee comes next, once anybody calls it: ${retries === 1 ? "one retry is" : `${retries} retries are`} left.`;
  return update.past.length === 0
    ? "Their time is over, and no retry is left. The fee goes back, once anybody calls for that."
    : "Their time is over, and no retry is left. The request ends without a consensus, once anybody calls for that.";
}

type SeedEnd = NonNullable<Awaited<ReturnType<typeof readSeedEnd>>>;

interface End {
  /** True once no decision can be committed any more, by the chain's clock and number. */
  readonly isOver: boolean;
  readonly text: string;
}

/** Time between two looks at the chain's clock and at the pace of its blocks. */
const LOOK_MS = 10_000;

/** Says when the attempt ends: at its deadline, or before it where its seed expires (SE8). */
function useEnd(update: RequestUpdate): End {
  const { publicClient, settings } = useDashboard();
  const { deadline, request, attempt } = update;
  const { data } = useQuery({
    queryKey: ["seedEnd", settings, String(request.id), attempt],
    refetchInterval: LOOK_MS,
    queryFn: async ({ signal }) => {
      const [seedEnd, head] = await Promise.all([
        readSeedEnd(publicClient, settings, update, signal),
        publicClient.getBlock(),
      ]);
      return { seedEnd, head };
    },
  });
  if (data === undefined) return { isOver: false, text: `${time(deadline)} at the latest` };
  const { seedEnd, head } = data;
  const isOver = head.timestamp > deadline || (seedEnd !== null && head.number > seedEnd.block);
  return { isOver, text: seedEnd === null ? time(deadline) : endText(seedEnd, deadline) };
}

function endText({ block, time: expected }: SeedEnd, deadline: number): string {
  if (expected === null) return `${time(deadline)} or the end of block ${block}, whichever comes first`;
  if (expected >= deadline) return time(deadline);
  return `the end of block ${block}, about ${time(expected)}: then their seed expires`;
}

function statusOf(state: LiveState | null, streams: number): string {
  if (streams === 0) return "What they say can be read once their decision is on the chain.";
  if (state === null)
    return `Looking for an agent of this committee that lets others watch, among ${plural(streams, "live stream")}…`;
  if (state.stream === null)
    return state.certified === null
      ? "The live stream has ended; the dashboard looks for another one."
      : `${hostOf(state)} has told all that it had to tell.`;
  return `Live, as ${hostOf(state)} tells it: it cannot invent what a seat says, since each message is signed.`;
}

function hostOf({ teller }: LiveState): string {
  return new URL(teller).host;
}

/** How far the seats are with signing a decision, by the word of the stream: it tells no signature of theirs (LV3). */
function Signing({ state, seats }: { readonly state: LiveState; readonly seats: number }): ReactElement | null {
  const { ballot, certified } = state;
  if (certified !== null)
    return (
      <p className="card" aria-live="polite">
        {hostOf(state)} says that the seats have signed{" "}
        <strong>
          <Quoted text={answerText(certified)} most={200} />
        </strong>
        {certified.status !== "hung" && <>, {percent(certified.confidence)} sure</>}. Nobody can check that before the
        chain has it.
      </p>
    );
  if (ballot === null) return null;
  const { number, seats: by } = ballot;
  return (
    <p className="soft" aria-live="polite">
      {hostOf(state)} says that they vote on a transcript{number > 0 && `, ballot ${number}`}:{" "}
      {plural(by.prevote.length, "seat")} of {seats} for it, {by.precommit.length} signed.
    </p>
  );
}

function Drawn({ committee, isOver }: Pick<Props, "committee"> & Pick<End, "isOver">): ReactElement {
  return (
    <ul className="panes" style={gridOf(committee.length)}>
      {committee.map(({ agentId, reputation }, seat) => (
        <li key={`seat ${seat}`} className="pane waiting">
          <h3>Seat {seat}</h3>
          <p className="soft small">
            <Link href={`/agents/${agentId}`}>Agent {agentId}</Link>, reputation {percent(reputation)}
          </p>
          <p className="soft">{isOver ? "Its time is over." : "Deliberates…"}</p>
        </li>
      ))}
    </ul>
  );
}
