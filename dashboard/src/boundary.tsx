import { Component, type ReactElement, type ReactNode } from "react";
import { Quoted } from "./shared/quoted.tsx";
import { keepWallet, keptWallet } from "./wallet/use-reconnected.ts";

interface Props {
  readonly children: ReactNode;
}

interface State {
  readonly failure: { readonly error: unknown } | null;
}

/** Says what failed, with the ways out, where React would leave a blank page. */
export class Boundary extends Component<Props, State> {
  override readonly state: State = { failure: null };

  static getDerivedStateFromError(error: unknown): State {
    return { failure: { error } };
  }

  override render(): ReactNode {
    const { failure } = this.state;
    return failure === null ? this.props.children : <Failed error={failure.error} />;
  }
}

function Failed({ error }: { readonly error: unknown }): ReactElement {
  return (
    <div role="alert" className="trouble">
      <p>
        <strong>This part of the page failed</strong>
      </p>
      <p>
        Load the page again: a newer one may have taken its place while it stood open. What you sent is not lost.
        Reason: <Quoted text={error instanceof Error ? error.message : String(error)} most={600} />
      </p>
      <div className="row">
        <button type="button" onClick={() => location.reload()}>
          Load again
        </button>
        {keptWallet() !== null && (
          <button
            type="button"
            onClick={() => {
              keepWallet(null);
              location.reload();
            }}
          >
            Forget the wallet and load again
          </button>
        )}
      </div>
    </div>
  );
}
