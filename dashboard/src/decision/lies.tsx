import type { ReactElement } from "react";
import type { TranscriptMessage } from "../../../sdk/src/verify/index.ts";
import { Quoted } from "../shared/quoted.tsx";
import type { Lie } from "./argument.ts";

/** Seats that signed two different things for one place, with both. */
export function Lies({ lies }: { readonly lies: readonly Lie[] }): ReactElement | null {
  if (lies.length === 0) return null;
  return (
    <section className="stack">
      <h2>Caught lying</h2>
      {lies.map(({ seat, round, messages }) => (
        <div key={messages[0]?.cid} className="lie stack">
          <p>
            <strong>Seat {seat}</strong> signed different messages for one place, {messages[0]?.name ?? "refused"} of round{" "}
            {round + 1}. All carry its signature, which proves the lie: anybody may bring it to the slasher, which takes a
            part of the stake.
          </p>
          <div className="twins">
            {messages.map((message, index) => (
              <Twin key={message.cid} message={message} name={index === 0 ? "It said" : "It also said"} />
            ))}
          </div>
        </div>
      ))}
    </section>
  );
}

function Twin({ message, name }: { readonly message: TranscriptMessage; readonly name: string }): ReactElement {
  return (
    <div className="twin">
      <p className="soft small">{name}</p>
      <pre className="small">
        <Quoted text={JSON.stringify(message.says, null, 1)} most={800} />
      </pre>
      <p className="mono small soft">{message.cid}</p>
    </div>
  );
}
