import type { ReactElement } from "react";
import { PROTOCOL_CODES, type ProtocolId } from "../../../sdk/src/index.ts";
import { Choice, Field } from "../shared/field.tsx";
import { CHOICES, hasOptions, KINDS, LABELS, type Draft, type Flaw } from "./question.ts";

interface Props {
  readonly draft: Draft;
  readonly change: (part: Partial<Draft>) => void;
  readonly flaw: Flaw | null;
}

/** The fields of the terms. */
export function DraftFields(props: Props): ReactElement {
  return (
    <>
      <KindFields {...props} />
      <details>
        <summary>Committee, time and appeals</summary>
        <TermFields {...props} />
      </details>
      <details>
        <summary>Sources, a later start and conditions</summary>
        <ConditionFields {...props} />
      </details>
    </>
  );
}

export function problemOf(flaw: Flaw | null, field: keyof Draft): string | null {
  return flaw?.field === field ? flaw.problem : null;
}

interface NumberProps extends Props {
  readonly field:
    "options" | "decimals" | "tolerance" | "committeeSize" | "hours" | "appeals" | "retries" | "delay" | "finality";
  /** Whether a number with a point may be typed. */
  readonly inputMode: "numeric" | "decimal";
  readonly hint?: string;
}

/** A field for a number. */
function NumberField({ draft, change, flaw, field, ...look }: NumberProps): ReactElement {
  return (
    <Field
      name={field}
      label={LABELS[field]}
      value={draft[field]}
      onChange={(value) => change({ [field]: value })}
      problem={problemOf(flaw, field)}
      {...look}
    />
  );
}

function KindFields(props: Props): ReactElement {
  const { draft, change } = props;
  return (
    <div className="columns">
      <Choice
        label={LABELS.kind}
        value={draft.kind}
        options={Object.entries(KINDS).map(([kind, { name }]) => [kind, name])}
        onChange={(kind) => change({ kind: kind as Draft["kind"] })}
      />
      {hasOptions(draft.kind) && <NumberField {...props} field="options" inputMode="numeric" />}
      {draft.kind === "number" && (
        <>
          <NumberField {...props} field="decimals" inputMode="numeric" />
          <NumberField {...props} field="tolerance" inputMode="decimal" />
        </>
      )}
    </div>
  );
}

function TermFields(props: Props): ReactElement {
  const { draft, change } = props;
  return (
    <div className="columns terms">
      <Choice
        label="Protocol"
        value={draft.protocol}
        options={Object.keys(PROTOCOL_CODES).map((id) => [id, id] as const)}
        onChange={(protocol) => change({ protocol: protocol as ProtocolId })}
        hint="How the seats argue."
      />
      <NumberField {...props} field="committeeSize" inputMode="decimal" hint="4 to 64 agents, drawn by stake." />
      <Choice
        label={LABELS.assurance}
        value={draft.assurance}
        options={Object.entries(CHOICES.assurance)}
        onChange={(assurance) => change({ assurance: assurance as Draft["assurance"] })}
        hint="How many seats must accept the answer."
      />
      <NumberField {...props} field="hours" inputMode="decimal" hint="0.5 to 168, and as long for an appeal." />
      <NumberField
        {...props}
        field="appeals"
        inputMode="decimal"
        hint="0 to 3. With one, the answer is provisional for a while."
      />
      <NumberField
        {...props}
        field="retries"
        inputMode="decimal"
        hint="0 to 3 committees in place of one that fails."
      />
      <Choice
        label={LABELS.currency}
        value={draft.currency}
        options={Object.entries(CHOICES.currency)}
        onChange={(currency) => change({ currency: currency as Draft["currency"] })}
      />
    </div>
  );
}

function ConditionFields(props: Props): ReactElement {
  const { draft, change, flaw } = props;
  return (
    <>
      <Field
        name="sources"
        label="Sources, one a line"
        lines={3}
        mono
        value={draft.sources}
        onChange={(sources) => change({ sources })}
        problem={problemOf(flaw, "sources")}
        hint="At most 4. Each agent reads them with its own eyes, and its answer must quote them: https:// pages and values, eip155: calls, CIDs of documents, or search: and words."
      />
      <div className="columns terms">
        <NumberField {...props} field="delay" inputMode="decimal" hint="0 to 720. The wait takes one of the retries." />
        <NumberField
          {...props}
          field="finality"
          inputMode="numeric"
          hint="0: a decision waits for an appeal. Else a less sure one calls a larger committee by itself; allow an appeal."
        />
        <Choice
          label="“It cannot be told”"
          value={draft.nonAnswers}
          options={Object.entries(CHOICES.nonAnswers)}
          onChange={(nonAnswers) => change({ nonAnswers: nonAnswers as Draft["nonAnswers"] })}
          hint="Whether the seats may decide that the sources do not tell, or that it is too early."
        />
        <Choice
          label={LABELS.security}
          value={draft.security}
          options={Object.entries(CHOICES.security)}
          problem={problemOf(flaw, "security")}
          onChange={(security) => change({ security: security as Draft["security"] })}
          hint="Secured: seats lose stake if two larger committees overturn them. Needs high assurance, two appeals, and the fee token."
        />
      </div>
    </>
  );
}
