import type { ReactElement } from "react";
import { quorumOf } from "../../../sdk/src/index.ts";
import { Quoted } from "../shared/quoted.tsx";
import type { Decision } from "../shared/types.ts";
import { leadingAnswer, standingAnswers, type ShownArgument } from "./argument.ts";

interface Props {
  readonly argument: ShownArgument;
  /** Null while the committee argues: then the answer that most seats share. */
  readonly decision: Decision | null;
  readonly seats: number;
}

/** How many seats gave the answer, round by round, and how many a quorum is. */
export function Agreement({ argument, decision, seats }: Props): ReactElement | null {
  if (argument.statements.length === 0) return null;
  const rounds = Array.from({ length: argument.rounds }, (_, round) => round);
  const last = standingAnswers(argument);
  const answer = decision?.status === "decided" ? decision.answer : leadingAnswer(last);
  const quorum = quorumOf(seats);
  return (
    <figure className="agreement">
      <figcaption>
        <h2>Agreement</h2>
        <p className="soft small">
          {answer === "" ? (
            "No seat gave an answer in any round."
          ) : (
            <>
              How many seats stand behind the answer “<Quoted text={answer} most={60} />” in each round. A bar begins
              with those that gave it; next are those that gave another and accept this one, and last those that do not.
            </>
          )}{" "}
          The line marks the quorum: {quorum} of {seats} seats.
        </p>
      </figcaption>
      {rounds.map((round) => {
        const given = standingAnswers(argument, round);
        const agreeing = [...given.values()].filter((one) => one.answer === answer).length;
        const accepting = acceptingSeats(argument, answer, round).filter(
          (one) => given.get(one)?.answer !== answer,
        ).length;
        const others = [...given.values()].filter((one) => one.answer !== null && one.answer !== answer).length;
        const supporting = agreeing + accepting;
        return (
          <div key={round} className="meter-row">
            <span className="soft small number">Round {round}</span>
            <Meter
              agreeing={agreeing}
              accepting={accepting}
              others={Math.max(0, others - accepting)}
              seats={seats}
              quorum={quorum}
            />
            <span className="number small">
              {supporting} of {seats}
            </span>
          </div>
        );
      })}
    </figure>
  );
}

/** Seats that accept an answer of this round. */
function acceptingSeats({ opinions }: ShownArgument, answer: string, round: number): readonly number[] {
  const accepting = opinions.filter((one) => one.accepts && one.about.round === round && one.about.answer === answer);
  return [...new Set(accepting.map(({ by }) => by))];
}

interface MeterProps {
  readonly agreeing: number;
  readonly accepting: number;
  readonly others: number;
  readonly seats: number;
  readonly quorum: number;
}

function Meter({ agreeing, accepting, others, seats, quorum }: MeterProps): ReactElement {
  const silent = seats - agreeing - accepting - others;
  const label = `${agreeing} of ${seats} seats gave the answer, ${accepting} accept it, ${others} differ, ${silent} gave no answer; the quorum is ${quorum}`;
  return (
    <svg className="meter" viewBox={`0 0 ${seats} 1`} preserveAspectRatio="none" role="img" aria-label={label}>
      <rect className="silent" width={seats} height={1} />
      <rect className="agreeing" width={agreeing} height={1} />
      <rect className="accepting" x={agreeing} width={accepting} height={1} />
      <rect className="others" x={agreeing + accepting} width={others} height={1} />
      <line className="quorum" x1={quorum} x2={quorum} y1={0} y2={1} />
    </svg>
  );
}
