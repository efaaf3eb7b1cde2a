import { skipToken, useQuery, type UseQueryResult } from "@tanstack/react-query";
import { useDeferredValue, useEffect, useState, type ReactElement, type SubmitEvent } from "react";
import { useLocation } from "wouter";
import { PROTOCOL_CODES, type Asked, type AskedTerms, type ProtocolId, type Quote } from "../../../sdk/src/index.ts";
import { Choice, Field } from "../shared/field.tsx";
import { price } from "../shared/format.ts";
import { Trouble } from "../shared/trouble.tsx";
import { useSending } from "../wallet/use-sending.ts";
import { WalletList } from "../wallet/wallet-menu.tsx";
import { SendTrouble } from "../wallet/wrong-chain.tsx";
import { useDashboard } from "../dashboard.tsx";
import { keepCursor } from "./asked.ts";
import { keepDraft, keptDraft } from "./draft.ts";
import { EMPTY, hasOptions, KINDS, sourcesIn, termsIn, type Draft, type Flaw } from "./question.ts";
import { askKept, forgetSent, sentTo } from "./sent.ts";
import { solidityFor, typescriptFor } from "./snippets.ts";
import { Waiting } from "./waiting.tsx";

/** Asks a question: its terms, its price before anything is paid, and the programs that do the same. */
export function AskPage(): ReactElement {
  const { conclave, settings, account } = useDashboard();
  const [, goTo] = useLocation();
  const [draft, setDraft] = useState(keptDraft);
  const [sent, setSent] = useState(() => sentTo(settings));
  const change = (part: Partial<Draft>): void => setDraft((before) => ({ ...before, ...part }));
  useEffect(() => keepDraft(draft === EMPTY ? null : draft), [draft]);
  const read = termsIn(draft);
  const terms = "terms" in read ? read.terms : null;
  const flaw = "flaw" in read ? read.flaw : null;
  const sources = sourcesIn(draft);
  // Not for each key that is pressed.
  const priced = useDeferredValue(draft);
  const quote = useQuote(priced);
  const fee = priced === draft && !quote.isPlaceholderData ? quote.data?.fee : undefined;
  const show = ({ requestId, cursor }: Asked): void => {
    keepCursor(settings.oracle, requestId, cursor);
    keepDraft(null);
    goTo(`/request/${requestId}`);
  };
  const ask = useSending({
    what: ["ask", settings],
    mutationFn: async (asked: AskedTerms) =>
      askKept(conclave, settings, { ...asked, question: draft.question, sources }),
    onSuccess: show,
    onError: () => {
      setSent(sentTo(settings));
      // The price may be another one now.
      void quote.refetch();
    },
  });
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    // What is paid is what was shown.
    if (terms !== null && fee !== undefined && draft.question !== "") ask.send({ ...terms, fee });
  };
  if (sent !== null && !ask.isSending)
    return (
      <Waiting
        hash={sent}
        onAsked={(asked) => {
          forgetSent(settings, sent);
          show(asked);
        }}
        onForget={() => {
          forgetSent(settings, sent);
          setSent(sentTo(settings));
        }}
      />
    );
  return (
    <form className="narrow stack" onSubmit={submit} noValidate>
      <h1>Ask</h1>
      <Field
        name="question"
        label="Question"
        lines={4}
        value={draft.question}
        onChange={(question) => change({ question })}
        hint={KINDS[draft.kind].hint}
      />
      <KindFields draft={draft} change={change} flaw={flaw} />
      <details>
        <summary>Committee, time and appeals</summary>
        <TermFields draft={draft} change={change} flaw={flaw} />
      </details>
      <details>
        <summary>Sources, a later start and conditions</summary>
        <ConditionFields draft={draft} change={change} flaw={flaw} />
      </details>
      {settings.burnerKey !== null && (
        <p className="soft small">
          This is a local world for trials. Unless you gave its agents another model, all of them have the repository’s
          small one, which knows six families of toy questions: its answers to others mean nothing.
        </p>
      )}
      {terms !== null && <Price quote={quote} />}
      {account === null ? (
        <section className="card stack">
          <h2>Who pays?</h2>
          <WalletList />
        </section>
      ) : (
        <div className="row">
          <button
            className="primary"
            type="submit"
            disabled={terms === null || fee === undefined || draft.question.trim() === "" || ask.isSending}
          >
            {ask.isSending ? "Waiting for the wallet and the chain…" : "Ask"}
          </button>
        </div>
      )}
      <SendTrouble error={ask.error} />
      {terms !== null && <Programs question={draft.question} sources={sources} terms={terms} />}
    </form>
  );
}

interface FieldsProps {
  readonly draft: Draft;
  readonly change: (part: Partial<Draft>) => void;
  readonly flaw: Flaw | null;
}

function problemOf(flaw: Flaw | null, field: keyof Draft): string | null {
  return flaw?.field === field ? flaw.problem : null;
}

function KindFields({ draft, change, flaw }: FieldsProps): ReactElement {
  return (
    <div className="columns">
      <Choice
        label="Kind of answer"
        value={draft.kind}
        options={Object.entries(KINDS).map(([kind, { name }]) => [kind, name])}
        onChange={(kind) => change({ kind: kind as Draft["kind"] })}
      />
      {hasOptions(draft.kind) && (
        <Field
          name="options"
          label="How many"
          inputMode="numeric"
          value={draft.options}
          onChange={(options) => change({ options })}
          problem={problemOf(flaw, "options")}
        />
      )}
      {draft.kind === "number" && (
        <>
          <Field
            name="decimals"
            label="Decimals"
            inputMode="numeric"
            value={draft.decimals}
            onChange={(decimals) => change({ decimals })}
            problem={problemOf(flaw, "decimals")}
          />
          <Field
            name="tolerance"
            label="Tolerance"
            inputMode="decimal"
            value={draft.tolerance}
            onChange={(tolerance) => change({ tolerance })}
            problem={problemOf(flaw, "tolerance")}
          />
        </>
      )}
    </div>
  );
}

function TermFields({ draft, change, flaw }: FieldsProps): ReactElement {
  const number = (
    field: "committeeSize" | "appeals" | "retries" | "hours",
    label: string,
    hint: string,
  ): ReactElement => (
    <Field
      name={field}
      label={label}
      hint={hint}
      inputMode="decimal"
      value={draft[field]}
      onChange={(value) => change({ [field]: value })}
      problem={problemOf(flaw, field)}
    />
  );
  return (
    <div className="columns terms">
      <Choice
        label="Protocol"
        value={draft.protocol}
        options={Object.keys(PROTOCOL_CODES).map((id) => [id, id] as const)}
        onChange={(protocol) => change({ protocol: protocol as ProtocolId })}
        hint="How the seats argue."
      />
      {number("committeeSize", "Seats", "4 to 64 agents, drawn by stake.")}
      <Choice
        label="Assurance"
        value={draft.assurance}
        options={[
          ["normal", "Normal: a majority"],
          ["high", "High: more than two thirds"],
        ]}
        onChange={(assurance) => change({ assurance: assurance as Draft["assurance"] })}
        hint="How many seats must accept the answer."
      />
      {number("hours", "Hours to decide", "0.5 to 168, and as long for an appeal.")}
      {number("appeals", "Appeals", "0 to 3. With one, the answer is provisional for a while.")}
      {number("retries", "Retries", "0 to 3 committees in place of one that fails.")}
      <Choice
        label="Paid in"
        value={draft.currency}
        options={[
          ["native", "The chain’s coin"],
          ["token", "The fee token"],
        ]}
        onChange={(currency) => change({ currency: currency as Draft["currency"] })}
      />
    </div>
  );
}

function ConditionFields({ draft, change, flaw }: FieldsProps): ReactElement {
  return (
    <>
      <Field
        name="sources"
        label="Sources, one a line"
        lines={3}
        mono
        value={draft.sources}
        onChange={(sources) => change({ sources })}
        hint="At most 4. Each agent reads them with its own eyes, and its answer must quote them: https:// pages and values, eip155: calls, CIDs of documents, or search: and words."
      />
      <div className="columns terms">
        <Field
          name="delay"
          label="Hours before it starts"
          inputMode="decimal"
          value={draft.delay}
          onChange={(delay) => change({ delay })}
          problem={problemOf(flaw, "delay")}
          hint="0 to 720. The wait takes one of the retries."
        />
        <Field
          name="finality"
          label="Final at once from (percent sure)"
          inputMode="numeric"
          value={draft.finality}
          onChange={(finality) => change({ finality })}
          problem={problemOf(flaw, "finality")}
          hint="0: a decision waits for an appeal. Else a less sure one calls a larger committee by itself; allow an appeal."
        />
        <Choice
          label="“It cannot be told”"
          value={draft.nonAnswers}
          options={[
            ["accepted", "May be the decision"],
            ["refused", "Is no decision"],
          ]}
          onChange={(nonAnswers) => change({ nonAnswers: nonAnswers as Draft["nonAnswers"] })}
          hint="Whether the seats may decide that the sources do not tell, or that it is too early."
        />
        <Choice
          label="Stake behind the answer"
          value={draft.security}
          options={[
            ["none", "None"],
            ["secured", "Secured"],
          ]}
          onChange={(security) => change({ security: security as Draft["security"] })}
          hint="Secured: seats lose stake if two larger committees overturn them. Needs high assurance, two appeals, and the fee token."
        />
      </div>
    </>
  );
}

/** Asks what the question costs. */
function useQuote(draft: Draft): UseQueryResult<Quote> {
  const { conclave, settings } = useDashboard();
  const read = termsIn(draft);
  const terms = "terms" in read ? read.terms : null;
  const key = JSON.stringify(terms, (_, value: unknown) => (typeof value === "bigint" ? `${value}n` : value));
  return useQuery({
    queryKey: ["quote", settings, key],
    queryFn: terms === null ? skipToken : ({ signal }) => conclave.quote(terms, signal),
    placeholderData: (before) => before,
  });
}

/** What the question costs, before anything is paid. */
function Price({ quote }: { readonly quote: UseQueryResult<Quote> }): ReactElement {
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
  const [isCopied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
  };
  return (
    <figure className="program">
      <figcaption className="row">
        <h3>{name}</h3>
        <button type="button" onClick={() => void copy()}>
          {isCopied ? "Copied" : "Copy"}
        </button>
      </figcaption>
      <pre className="small" tabIndex={0}>
        {text}
      </pre>
    </figure>
  );
}
