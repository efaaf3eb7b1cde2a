import type { ReactElement } from "react";
import { Quoted } from "../shared/quoted.tsx";
import { standingAnswers, type Argument, type Verdict } from "./argument.ts";

/** Every seat against every answer of the last round in which there were votes. */
export function VoteMatrix({ argument, seats }: { readonly argument: Argument; readonly seats: number }): ReactElement | null {
  const { opinions, statements } = argument;
  const round = Math.max(-1, ...opinions.map((one) => one.round));
  if (round < 0) return null;
  const given = statements.filter((one) => one.round === round && one.answer !== null);
  const answers = [...new Set(given.map(({ answer }) => answer ?? ""))];
  const own = standingAnswers(argument, round);
  const cellOf = (seat: number, answer: string): Cell => {
    if (own.get(seat)?.answer === answer) return { sign: "●", words: "gave this answer", kind: "own" };
    const about = opinions.find(
      (one) =>
        one.by === seat &&
        one.round === round &&
        given.some((said) => said.seat === one.about && said.answer === answer),
    );
    if (about === undefined) return { sign: "", words: "said nothing of it", kind: "none" };
    if (about.marks !== null) return { sign: String(about.marks), words: `gave ${about.marks} marks`, kind: "marks" };
    return CELLS[about.verdict];
  };
  return (
    <section className="stack">
      <h2>Votes</h2>
      <div className="scroll" tabIndex={0} role="region" aria-label="Votes, a table">
        <table className="votes">
          <caption className="soft small">
            What each seat says of each answer: ● gave it, ✓ accepts it, ✗ rejects it, – abstains, a number is marks.
          </caption>
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
  readonly kind: "own" | "accepts" | "rejects" | "abstains" | "marks" | "none";
}

const CELLS: Readonly<Record<Verdict, Cell>> = {
  accepts: { sign: "✓", words: "accepts it", kind: "accepts" },
  rejects: { sign: "✗", words: "rejects it", kind: "rejects" },
  abstains: { sign: "–", words: "abstains", kind: "abstains" },
};
