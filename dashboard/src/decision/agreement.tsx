import type { ReactElement } from "react";
import { Quoted } from "../shared/quoted.tsx";
import type { Decision } from "../shared/types.ts";
import { leadingAnswer, standingAnswers, type Argument } from "./argument.ts";

interface Props {
  readonly argument: Argument;
  readonly decision: Decision;
  readonly seats: number;
}

/** How many seats gave the answer, round by round, and how many a quorum is. */
export function Agreement({ argument, decision, seats }: Props): ReactElement | null {
  if (argument.statements.length === 0) return null;
  const rounds = Array.from({ length: argument.rounds }, (_, round) => round);
  const last = standingAnswers(argument);
  const answer = decision.status === "decided" ? decision.answer : (leadingAnswer(last)?.answer ?? "");
  const quorum = Math.floor((2 * seats) / 3) + 1;
  return (
    <figure className="agreement">
      <figcaption>
        <h2>Agreement</h2>
        <p className="soft small">
          Seats that gave the answer “<Quoted text={answer} most={60} />”. The mark is the quorum, {quorum} of {seats}.
        </p>
      </figcaption>
      {rounds.map((round) => {
        const given = standingAnswers(argument, round);
        const agreeing = [...given.values()].filter((one) => one.answer === answer).length;
        const others = [...given.values()].filter((one) => one.answer !== null && one.answer !== answer).length;
        return (
          <div key={round} className="meter-row">
            <span className="soft small number">Round {round + 1}</span>
            <Meter agreeing={agreeing} others={others} seats={seats} quorum={quorum} />
            <span className="number small">
              {agreeing} of {seats}
            </span>
          </div>
        );
      })}
    </figure>
  );
}

interface MeterProps {
  readonly agreeing: number;
  readonly others: number;
  readonly seats: number;
  readonly quorum: number;
}

function Meter({ agreeing, others, seats, quorum }: MeterProps): ReactElement {
  const silent = seats - agreeing - others;
  const label = `${agreeing} of ${seats} seats agree, ${others} differ, ${silent} gave no answer; the quorum is ${quorum}`;
  return (
    <svg className="meter" viewBox={`0 0 ${seats} 1`} preserveAspectRatio="none" role="img" aria-label={label}>
      <rect className="silent" width={seats} height={1} />
      <rect className="agreeing" width={agreeing} height={1} />
      <rect className="others" x={agreeing} width={others} height={1} />
      <line className="quorum" x1={quorum} x2={quorum} y1={0} y2={1} />
    </svg>
  );
}
