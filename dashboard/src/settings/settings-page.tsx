import { useState, type ReactElement, type SubmitEvent } from "react";
import { Field } from "../shared/field.tsx";
import { parseSettings, SettingsError, type Settings } from "./settings.ts";
import type { Found } from "./stored.ts";

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
  const { settings } = found;
  const [failure, setFailure] = useState<SettingsError | null>(null);

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
  const fieldOf = (name: keyof typeof LABELS) => ({
    name,
    label: LABELS[name],
    problem: failure?.field === name ? `${LABELS[name].replace(/ \(.*/, "")}: ${failure.problem}` : null,
  });

  return (
    <form className="narrow stack" onSubmit={submit} noValidate>
      <h1>Settings</h1>
      <p className="soft">{ORIGINS[found.source]}</p>
      {found.problem !== null && <p role="alert">{found.problem}</p>}
      <Field {...fieldOf("rpcUrl")} value={settings?.rpcUrl} type="url" />
      <Field {...fieldOf("chainId")} value={settings?.chainId} inputMode="numeric" />
      <Field {...fieldOf("oracle")} value={settings?.oracle} mono />
      <Field {...fieldOf("registry")} value={settings?.registry} mono />
      <Field
        {...fieldOf("deploymentBlock")}
        hint="Searches begin here. 0 works, and is slow on a long chain."
        value={settings?.deploymentBlock ?? 0}
        inputMode="numeric"
      />
      <Field
        {...fieldOf("gateways")}
        hint="An agent's, or any trustless gateway of IPFS. None is trusted: every hash is checked."
        value={settings?.gateways.join("\n")}
        lines={3}
      />
      <Field
        {...fieldOf("live")}
        hint="To watch committees argue. An agent can leave out what a seat said, and cannot invent it."
        value={settings?.live.join("\n")}
        lines={3}
      />
      <Field
        {...fieldOf("subgraphUrl")}
        hint="For the whole history. Without one it comes from the latest 50,000 blocks."
        value={settings?.subgraphUrl ?? ""}
        type="url"
      />
      <Field
        {...fieldOf("burnerKey")}
        hint="For a local chain only. Never a key that holds value."
        value={settings?.burnerKey ?? ""}
        mono
      />
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
