import { useState, type ReactElement, type SubmitEvent } from "react";
import { Field } from "../shared/field.tsx";
import { parseSettings, SettingsError, type Settings } from "./settings.ts";
import { MOST_SECONDS, type Found } from "./stored.ts";

interface Props {
  readonly found: Found;
  /** May throw SettingsError. */
  readonly onSave: (settings: Settings) => void;
  readonly onForget: () => void;
}

const LABELS = {
  rpcUrl: "Node of the chain (URL)",
  chainId: "Chain id",
  oracle: "Address of the oracle",
  registry: "Address of the registry",
  deploymentBlock: "Block of the deployment",
  gateways: "Gateways for transcripts (URLs, one a line)",
  live: "Live streams of agents (URLs, one a line, optional)",
  subgraphUrl: "Subgraph (URL, optional)",
  burnerKey: "Key of a burner account (optional)",
} as const;

/** The form that names node, contracts, gateways and subgraph. */
export function SettingsPage({ found, onSave, onForget }: Props): ReactElement {
  const shown = textsOf(found.settings ?? found.given);
  const problem = problemOf(found.failure);
  const [failure, setFailure] = useState(() => (found.failure instanceof SettingsError ? found.failure : null));

  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    try {
      onSave(parseSettings(typedIn(new FormData(event.currentTarget))));
    } catch (error) {
      if (!(error instanceof SettingsError)) throw error;
      setFailure(error);
      lead(event.currentTarget, error.field);
    }
  };
  const fieldOf: FieldsProps["fieldOf"] = (name) => ({
    name,
    label: LABELS[name],
    problem: failure?.field === name ? `${LABELS[name].replace(/ \(.*/, "")}: ${failure.problem}` : null,
  });

  return (
    <form className="stack" onSubmit={submit} noValidate>
      <h1>Settings</h1>
      <p className="soft">{ORIGINS[found.source]}</p>
      {problem !== null && <p role="alert">{problem}</p>}
      <Fields fieldOf={fieldOf} shown={shown} />
      {failure?.field === "storage" && (
        <p role="alert" className="trouble">
          {failure.problem}
        </p>
      )}
      <div className="row">
        <button className="primary" type="submit">
          Save
        </button>
        {found.source === "own" && (
          <button type="button" onClick={onForget}>
            Forget my settings
          </button>
        )}
      </div>
    </form>
  );
}

interface FieldsProps {
  /** What every field has. */
  readonly fieldOf: (name: keyof typeof LABELS) => {
    readonly name: string;
    readonly label: string;
    readonly problem: string | null;
  };
  readonly shown: ReturnType<typeof textsOf>;
}

/** The chain and its contracts, and what else is asked. */
function Fields({ fieldOf, shown }: FieldsProps): ReactElement {
  return (
    <>
      <div className="stack halves">
        <div className="stack">
          <Field {...fieldOf("rpcUrl")} value={shown.rpcUrl} type="url" />
          <Field {...fieldOf("chainId")} value={shown.chainId} inputMode="numeric" />
          <Field {...fieldOf("oracle")} value={shown.oracle} mono />
          <Field {...fieldOf("registry")} value={shown.registry} mono />
          <Field
            {...fieldOf("deploymentBlock")}
            hint="Searches begin here. 0 works, and is slow on a long chain."
            value={shown.deploymentBlock ?? "0"}
            inputMode="numeric"
          />
        </div>
        <div className="stack">
          <Field
            {...fieldOf("gateways")}
            hint="An agent's, or any trustless gateway of IPFS. None is trusted: every hash is checked."
            value={shown.gateways}
            lines={3}
          />
          <Field
            {...fieldOf("live")}
            hint="To watch committees argue. An agent can leave out what a seat said, and cannot invent it."
            value={shown.live}
            lines={3}
          />
          <Field
            {...fieldOf("subgraphUrl")}
            hint="For the whole history. Without one it comes from the latest 50 000 blocks."
            value={shown.subgraphUrl}
            type="url"
          />
        </div>
      </div>
      <Field
        {...fieldOf("burnerKey")}
        hint="For a local chain only. Never a key that holds value."
        value={shown.burnerKey}
        mono
      />
    </>
  );
}

/** Why the file beside the page cannot be used; null where there is none, or none can be: a page that was opened from a folder fetches nothing. */
function problemOf(failure: unknown): string | null {
  const why = whyNot(failure);
  return why === null ? null : `config.json beside this page: ${why}`;
}

function whyNot(failure: unknown): string | null {
  if (failure === null || failure === NOT_FOUND || location.protocol === "file:") return null;
  if (typeof failure === "number") return `the server answers with status ${failure}. ${WAY}`;
  if (failure instanceof SyntaxError) return `the server sends no JSON there, so it may have no such file. ${WAY}`;
  if (failure instanceof SettingsError) return failure.message;
  const isLate = failure instanceof DOMException && failure.name === "TimeoutError";
  return isLate ? `the server gave no answer within ${MOST_SECONDS} s. ${WAY}` : `it cannot be fetched. ${WAY}`;
}

const NOT_FOUND = 404;
const WAY = "Put one there, or fill in this form.";

/** What the form shows, also of settings that cannot be used: whoever corrects one field need not type the others. */
function textsOf(settings: unknown): Partial<Record<keyof Settings, string>> {
  const texts = Object.entries(Object(settings) as object).map(([field, value]: [string, unknown]) => {
    const lines = (Array.isArray(value) ? value : [value]) as readonly unknown[];
    return [field, lines.filter((one) => ["string", "number"].includes(typeof one)).join("\n")] as const;
  });
  return Object.fromEntries(texts);
}

/** Leads to a field: on a phone it stands far above the button that was pressed. */
function lead(form: HTMLFormElement, field: string): void {
  const found = form.elements.namedItem(field);
  if (found instanceof HTMLElement) found.focus();
}

const ORIGINS: Readonly<Record<Found["source"], string>> = {
  none: "This page needs to know where your Conclave is. What you type stays in this browser.",
  served: "These came with the dashboard. Save to use your own in this browser.",
  own: "These are your own, kept in this browser.",
};

/** What was typed, without blanks around it, and with a list where there is one URL a line. */
function typedIn(form: FormData): object {
  const texts = Object.fromEntries(
    [...form].map(([name, text]) => [name, typeof text === "string" ? text.trim() : ""]),
  );
  const linesOf = (name: string): readonly string[] => (texts[name] ?? "").split(/\s+/).filter(Boolean);
  return { ...texts, gateways: linesOf("gateways"), live: linesOf("live") };
}
