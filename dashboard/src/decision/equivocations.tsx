import type { ReactElement } from "react";
import type { TranscriptMessage } from "../../../sdk/src/verify/index.ts";
import { listed } from "../shared/format.ts";
import { Quoted } from "../shared/quoted.tsx";
import type { Equivocation } from "./argument.ts";

/** Seats that signed two different things for one place, with both. */
export function Equivocations({
  equivocations,
}: {
  readonly equivocations: readonly Equivocation[];
}): ReactElement | null {
  if (equivocations.length === 0) return null;
  return (
    <section className="stack">
      <h2>Signed two things</h2>
      {equivocations.map(({ seat, round, differsIn, messages, held }) => (
        <div key={messages[0]?.cid} className="equivocation stack">
          <p>
            <strong>Seat {seat}</strong> signed different messages for one place, {messages[0]?.name ?? "refused"} of
            round {round}. All carry its signature, which proves the equivocation: anybody may bring it to the slasher,
            which takes a part of the stake. {DIFFERENCES[differsIn]}
          </p>
          <div className="sides">
            {messages.map((message, index) => (
              <Side
                key={message.cid}
                message={message}
                held={held[index] ?? []}
                differsIn={differsIn}
                name={index === 0 ? "It said" : "It also said"}
              />
            ))}
          </div>
        </div>
      ))}
    </section>
  );
}

const DIFFERENCES: Readonly<Record<Equivocation["differsIn"], string>> = {
  words: "",
  heard: "Their words are the same; they differ in whom it says it had heard.",
  links: "Their words are the same; they differ in the messages that they build on, and so in their hashes.",
};

interface SideProps extends Pick<Equivocation, "differsIn"> {
  readonly message: TranscriptMessage;
  readonly held: readonly number[];
  readonly name: string;
}

/** One of the messages; what it differs in stands first. */
function Side({ message, held, differsIn, name }: SideProps): ReactElement {
  const words = (
    <pre key="words" className="small">
      <Quoted text={JSON.stringify(message.says, null, 1)} most={800} />
    </pre>
  );
  const heard = (
    <p key="heard" className="small">
      It had heard {held.length === 0 ? "nobody" : listed(held.map((one) => `seat ${one}`))}.
    </p>
  );
  const links = (
    <p key="links" className="mono small soft">
      {message.cid}
    </p>
  );
  const orders = { words: [words, heard, links], heard: [heard, words, links], links: [links, heard, words] };
  return (
    <div className="side">
      <p className="soft small">{name}</p>
      {orders[differsIn]}
    </div>
  );
}
