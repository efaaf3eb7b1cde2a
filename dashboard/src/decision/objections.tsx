import type { ReactElement } from "react";
import { listed, plural } from "../shared/format.ts";
import { Quoted } from "../shared/quoted.tsx";
import type { Opinion, Statement } from "./argument.ts";

interface Props {
  readonly opinions: readonly Opinion[];
  readonly statements: readonly Statement[];
  readonly rounds: number;
}

/** Who objected to what, why, and what others made of it. */
export function Objections({ opinions, statements, rounds }: Props): ReactElement | null {
  const objections = opinions.filter(({ verdict, text }) => verdict === "rejects" && text !== "");
  if (objections.length === 0) return null;
  return (
    <section className="stack">
      <h2>{objections.length === 1 ? "One objection" : plural(objections.length, "objection")}</h2>
      <ol className="objections">
        {objections.map((one) => {
          const target = statements.find(({ seat, round }) => seat === one.about && round === one.round);
          return (
            <li key={`${one.by} ${one.about} ${one.round}`}>
              <p>
                <strong>Seat {one.by}</strong> to seat {one.about}’s “<Quoted text={target?.answer ?? ""} most={60} />”
                {rounds > 1 && <span className="soft small"> in round {one.round + 1}</span>}
              </p>
              <p>
                <Quoted text={one.text} most={600} />
              </p>
              <Ruling opinion={one} />
            </li>
          );
        })}
      </ol>
    </section>
  );
}

function Ruling({ opinion: { upheldBy, dismissedBy } }: { readonly opinion: Opinion }): ReactElement | null {
  const seats = (by: readonly number[]): string => listed(by.map((one) => `seat ${one}`));
  if (upheldBy.length === 0 && dismissedBy.length === 0) return null;
  return (
    <p className="small soft">
      {upheldBy.length > 0 && `Upheld by ${seats(upheldBy)}. `}
      {dismissedBy.length > 0 && `Dismissed by ${seats(dismissedBy)}.`}
    </p>
  );
}
