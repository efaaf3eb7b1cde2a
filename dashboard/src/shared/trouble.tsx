import type { ReactElement } from "react";
import { ConclaveError } from "../../../sdk/src/index.ts";
import { Quoted } from "./quoted.tsx";

interface Props {
  readonly error: unknown;
  /** Tries again. */
  readonly onRetry?: () => void;
}

/** Says what went wrong, and the way out. */
export function Trouble({ error, onRetry }: Props): ReactElement {
  const { title, message, way } = wordsOf(error);
  return (
    <div role="alert" className="trouble">
      <p>
        <strong>{title}</strong>
      </p>
      <p>
        <Quoted text={message} most={600} />
      </p>
      {way !== null && <p>{way}</p>}
      <div className="row">
        {onRetry !== undefined && (
          <button type="button" onClick={onRetry}>
            Try again
          </button>
        )}
      </div>
    </div>
  );
}

interface Words {
  readonly title: string;
  readonly message: string;
  readonly way: string | null;
}

type Code = ConclaveError["code"];

/** EIP-1193. */
const REJECTED = 4001;
const UNAUTHORIZED = 4100;
const UNAUTHORIZED_TITLE = "The wallet refuses";
const UNAUTHORIZED_WAY =
  "Choose the account in the wallet and allow it for this page, or connect again with the button at the top. Nothing was sent.";

const TITLES: Partial<Record<Code, string>> = {
  CHAIN_UNREACHABLE: "The node of the chain does not answer",
  CHAIN_WRONG_ID: "The node serves another chain",
  CHAIN_NO_CONTRACT: "There is no Conclave at this address",
  CHAIN_REVERTED: "The contract refuses",
  CHAIN_TIMEOUT: "The transaction is not mined yet",
  WALLET_MISSING: "No wallet is connected",
  WALLET_WRONG_CHAIN: "The wallet is on another chain",
  WALLET_REJECTED: "You said no in the wallet",
  WALLET_UNAUTHORIZED: UNAUTHORIZED_TITLE,
  BALANCE_TOO_LOW: "The account holds too little",
  STAKE_MISSING: "The account holds too little",
  REQUEST_UNKNOWN: "There is no such request",
  NETWORK_FAILED: "The gateway does not answer",
  BLOCK_MISSING: "No gateway has the block",
  SUBGRAPH_UNREACHABLE: "The subgraph does not answer",
  SUBGRAPH_WRONG_CHAIN: "The subgraph is another deployment's",
};

const WAYS: Partial<Record<Code, string>> = {
  CHAIN_UNREACHABLE:
    "The dashboard tries again by itself. If it lasts, name another node in the settings. Nothing is lost.",
  CHAIN_WRONG_ID: "Correct the node or the chain id in the settings.",
  CHAIN_NO_CONTRACT: "Correct the addresses in the settings.",
  WALLET_MISSING: "Connect one with the button at the top.",
  WALLET_UNAUTHORIZED: UNAUTHORIZED_WAY,
  WALLET_WRONG_CHAIN: "Switch it, then repeat what you did. Nothing was sent.",
  NETWORK_FAILED: "Name another gateway in the settings, or try again later. The decision on the chain stands anyway.",
};

function wordsOf(error: unknown): Words {
  if (error instanceof ConclaveError) {
    const { code, message, hint } = error;
    return { title: TITLES[code] ?? "That did not work", message, way: WAYS[code] ?? `What to do: ${hint}.` };
  }
  // Some wallets throw what is no Error.
  const { code, message = String(error) } = (error ?? {}) as { readonly code?: unknown; readonly message?: string };
  if (code === REJECTED) return { title: "You said no in the wallet", message: "Nothing was sent.", way: null };
  if (code === UNAUTHORIZED) return { title: UNAUTHORIZED_TITLE, message, way: UNAUTHORIZED_WAY };
  return { title: "That did not work", message, way: null };
}

/** True if the node does not answer, which may pass. */
export function isAway(error: unknown): boolean {
  return error instanceof ConclaveError && error.code === "CHAIN_UNREACHABLE";
}
