import { useId, type ReactElement, type ReactNode } from "react";

interface Props {
  readonly name: string;
  readonly label: string;
  readonly hint?: ReactNode;
  readonly problem?: string | null;
  /** Where the field begins, or what it holds if `onChange` is given. */
  readonly value?: string | number | undefined;
  readonly onChange?: (value: string) => void;
  readonly type?: "text" | "url";
  readonly inputMode?: "numeric" | "decimal";
  /** Lines of a larger field. */
  readonly lines?: number;
  /** For keys and addresses. */
  readonly mono?: boolean;
}

/** A labelled input, with a hint and what is wrong with it. */
export function Field({ label, hint, problem = null, value, onChange, lines, mono, ...rest }: Props): ReactElement {
  const id = useId();
  const note = `${id}-note`;
  const held = onChange === undefined ? { defaultValue: value } : { value: value ?? "" };
  const common = {
    id,
    ...held,
    className: mono === true ? "mono" : undefined,
    autoComplete: "off",
    spellCheck: lines !== undefined && mono !== true,
    "aria-invalid": problem !== null,
    "aria-describedby": problem !== null || hint !== undefined ? note : undefined,
    onChange: (event: { readonly currentTarget: { readonly value: string } }) => onChange?.(event.currentTarget.value),
  };
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {lines === undefined ? <input {...common} {...rest} /> : <textarea {...common} name={rest.name} rows={lines} />}
      {(problem !== null || hint !== undefined) && (
        <p id={note} className={problem === null ? "hint" : "problem"}>
          {problem ?? hint}
        </p>
      )}
    </div>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  readonly options: readonly (readonly [value: string, label: string])[];
  readonly onChange: (value: string) => void;
  readonly hint?: ReactNode;
  readonly problem?: string | null;
}

/** A labelled list from which one entry is chosen. */
export function Choice({ label, value, options, onChange, hint, problem = null }: ChoiceProps): ReactElement {
  const id = useId();
  const note = problem ?? hint;
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select
        id={id}
        value={value}
        aria-invalid={problem !== null}
        aria-describedby={note === undefined ? undefined : `${id}-note`}
        onChange={(event) => onChange(event.currentTarget.value)}
      >
        {options.map(([one, name]) => (
          <option key={one} value={one}>
            {name}
          </option>
        ))}
      </select>
      {note !== undefined && (
        <p id={`${id}-note`} className={problem === null ? "hint" : "problem"}>
          {note}
        </p>
      )}
    </div>
  );
}
