import { useQuery } from "@tanstack/react-query";
import { useState, type ReactElement } from "react";
import { Link } from "wouter";
import type { RequestUpdate } from "../../../sdk/src/index.ts";
import { FaultList } from "../faults/fault-list.tsx";
import { answerText, percent, seconds, shortHex, shortId, time } from "../shared/format.ts";
import { Quoted } from "../shared/quoted.tsx";
import { Trouble } from "../shared/trouble.tsx";
import { useDashboard } from "../dashboard.tsx";
import { Appeal } from "./appeal.tsx";
import { silentAttempts } from "./attempts.ts";
import { Committee } from "./committee.tsx";
import { Deliberation, useReread } from "./deliberation.tsx";
import { Money } from "./money.tsx";
import { Prove } from "./prove.tsx";
import { Question } from "./question.tsx";
import { AskedTerms } from "./terms.tsx";
import { useRequest } from "./use-request.ts";

const ID = /^\d{1,48}$/;

/** One request: its question, its decision, the argument behind it, and the proof. */
export function DecisionPage({ id }: { readonly id: string }): ReactElement {
  if (ID.test(id)) return <Followed requestId={BigInt(id)} />;
  return (
    <div className="narrow stack">
      <h1>This is no request</h1>
      <p>
        A request has a number. <Link href="/">All decisions</Link>
      </p>
    </div>
  );
}

function Followed({ requestId }: { readonly requestId: bigint }): ReactElement {
  const { update, error } = useRequest(requestId);
  return (
    <article className="stack decision">
      {error !== null && update === null && (
        <h1>
          Request <span className="number">{shortId(requestId)}</span>
        </h1>
      )}
      {error !== null && <Trouble error={error} />}
      {update === null ? (
        error === null && <p className="loading">Reading the request…</p>
      ) : (
        <Request update={update} />
      )}
    </article>
  );
}

function Request({ update }: { readonly update: RequestUpdate }): ReactElement {
  const { request } = update;
  return (
    <>
      <header className="stack">
        <p className="soft small">
          Request <span className="number">{shortId(request.id)}</span>
        </p>
        <Question text={request.question} />
        <AskedTerms request={request} />
      </header>
      <Outcome update={update} />
      <Money request={request} />
      <Slashed requestId={request.id} since={update.askedBlock} />
      <Earlier update={update} />
    </>
  );
}

/** Who was slashed for what it signed here. Without a subgraph that takes many calls of the node, so it waits to be asked. */
function Slashed({ requestId, since }: { readonly requestId: bigint; readonly since: bigint }): ReactElement {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Who was slashed for it</summary>
      {isOpen && (
        <div className="stack">
          <FaultList requestId={requestId} since={since} none="Nobody so far." />
          <p className="small">
            <Link href="/agents/faults">The faults of all agents</Link>
          </p>
        </div>
      )}
    </details>
  );
}

function Outcome({ update }: { readonly update: RequestUpdate }): ReactElement {
  const { stage, request } = update;
  switch (stage.kind) {
    case "requested":
      return <Undrawn update={update} seedBlock={stage.seedBlock} />;
    case "drawn":
      return <Committee key={update.attempt} update={update} committee={stage.committee} />;
    case "decided":
      return (
        <>
          <Decided update={update} stage={stage} />
          <Examined key={stage.decision.transcript} requestId={request.id} since={update.askedBlock} stage={stage} />
        </>
      );
    case "unanswered":
      return (
        <section className="card">
          <h2>The last committee did not answer</h2>
          <p>The request ended without a consensus.</p>
        </section>
      );
    case "refunded":
      return (
        <section className="card">
          <h2>Refunded</h2>
          <p>Nobody decided in time, or the asker took it back. The fee went back.</p>
        </section>
      );
  }
}

/** Blocks after its seed block by which a committee was drawn if it can be. */
const DRAWN_WITHIN = 100n;

/** A committee that is not known yet, or not any more: the chain names it for a while only. */
function Undrawn({ update, seedBlock }: { readonly update: RequestUpdate; readonly seedBlock: bigint }): ReactElement {
  const head = useHead(true);
  const isPast = head !== undefined && (head.timestamp > update.deadline || head.number > seedBlock + DRAWN_WITHIN);
  const [title, text] = update.isWaiting
    ? ["It waits", `A committee is called after ${time(update.deadline)}.`]
    : isPast
      ? [
          "The committee cannot be read any more",
          `Block ${seedBlock} chose it, and the chain names it for a while only. If it has not decided, another committee comes next while retries are left; else the request ends.`,
        ]
      : [
          "The committee is being drawn",
          `The random value of block ${seedBlock} (prevrandao) chooses it. Nobody can know it before.`,
        ];
  return (
    <section className="card stack" aria-live="polite">
      <h2>{title}</h2>
      <p>{text}</p>
    </section>
  );
}

type DecidedStage = Extract<RequestUpdate["stage"], { kind: "decided" }>;

interface ExaminedProps {
  readonly requestId: bigint;
  /** The block of the question. */
  readonly since: bigint;
  readonly stage: DecidedStage;
}

/** The proof, and the argument that it is about. What the proof says of a block is not said a second time. */
function Examined({ requestId, since, stage }: ExaminedProps): ReactElement {
  const [named, setNamed] = useState<string | null>(null);
  const reread = useReread(requestId);
  const { decision, committee } = stage;
  return (
    <>
      <Prove requestId={requestId} onNamed={setNamed} onServed={reread} />
      <Deliberation requestId={requestId} since={since} decision={decision} committee={committee} named={named} />
    </>
  );
}

function Decided({ update, stage }: { readonly update: RequestUpdate; readonly stage: DecidedStage }): ReactElement {
  const { decision, standing } = stage;
  const head = useHead(standing === "provisional");
  const isOver = head !== undefined && head.timestamp > update.deadline;
  return (
    <section className="card stack" aria-label="Decision" aria-live="polite">
      <p className={`decided-answer is-${decision.status}`}>
        <Quoted text={answerText(decision)} most={1_024} />
      </p>
      <p>
        {decision.status !== "hung" && <span className="number">Confidence {percent(decision.confidence)}. </span>}
        {standing === "final"
          ? "Final."
          : isOver
            ? `Provisional: the time to appeal ended at ${time(update.deadline)}. Anybody may make it final.`
            : `Provisional: anybody may appeal until ${time(update.deadline)} (${seconds(update.request.terms.duration)} in all).`}
      </p>
      {standing === "provisional" && !isOver && (
        <Appeal requestId={update.request.id} terms={update.request.terms} attempt={decision.attempt} />
      )}
    </section>
  );
}

/** Time between two looks at the chain's clock. */
const LOOK_MS = 10_000;

/** The newest block: contracts know no other clock. */
function useHead(isAwaited: boolean) {
  const { publicClient, settings } = useDashboard();
  const { data: head } = useQuery({
    queryKey: ["newest", settings],
    enabled: isAwaited,
    refetchInterval: LOOK_MS,
    queryFn: () => publicClient.getBlock(),
  });
  return head;
}

/** The committees before this one, also those that decided nothing in their time. */
function Earlier({ update }: { readonly update: RequestUpdate }): ReactElement | null {
  const silent = silentAttempts(update).map((attempt) => ({ attempt, round: null }));
  const decided = update.past.map((round) => ({ attempt: round.decision.attempt, round }));
  const all = [...silent, ...decided].toSorted((a, b) => a.attempt - b.attempt);
  if (all.length === 0) return null;
  return (
    <section className="stack">
      <h2>Earlier committees</h2>
      <ol className="plain">
        {all.map(({ attempt, round }) => (
          <li key={attempt}>
            Attempt {attempt}
            {round === null ? ": no decision came in time. Another committee was called." : <Round round={round} />}
          </li>
        ))}
      </ol>
    </section>
  );
}

function Round({
  round: { decision, committee, appellant },
}: {
  readonly round: RequestUpdate["past"][number];
}): ReactElement {
  return (
    <>
      , {committee.length} seats: <Quoted text={answerText(decision)} most={200} />
      {appellant !== null && (
        <>
          {" "}
          Appealed against by <span className="mono">{shortHex(appellant)}</span>.
        </>
      )}
    </>
  );
}
