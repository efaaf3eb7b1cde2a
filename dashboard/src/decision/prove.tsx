import { useMutation } from "@tanstack/react-query";
import { useEffect, useRef, useState, type ReactElement } from "react";
import { Link } from "wouter";
import type { Check, Proof } from "../../../sdk/src/verify/index.ts";
import { lockedWhile } from "../shared/focus.ts";
import { Quoted } from "../shared/quoted.tsx";
import { Trouble, cidOf } from "../shared/trouble.tsx";
import { useDashboard, type Dashboard } from "../dashboard.tsx";

interface Props {
  readonly requestId: bigint;
  /** Is told the block at fault when the proof names one, and null when it begins anew. */
  readonly onNamed: (cid: string | null) => void;
  /** Is called when gateways may have what they lacked before: when it begins, and when it succeeds. */
  readonly onServed: () => void;
}

type Step = Check["step"];

const STEPS: readonly (readonly [step: Step, name: string])[] = [
  ["chain", "The chain"],
  ["certificate", "Signatures on the decision"],
  ["root", "The transcript's root"],
  ["messages", "Every message"],
  ["replay", "The protocol, run again"],
  ["decision", "The result is the chain's"],
];

interface Progress {
  readonly step: Step;
  readonly done: number;
  readonly total: number;
}

/** Replays the transcript in this browser. It is green only after every check. */
export function Prove({ requestId, onNamed, onServed }: Props): ReactElement {
  const dashboard = useDashboard();
  const [progress, setProgress] = useState<Progress | null>(null);
  const running = useRef<AbortController>(null);
  // Whoever leaves the page does not wait for the proof.
  useEffect(() => () => running.current?.abort(), []);
  const proving = useMutation({
    mutationFn: (signal: AbortSignal) => prove(dashboard, requestId, setProgress, signal),
    onMutate: () => {
      onNamed(null);
      onServed();
    },
    onSuccess: ({ failure }) => {
      onNamed(failure?.cid ?? null);
      if (failure === undefined) onServed();
    },
    onError: (error) => onNamed(cidOf(error)),
  });
  const { data: proof, isPending } = proving;
  const hasGateway = dashboard.settings.gateways.length > 0;
  const begin = (): void => {
    if (isPending) return;
    setProgress(null);
    running.current = new AbortController();
    proving.mutate(running.current.signal);
  };
  const stop = (): void => {
    running.current?.abort();
    proving.reset();
  };
  return (
    <section className="card stack" aria-label="Proof">
      <div className="row">
        <button type="button" className="primary" disabled={!hasGateway} {...lockedWhile(isPending)} onClick={begin}>
          {isPending ? "Proving…" : "Prove"}
        </button>
        {isPending && (
          <button type="button" onClick={stop}>
            Stop
          </button>
        )}
        <p className="soft small">
          {hasGateway
            ? "Fetches the transcript, checks every hash and signature, and runs the protocol again, here in your browser."
            : "To prove a decision, the dashboard needs a gateway that has its transcript."}
          {!hasGateway && (
            <>
              {" "}
              <Link href="/settings">Name one in the settings</Link>.
            </>
          )}
        </p>
      </div>
      {(isPending || proof !== undefined) && <Checks proof={proof ?? null} progress={progress} />}
      {proof !== undefined && <Verdict proof={proof} />}
      {proving.error !== null && <Trouble error={proving.error} onRetry={begin} />}
    </section>
  );
}

async function prove(
  { publicClient, settings }: Dashboard,
  requestId: bigint,
  tell: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<Proof & { readonly ms: number }> {
  const started = performance.now();
  const { verify } = await import("../../../sdk/src/verify/index.ts");
  const worker = new Worker(new URL("../../../sdk/src/verify/worker.ts", import.meta.url), { type: "module" });
  try {
    const proof = await verify({
      publicClient,
      deployment: settings,
      requestId,
      blocks: settings.gateways.map((gateway) => ({ gateway })),
      worker,
      onProgress: (step, done, total) => signal.aborted || tell({ step, done, total }),
      signal,
    });
    return { ...proof, ms: performance.now() - started };
  } finally {
    worker.terminate();
  }
}

function Checks({
  proof,
  progress,
}: {
  readonly proof: Proof | null;
  readonly progress: Progress | null;
}): ReactElement {
  const reached = STEPS.findIndex(([step]) => step === progress?.step);
  return (
    <ol className="checks">
      {STEPS.map(([step, name], index) => {
        const check = proof?.checks.find((one) => one.step === step) ?? null;
        const state =
          proof === null ? (index < reached ? "done" : index === reached ? "working" : "open") : stateOf(check);
        return (
          <li key={step} className={`check is-${state}`}>
            <span className="sign" aria-hidden="true">
              {SIGNS[state]}
            </span>
            <div>
              <p>
                <strong>{name}</strong> <span className="soft small">{WORDS[state]}</span>
              </p>
              {check !== null && check.passed !== null && (
                <p className="small">
                  <Quoted text={check.text} most={400} />
                </p>
              )}
              {check !== null && check.passed === null && check.text !== "not checked" && (
                <p className="small soft">
                  <Quoted text={check.text} most={400} />
                </p>
              )}
              {(check?.cid ?? null) !== null && (
                <p className="small">
                  Block <span className="mono">{check?.cid}</span>
                </p>
              )}
              {state === "working" && progress !== null && progress.total > 1 && (
                <progress max={progress.total} value={progress.done} aria-label={name} />
              )}
            </div>
          </li>
        );
      })}
    </ol>
  );
}

type State = "open" | "working" | "done" | "passed" | "failed" | "skipped";

const SIGNS: Readonly<Record<State, string>> = {
  open: "·",
  working: "…",
  done: "·",
  passed: "✓",
  failed: "✗",
  skipped: "–",
};
const WORDS: Readonly<Record<State, string>> = {
  open: "",
  working: "being checked…",
  done: "read",
  passed: "checked",
  failed: "failed",
  skipped: "not checked here",
};

function stateOf(check: Check | null): State {
  if (check === null || check.passed === null) return "skipped";
  return check.passed ? "passed" : "failed";
}

function Verdict({ proof }: { readonly proof: Proof & { readonly ms?: number } }): ReactElement {
  const { failure } = proof;
  if (failure === undefined)
    return (
      <p className="seal good" role="status">
        Proven. The transcript yields exactly what the chain holds.
        <span className="soft small number"> {((proof.ms ?? 0) / 1_000).toFixed(1)} s</span>
      </p>
    );
  return (
    <div className="seal bad stack" role="alert">
      <p>
        <strong>{failure.kind === "refuted" ? "Refuted" : "Not proven"}</strong>
      </p>
      <p>{wayOut(failure)}</p>
    </div>
  );
}

function wayOut({ kind, step }: NonNullable<Proof["failure"]>): string {
  switch (kind) {
    case "refuted":
      return "What the chain holds does not follow from this transcript: do not rely on this decision.";
    case "undecided":
      return "Nothing is refuted: no decision stands, so look again when one does.";
    case "unavailable":
      return step === "chain"
        ? "Nothing is refuted: open a newer version of this page, which may be able to read it."
        : "Nothing is refuted: name another gateway in the settings, or try again later.";
    case "broken":
      return "Nothing is refuted: name another gateway in the settings, which has the right bytes.";
  }
}
