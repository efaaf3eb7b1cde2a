import type { ReactElement } from "react";
import { Link } from "wouter";
import type { TranscriptMessage } from "../../../sdk/src/verify/index.ts";
import { listed, percent } from "../shared/format.ts";
import { Quoted } from "../shared/quoted.tsx";
import type { Decision, Stage } from "../shared/types.ts";
import { isChair, standingAnswers, type ShownArgument, type Statement } from "./argument.ts";

interface Props {
  readonly argument: ShownArgument;
  readonly messages: readonly TranscriptMessage[];
  /** Null while the committee argues. */
  readonly decision: Decision | null;
  readonly committee: Extract<Stage, { kind: "decided" }>["committee"];
  /** False if messages are missing. */
  readonly isWhole: boolean;
}

/** Columns that leave no seat alone: four where there is room for them, else two. The style sheet has three, which fit the rest. */
export function gridOf(seats: number): { readonly gridTemplateColumns: string } | undefined {
  if (seats < 4 || seats % 4 === 1) return undefined;
  return { gridTemplateColumns: "repeat(auto-fill, minmax(min(100%, clamp(16rem, (67rem - 100%) * 999, 45%)), 1fr))" };
}

/** Characters of a proof before the rest is folded. */
const SHORT = 280;

/** One pane for each seat: what it said, how sure it was, whom it convinced. */
export function SeatPanes({ argument, messages, decision, committee, isWhole }: Props): ReactElement {
  const standing = standingAnswers(argument);
  return (
    <section className="stack">
      <h2>The seats</h2>
      <ul className="panes" style={gridOf(committee.length)}>
        {committee.map(({ agentId }, seat) => {
          const state =
            stateOf(argument, isWhole, decision, seat, standing.get(seat)) ??
            runningState(messages.findLast((one) => one.seat === seat));
          return (
            <li key={`seat ${seat}`} className={`pane is-${state.kind}`}>
              <div className="pane-head">
                <h3>Seat {seat}</h3>
                <span className={`tag is-${state.kind}`}>{state.text}</span>
              </div>
              <p className="soft small">
                <Link href={`/agents/${agentId}`}>Agent {agentId}</Link>
              </p>
              <Statements argument={argument} seat={seat} />
              <Effects argument={argument} seat={seat} />
            </li>
          );
        })}
      </ul>
    </section>
  );
}

interface State {
  readonly kind: "agrees" | "differs" | "silent" | "equivocated";
  readonly text: string;
}

/** What a seat that has not answered did last, while the committee argues. */
function runningState(last: TranscriptMessage | undefined): State {
  return { kind: "silent", text: DEEDS[last?.name ?? ""] ?? (last === undefined ? "deliberates" : "takes part") };
}

const DEEDS: Readonly<Record<string, string>> = {
  gather: "has read the sources",
  close: "has read the sources",
  commit: "has bound itself to an answer",
};

/** Null if the committee argues and the seat has not said anything yet. */
function stateOf(
  { equivocations, opinions, statements }: ShownArgument,
  isWhole: boolean,
  decision: Decision | null,
  seat: number,
  standing: Statement | undefined,
): State | null {
  if (equivocations.some((one) => one.seat === seat)) return { kind: "equivocated", text: "signed two things" };
  if (standing === undefined && statements.some((one) => one.seat === seat && isChair(one)))
    return { kind: "silent", text: "chair" };
  if (standing === undefined && !isWhole) return { kind: "silent", text: "not read" };
  if ((standing?.answer ?? null) === null) {
    if (decision === null && standing === undefined) return null;
    const isJudge = standing === undefined && opinions.some(({ by }) => by === seat);
    return { kind: "silent", text: isJudge ? "judged others" : "no answer" };
  }
  // What is missing may change an answer.
  if (decision?.status !== "decided" || !isWhole) return { kind: "differs", text: "answered" };
  return standing?.answer === decision.answer
    ? { kind: "agrees", text: "agrees" }
    : { kind: "differs", text: "differs" };
}

function Statements({ argument, seat }: { readonly argument: ShownArgument; readonly seat: number }): ReactElement {
  const all = argument.statements.filter((one) => one.seat === seat);
  // What both messages of an equivocation say was said once.
  const texts = all.map(({ message: _, ...said }) => JSON.stringify(said));
  const own = all.filter((_, index) => texts.indexOf(texts[index] ?? "") === index);
  return (
    <>
      {own.map((one) => (
        <Said key={one.message} statement={one} place={own.length === 1 && !isChair(one) ? null : placeOf(one)} />
      ))}
    </>
  );
}

/** When the seat said it, and as what. */
function placeOf({ phase, round }: Statement): string {
  return `Round ${round}${ROLES[phase] ?? ""}`;
}

const ROLES: Readonly<Record<string, string>> = {
  revise: ", revised",
  reply: ", in reply",
  draft: ", as drafter",
  synthesis: ", as chair",
  converge: ", as chair",
};

function Said({ statement, place }: { readonly statement: Statement; readonly place: string | null }): ReactElement {
  const { answer, reason, confidence, quotations } = statement;
  return (
    <div className="said">
      {place !== null && <p className="soft small">{place}</p>}
      {answer === null ? (
        <p>
          No answer{reason === "" ? "." : ": "}
          <Quoted text={reason} most={SHORT} />
        </p>
      ) : (
        <>
          <p className="said-answer">
            <Quoted text={answer} most={SHORT} />
            {confidence !== null && <span className="number soft small">{percent(confidence)} sure</span>}
          </p>
          <Reason text={reason} />
        </>
      )}
      {quotations.map((one) => (
        <blockquote key={one} className="small">
          <Quoted text={one} most={SHORT} />
        </blockquote>
      ))}
    </div>
  );
}

function Reason({ text }: { readonly text: string }): ReactElement | null {
  if (text === "") return null;
  if (text.length <= SHORT)
    return (
      <p className="small">
        <Quoted text={text} />
      </p>
    );
  return (
    <details className="small">
      <summary>
        <Quoted text={text.slice(0, SHORT)} />… <span className="more">more</span>
      </summary>
      <Quoted text={text.slice(SHORT)} />
    </details>
  );
}

/** Whom the seat convinced, and by whom it was convinced. */
function Effects({ argument, seat }: { readonly argument: ShownArgument; readonly seat: number }): ReactElement | null {
  const followers = argument.changes.filter((one) => one.convincedBy.includes(seat)).map((one) => one.seat);
  const own = standingAnswers(argument).get(seat)?.answer;
  const accepting = argument.opinions
    .filter(({ about, accepts, by }) => accepts && about.seat === seat && by !== seat)
    .map(({ by }) => by)
    .filter((by) => standingAnswers(argument).get(by)?.answer !== own);
  const convinced = [...new Set([...followers, ...accepting])].toSorted((a, b) => a - b);
  const changes = argument.changes.filter((one) => one.seat === seat);
  if (convinced.length === 0 && changes.length === 0) return null;
  return (
    <ul className="plain small">
      {convinced.length > 0 && <li>Convinced {listed(convinced.map((one) => `seat ${one}`))}</li>}
      {changes.map(({ from, to, convincedBy }) => (
        <li key={to}>
          Changed from <Quoted text={from} most={60} /> to <Quoted text={to} most={60} />
          {convincedBy.length > 0 && <> after {listed(convincedBy.map((one) => `seat ${one}`))}</>}
        </li>
      ))}
    </ul>
  );
}
