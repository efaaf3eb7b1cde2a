import { skipToken, useQuery, useQueryClient, type UseQueryResult } from "@tanstack/react-query";
import { useDeferredValue, useEffect, useState, type ReactElement, type ReactNode, type SubmitEvent } from "react";
import { useLocation } from "wouter";
import type { Asked, AskedTerms, Quote } from "../../../sdk/src/index.ts";
import type { Settings } from "../settings/settings.ts";
import { Field } from "../shared/field.tsx";
import { lockedWhile } from "../shared/focus.ts";
import { price } from "../shared/format.ts";
import { NodeAway } from "../shared/node-away.tsx";
import { Trouble, retryMs } from "../shared/trouble.tsx";
import { GiveUp } from "../wallet/give-up.tsx";
import { leaveSending, useSending } from "../wallet/use-sending.ts";
import { WalletList } from "../wallet/wallet-menu.tsx";
import { SendTrouble } from "../wallet/wrong-chain.tsx";
import { useDashboard } from "../dashboard.tsx";
import { DraftFields, problemOf } from "./ask-fields.tsx";
import { keepCursor } from "./asked.ts";
import { keepDraft, keptDraft, withoutSent } from "./draft.ts";
import { agentsFlaw, KINDS, LABELS, questionFlaw, sourcesIn, termsIn, type Draft } from "./question.ts";
import { askKept, sentTo } from "./sent.ts";
import { solidityFor, typescriptFor } from "./snippets.ts";
import { Waiting } from "./waiting.tsx";

/** Asks a question, or waits for the one that was sent before the page was loaded again, or by another tab. */
export function AskPage(): ReactElement {
  const { settings } = useDashboard();
  const [, goTo] = useLocation();
  const queries = useQueryClient();
  const [sent, setSent] = useState(() => sentTo(settings));
  const show = ({ requestId, cursor }: Asked): void => {
    keepCursor(settings.oracle, requestId, cursor);
    keepDraft(null);
    goTo(`/request/${requestId}`);
  };
  if (sent === null) return <AskForm onAsked={show} onFailed={() => setSent(sentTo(settings))} />;
  const leave = (): void => {
    const next = sentTo(settings);
    // The form would be locked until the chain answers, and one press would pay for the same question again.
    if (next === null) leaveSending(queries, sendingTo(settings));
    keepDraft(withoutSent(keptDraft(), sent));
    setSent(next);
  };
  return <Waiting key={sent.hash} sent={sent} onAsked={show} onLeft={leave} />;
}

/** Names what the form sends. */
function sendingTo(settings: Settings): readonly unknown[] {
  return ["ask", settings];
}

interface FormProps {
  readonly onAsked: (asked: Asked) => void;
  /** What was sent may still be mined. */
  readonly onFailed: () => void;
}

/** The question and its terms, its price before anything is paid, and the programs that do the same. */
function AskForm({ onAsked, onFailed }: FormProps): ReactElement {
  const { conclave, settings } = useDashboard();
  const [draft, setDraft] = useState(keptDraft);
  const [isTouched, setTouched] = useState(draft.question !== "");
  const { terms, flaw } = termsIn(draft);
  const sources = sourcesIn(draft);
  // Not for each key that is pressed.
  const priced = useDeferredValue(draft);
  const quote = useQuote(priced);
  const quoted = quote.isPlaceholderData || quote.error !== null ? undefined : quote.data;
  const fee = priced === draft ? quoted?.fee : undefined;
  const ask = useSending({
    what: sendingTo(settings),
    mutationFn: async (asked: AskedTerms) =>
      askKept(conclave, settings, { ...asked, question: draft.question, sources }),
    onSuccess: onAsked,
    onError: () => {
      onFailed();
      // The price may be another one now.
      void quote.refetch();
    },
  });
  const change = (part: Partial<Draft>): void => {
    setDraft((before) => ({ ...before, ...part }));
    if (part.question !== undefined) setTouched(true);
    // It was said of what stood there before.
    if (ask.error !== null) ask.reset();
  };
  useEffect(() => keepDraft(draft), [draft]);
  const untold = questionFlaw(draft);
  const lack = terms === null || quoted === undefined ? null : agentsFlaw(quoted);
  const ready = terms !== null && fee !== undefined && untold === null && lack === null ? { ...terms, fee } : null;
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    // What is paid is what was shown.
    if (ready !== null) ask.send(ready);
  };
  const shownFlaw = flaw ?? lack ?? (isTouched ? untold : null);
  return (
    <form className="stack" onSubmit={submit} noValidate>
      <h1>Ask</h1>
      <div className="stack beside">
        <Typed isLocked={ask.isSending}>
          <Field
            name="question"
            label={LABELS.question}
            lines={4}
            value={draft.question}
            onChange={(question) => change({ question })}
            hint={KINDS[draft.kind].hint}
            problem={problemOf(isTouched ? untold : null, "question")}
          />
          <DraftFields draft={draft} change={change} flaw={shownFlaw} />
        </Typed>
        <div className="stack">
          {terms !== null && lack === null && <Price quote={quote} seats={Number(draft.committeeSize)} />}
          {shownFlaw !== null && (
            <p className="problem" role="status">
              It cannot be asked yet. {LABELS[shownFlaw.field]}: {shownFlaw.problem}
            </p>
          )}
          <Payer isReady={ready !== null} isSending={ask.isSending} />
          <GiveUp
            sending={{
              ...ask,
              leave: () => {
                ask.leave();
                // Once it is sent, the view of what is sent says so.
                onFailed();
              },
            }}
          />
          {ask.isSending && <NodeAway />}
          <SendTrouble error={ask.error} />
        </div>
        {terms !== null && <Programs question={draft.question} sources={sources} terms={terms} />}
      </div>
    </form>
  );
}

interface TypedProps {
  /** What is signed is what is shown: nobody changes it while the wallet asks. */
  readonly isLocked: boolean;
  readonly children: ReactNode;
}

/** What is typed, and what its answers are worth in a local world. */
function Typed({ isLocked, children }: TypedProps): ReactElement {
  const { settings } = useDashboard();
  return (
    <div className="stack">
      <fieldset className="stack" disabled={isLocked}>
        {children}
      </fieldset>
      {settings.burnerKey !== null && (
        <p className="soft small">
          This is a local world for trials. Unless you gave its agents another model, all of them have the repository’s
          small one, which knows six families of toy questions: its answers to others mean nothing.
        </p>
      )}
    </div>
  );
}

/** The button that asks, or the wallets to pay with. */
function Payer({ isReady, isSending }: { readonly isReady: boolean; readonly isSending: boolean }): ReactElement {
  const { account } = useDashboard();
  // It stays, and takes the focus of the button that has connected the wallet.
  return (
    <section className={account === null ? "card stack" : "row"} aria-label="Who pays">
      {account === null ? (
        <>
          <h2>Who pays?</h2>
          <WalletList />
        </>
      ) : (
        <button className="primary" type="submit" disabled={!isReady} {...lockedWhile(isSending)}>
          {isSending ? "Waiting for the wallet and the chain…" : "Ask"}
        </button>
      )}
    </section>
  );
}

/** Time between two looks whether enough agents can be drawn: an epoch brings others. */
const AGENTS_MS = 10_000;

/** Asks what the question costs. */
function useQuote(draft: Draft): UseQueryResult<Quote> {
  const { conclave, settings } = useDashboard();
  const { terms } = termsIn(draft);
  const key = JSON.stringify(terms, (_, value: unknown) => (typeof value === "bigint" ? `${value}n` : value));
  return useQuery({
    queryKey: ["quote", settings, key],
    queryFn: terms === null ? skipToken : ({ signal }) => conclave.quote(terms, signal),
    placeholderData: (before) => before,
    refetchInterval: ({ state: { data, error } }) =>
      data !== undefined && agentsFlaw(data) !== null ? AGENTS_MS : retryMs(error),
  });
}

interface PriceProps {
  readonly quote: UseQueryResult<Quote>;
  readonly seats: number;
}

/** The largest committee that docs/asking.md advises for what hangs on an answer. */
const MANY_SEATS = 13;

/** What the question costs, before anything is paid. */
function Price({ quote, seats }: PriceProps): ReactElement {
  return (
    <section className="card stack" aria-label="Price" aria-live="polite">
      {quote.error !== null && <Trouble error={quote.error} onRetry={() => void quote.refetch()} />}
      {quote.error === null && (
        <p>
          Costs{" "}
          <strong className="number price">
            {quote.data === undefined ? "…" : price(quote.data.fee, quote.data.decimals, quote.data.symbol)}
          </strong>
        </p>
      )}
      {seats > MANY_SEATS && (
        <p className="small">
          {seats} seats are many: each of them is paid, and they take longer, since they wait for one another.
        </p>
      )}
      <p className="soft small">
        This pays for every committee that the terms allow, with gas at its highest price. What nobody earns comes back
        as your credit. If no committee decides, a committee that argued without consensus is paid half, and the gas of
        calling committees is kept. The rest comes back.
      </p>
    </section>
  );
}

interface ProgramsProps {
  readonly question: string;
  readonly sources: readonly string[];
  readonly terms: AskedTerms;
}

function Programs({ question, sources, terms }: ProgramsProps): ReactElement {
  const { settings } = useDashboard();
  return (
    <details>
      <summary>The same in TypeScript and Solidity</summary>
      <div className="stack">
        <Program name="TypeScript" text={typescriptFor(question, sources, terms, settings)} />
        <Program name="Solidity" text={solidityFor(question, sources, terms)} />
      </div>
    </details>
  );
}

function Program({ name, text }: { readonly name: string; readonly text: string }): ReactElement {
  const [copying, setCopying] = useState<"copied" | "refused" | null>(null);
  // A page that came by plain http has no clipboard, and a user may refuse it.
  const copy = async (): Promise<void> => {
    const isCopied = await (navigator.clipboard as Clipboard | undefined)?.writeText(text).then(
      () => true,
      () => false,
    );
    setCopying(isCopied === true ? "copied" : "refused");
  };
  return (
    <figure className="program">
      <figcaption className="row">
        <h3>{name}</h3>
        <button type="button" onClick={() => void copy()}>
          {copying === "copied" ? "Copied" : "Copy"}
        </button>
        {copying === "refused" && (
          <p role="alert">The browser lets this page copy nothing: select the program and copy it yourself.</p>
        )}
      </figcaption>
      <pre className="small" tabIndex={0}>
        {text}
      </pre>
    </figure>
  );
}
