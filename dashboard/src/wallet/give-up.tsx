import type { ReactElement } from "react";
import type { Sending } from "./use-sending.ts";

const SAYS = {
  pending:
    "You do not wait any more, but the wallet may still ask you and send. Say no there if it asks: if you send again here and allow both, you pay twice.",
  success: "What you did not wait for was sent after all. If you send it again, you pay again.",
} as const;

interface Props {
  readonly sending: Pick<Sending<unknown, never>, "isSending" | "left" | "leave">;
}

/** The way out where a wallet, or the chain behind it, never answers. */
export function GiveUp({ sending: { isSending, left, leave } }: Props): ReactElement {
  return (
    <>
      {isSending && (
        <div className="row">
          <button type="button" onClick={leave}>
            Do not wait
          </button>
        </div>
      )}
      {left !== null && !isSending && (
        <p className="problem" role="status">
          {SAYS[left]}
        </p>
      )}
    </>
  );
}
