import type { ReactElement } from "react";
import { listed, plural } from "../shared/format.ts";
import { Quoted } from "../shared/quoted.tsx";
import type { Opinion } from "./argument.ts";

interface Props {
  readonly opinions: readonly Opinion[];
  readonly rounds: number;
}

/** Objections before the rest is folded. */
const SHOWN = 12;

/** Who objected to what, why, and what others made of it. */
export function Objections({ opinions, rounds }: Props): ReactElement | null {
  const objections = opinions.filter(({ accepts, text }) => !accepts && text !== "");
  if (objections.length === 0) return null;
  return (
    <section className="stack">
      <h2>{objections.length === 1 ? "One objection" : plural(objections.length, "objection")}</h2>
      <List objections={objections.slice(0, SHOWN)} rounds={rounds} />
      {objections.length > SHOWN && (
        <details>
          <summary>{objections.length - SHOWN} more</summary>
          <List objections={objections.slice(SHOWN)} rounds={rounds} />
        </details>
      )}
    </section>
  );
}

interface ListProps {
  readonly objections: readonly Opinion[];
  readonly rounds: number;
}

function List({ objections, rounds }: ListProps): ReactElement {
  return (
    <ol className="objections">
      {objections.map((one) => {
        const { seat, answer, round, message } = one.about;
        // A seat may object to one answer twice, in other words.
        return (
          <li key={`${one.by} ${message} ${one.text}`}>
            <p>
              <strong>Seat {one.by}</strong> to seat {seat}’s “<Quoted text={answer ?? ""} most={60} />”
              {rounds > 1 && <span className="soft small"> in round {round}</span>}
            </p>
            <p>
              <Quoted text={one.text} most={600} />
            </p>
            <Ruling opinion={one} />
          </li>
        );
      })}
    </ol>
  );
}

function Ruling({ opinion: { upheldBy, refutedBy } }: { readonly opinion: Opinion }): ReactElement | null {
  const seats = (by: readonly number[]): string => listed(by.map((one) => `seat ${one}`));
  if (upheldBy.length === 0 && refutedBy.length === 0) return null;
  return (
    <p className="small soft">
      {upheldBy.length > 0 && `Upheld by ${seats(upheldBy)}. `}
      {refutedBy.length > 0 && `Refuted by ${seats(refutedBy)}.`}
    </p>
  );
}
