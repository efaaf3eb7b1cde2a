import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState, type ReactElement, type ReactNode } from "react";
import { Link } from "wouter";
import type { Transcript } from "../../../sdk/src/verify/index.ts";
import type { Settings } from "../settings/settings.ts";
import { plural } from "../shared/format.ts";
import { Quoted } from "../shared/quoted.tsx";
import { Trouble, cidOf } from "../shared/trouble.tsx";
import type { Decision, Stage } from "../shared/types.ts";
import { useDashboard } from "../dashboard.tsx";
import { Argued } from "./argued.tsx";
import { argumentIn, type ShownArgument } from "./argument.ts";
import type { Deliberated } from "./equivocations.tsx";

interface Props {
  readonly requestId: bigint;
  /** The block of the question. */
  readonly since: bigint;
  readonly decision: Decision;
  readonly committee: Extract<Stage, { kind: "decided" }>["committee"];
  /** CID of a block at fault that the proof has named; null if it has named none. */
  readonly named: string | null;
}

const verifier = () => import("../../../sdk/src/verify/index.ts");
// It loads while the chain is read.
void verifier().catch(() => undefined);

/** Messages that are read before the page says how many. Most transcripts have fewer. */
const SHOWN_EACH = 100;

/** The argument behind a decision, from its transcript. */
export function Deliberation({ requestId, since, decision, committee, named }: Props): ReactElement {
  const { publicClient, settings } = useDashboard();
  const hasGateway = settings.gateways.length > 0;
  const [progress, setProgress] = useState("");
  const transcript = useQuery({
    queryKey: [...keyOf(settings, requestId), decision.transcript],
    enabled: hasGateway,
    staleTime: Infinity,
    queryFn: async ({ signal }) => {
      const { readTranscript } = await verifier();
      const blocks = settings.gateways.map((gateway) => ({ gateway }));
      const onProgress = (step: string, done: number, total: number): void => {
        if (step === "messages" && done % SHOWN_EACH === 0) setProgress(`${done} of ${plural(total, "message")}`);
      };
      return readTranscript({ publicClient, deployment: settings, requestId, blocks, onProgress, signal });
    },
  });
  const read = transcript.data ?? null;
  const argument = useMemo(() => (read === null ? null : argumentIn(read)), [read]);
  const deliberated = { requestId, attempt: decision.attempt, since };
  if (!hasGateway)
    return (
      <section className="stack">
        <h2>The argument</h2>
        <p>
          What the seats said is in the transcript, which gateways serve.{" "}
          <Link href="/settings">Name a gateway in the settings</Link>.
        </p>
      </section>
    );
  return (
    <section className="stack" aria-label="The argument">
      {transcript.isPending && <p className="loading">Reading the transcript… {progress}</p>}
      {transcript.error !== null && (named === null || named !== cidOf(transcript.error)) && (
        <Trouble error={transcript.error} onRetry={() => void transcript.refetch()} />
      )}
      {transcript.data === null && <p>This page cannot read the transcript: it does not know the protocol.</p>}
      {read !== null && argument !== null && (
        <Shown
          transcript={read}
          argument={argument}
          decision={decision}
          committee={committee}
          deliberated={deliberated}
          named={named}
        />
      )}
    </section>
  );
}

/** Reads a transcript again that could not be read, or not all of it: a gateway may have got it since. */
export function useReread(requestId: bigint): () => void {
  const { settings } = useDashboard();
  const queries = useQueryClient();
  return () =>
    void queries.refetchQueries({
      queryKey: keyOf(settings, requestId),
      predicate: ({ state: { error, data } }) =>
        error !== null || ((data as Transcript | null | undefined)?.failure ?? null) !== null,
    });
}

function keyOf(settings: Settings, requestId: bigint): readonly unknown[] {
  return ["transcript", settings, String(requestId)];
}

interface ShownProps extends Pick<Props, "decision" | "committee" | "named"> {
  readonly deliberated: Deliberated;
  readonly transcript: Transcript;
  readonly argument: ShownArgument;
}

function Shown({ transcript, argument, decision, committee, deliberated, named }: ShownProps): ReactElement {
  const { failure, messages, linked, reasons, protocol } = transcript;
  return (
    <>
      {failure !== null && (
        <Lack failure={failure} isTold={named !== null && named === failure.cid}>
          {messages.length === 0
            ? "No message can be read."
            : `${messages.length} of ${plural(linked, "message")} can be read: how many seats agree cannot be told from them.`}
        </Lack>
      )}
      <Argued
        argument={argument}
        messages={messages}
        decision={decision}
        committee={committee}
        deliberated={deliberated}
        isWhole={failure === null}
        isHashgraph={protocol.id === "hashgraph"}
      >
        {decision.status === "hung" && reasons.length > 0 && (
          <ul className="plain">
            {reasons.map((reason) => (
              <li key={reason}>
                <Quoted text={reason} most={400} />
              </li>
            ))}
          </ul>
        )}
      </Argued>
      <AllMessages transcript={transcript} />
    </>
  );
}

interface LackProps {
  readonly failure: NonNullable<Transcript["failure"]>;
  /** True if the proof has said it. */
  readonly isTold: boolean;
  readonly children: ReactNode;
}

/** Says why not all messages are shown. */
function Lack({ failure: { kind, cid, reason }, isTold, children }: LackProps): ReactElement {
  if (isTold) return <p className="soft">{children}</p>;
  return (
    <div role="alert" className="trouble">
      <p>
        <strong>{LACKS[kind]}</strong>
      </p>
      <p>
        <Quoted text={reason} most={400} />
        {cid !== null && (
          <>
            {" "}
            Block <span className="mono">{cid}</span>
          </>
        )}
      </p>
      <p>
        {children} {kind !== "refuted" && "Name another gateway in the settings."}
      </p>
    </div>
  );
}

const LACKS: Readonly<Record<LackProps["failure"]["kind"], string>> = {
  undecided: "No decision stands",
  unavailable: "A part of the transcript is missing",
  broken: "The gateway gives other bytes than the transcript's",
  refuted: "The transcript is not what it must be",
};

function AllMessages({ transcript }: { readonly transcript: Transcript }): ReactElement {
  const [isOpen, setOpen] = useState(false);
  const { failure, messages, root, protocol } = transcript;
  const all = plural(messages.length, "message");
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{failure === null ? `All ${all}` : `${all} read`}, hashes and versions</summary>
      {isOpen && (
        <div className="stack">
          <p className="small">
            Protocol {protocol.id}, version {protocol.version}. Root <span className="mono">{root}</span>
          </p>
          <ol className="messages small">
            {messages.map(({ cid, seat, name, round, says }) => (
              <li key={cid}>
                <p>
                  Seat {seat}, {name ?? "refused"}, round {round} <span className="mono soft">{cid}</span>
                </p>
                <pre>
                  <Quoted text={JSON.stringify(says, null, 1)} most={4_000} />
                </pre>
              </li>
            ))}
          </ol>
        </div>
      )}
    </details>
  );
}
