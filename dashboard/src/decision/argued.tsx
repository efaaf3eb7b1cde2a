import type { ReactElement } from "react";
import type { TranscriptMessage } from "../../../sdk/src/verify/index.ts";
import type { Decision, Stage } from "../shared/types.ts";
import { Agreement } from "./agreement.tsx";
import type { ShownArgument } from "./argument.ts";
import { Equivocations, type Deliberated } from "./equivocations.tsx";
import { EventsSeen } from "./events-seen.tsx";
import { Objections } from "./objections.tsx";
import { SeatPanes } from "./seat-panes.tsx";
import { VoteMatrix } from "./vote-matrix.tsx";

interface Props {
  readonly argument: ShownArgument;
  readonly messages: readonly TranscriptMessage[];
  /** Null while the committee argues. */
  readonly decision: Decision | null;
  readonly committee: Extract<Stage, { kind: "decided" }>["committee"];
  readonly deliberated: Deliberated;
  /** False if messages are missing: then nothing is said of what seats did not do, nor of how many did something. */
  readonly isWhole: boolean;
  /** True if the messages are events that name others. */
  readonly isHashgraph: boolean;
  /** What stands below the agreement. */
  readonly children?: ReactElement | false;
}

/** An argument, running or ended: agreement, seats, equivocations, objections, votes, and who saw whom. */
export function Argued({
  argument,
  messages,
  decision,
  committee,
  deliberated,
  isWhole,
  isHashgraph,
  children,
}: Props): ReactElement {
  return (
    <>
      {isWhole && <Agreement argument={argument} decision={decision} seats={committee.length} />}
      {children}
      <SeatPanes argument={argument} messages={messages} decision={decision} committee={committee} isWhole={isWhole} />
      <Equivocations
        equivocations={argument.equivocations}
        committee={committee}
        deliberated={deliberated}
        isHashgraph={isHashgraph}
      />
      <Objections opinions={argument.opinions} rounds={argument.rounds} />
      {isWhole && <VoteMatrix argument={argument} seats={committee.length} />}
      {isWhole && isHashgraph && <EventsSeen argument={argument} messages={messages} seats={committee.length} />}
    </>
  );
}
