import { useId, type ReactElement } from "react";
import { Quoted } from "../shared/quoted.tsx";
import { isChair, standingAnswers, type ShownArgument } from "./argument.ts";

/** Every seat against every answer of the last round in which there were votes. */
export function VoteMatrix({
  argument,
  seats,
}: {
  readonly argument: ShownArgument;
  readonly seats: number;
}): ReactElement | null {
  const { opinions, statements } = argument;
  const id = useId();
  const round = Math.max(-1, ...opinions.map(({ about }) => about.round));
  if (round < 0) return null;
  const given = statements.filter((one) => one.round === round && one.answer !== null && !isChair(one));
  const answers = [...new Set(given.map(({ answer }) => answer ?? ""))];
  const own = standingAnswers(argument, round);
  const cellOf = (seat: number, answer: string): Cell => {
    if (own.get(seat)?.answer === answer) return CELLS.own;
    const said = opinions.find(({ by, about }) => by === seat && about.round === round && about.answer === answer);
    if (said === undefined) return CELLS.none;
    return said.accepts ? CELLS.accepts : CELLS.rejects;
  };
  return (
    <section className="stack">
      <h2>Votes</h2>
      <p id={id} className="soft small">
        What each seat says of each answer: ● gave it, ✓ accepts it, ✗ rejects it, – says nothing of it.
      </p>
      <div className="scroll" tabIndex={0} role="region" aria-label="Votes, a table">
        <table className="votes" aria-describedby={id}>
          <thead>
            <tr>
              <th scope="col">Seat</th>
              {answers.map((answer) => (
                <th key={answer} scope="col">
                  <Quoted text={answer} most={24} />
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {Array.from({ length: seats }, (_, seat) => (
              <tr key={seat}>
                <th scope="row">Seat {seat}</th>
                {answers.map((answer) => {
                  const { sign, words, kind } = cellOf(seat, answer);
                  return (
                    <td key={answer} className={`is-${kind}`}>
                      <span aria-hidden="true">{sign}</span>
                      <span className="hidden">{words}</span>
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

interface Cell {
  readonly sign: string;
  readonly words: string;
  readonly kind: string;
}

const CELLS = {
  own: { sign: "●", words: "gave this answer", kind: "own" },
  accepts: { sign: "✓", words: "accepts it", kind: "accepts" },
  rejects: { sign: "✗", words: "rejects it", kind: "rejects" },
  none: { sign: "–", words: "says nothing of it", kind: "none" },
} as const satisfies Readonly<Record<string, Cell>>;
