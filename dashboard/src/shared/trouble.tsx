import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { ConclaveError } from "../../../sdk/src/index.ts";
import { useDashboard } from "../dashboard.tsx";
import { hasAmounts, withUnits } from "./amounts.ts";
import { Quoted } from "./quoted.tsx";

interface Props {
  readonly error: unknown;
  /** Tries again. */
  readonly onRetry?: () => void;
}

/** Says what went wrong, and the way out. */
export function Trouble({ error, onRetry }: Props): ReactElement {
  const { title, message, way } = wordsOf(useReadable(error));
  const cid = cidOf(error);
  return (
    <div role="alert" className="trouble">
      <p>
        <strong>{title}</strong>
      </p>
      <p>
        <Quoted text={message} most={600} />
        {cid !== null && !message.includes(cid) && (
          <>
            {" "}
            Block <span className="mono">{cid}</span>
          </>
        )}
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

/** An error of the SDK with its amounts in units that people know. */
function useReadable(error: unknown): unknown {
  const { conclave, settings } = useDashboard();
  const isUnread = error instanceof ConclaveError && hasAmounts(error);
  const { data: terms } = useQuery({
    queryKey: ["terms", settings],
    queryFn: () => conclave.terms(),
    enabled: isUnread,
  });
  if (!isUnread || terms === undefined) return error;
  return new ConclaveError(error.code, withUnits(error, terms), error.data);
}

interface Words {
  readonly title: string;
  readonly message: string;
  readonly way: string | null;
}

type Code = ConclaveError["code"];

const TITLES: Partial<Record<Code, string>> = {
  CHAIN_UNREACHABLE: "The node of the chain does not answer",
  CHAIN_WRONG_ID: "The node serves another chain",
  CHAIN_NO_CONTRACT: "There is no Conclave at this address",
  CHAIN_REVERTED: "The contract refuses",
  CHAIN_TIMEOUT: "The transaction is not mined yet",
  TERMS_INVALID: "It cannot be asked like this",
  WALLET_MISSING: "No wallet is connected",
  WALLET_WRONG_CHAIN: "The wallet is on another chain",
  WALLET_REJECTED: "You said no in the wallet",
  WALLET_UNAUTHORIZED: "The wallet refuses",
  WALLET_FAILED: "The wallet failed",
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
  TERMS_INVALID: "Correct it in the form, then ask again. Nothing was sent.",
  WALLET_MISSING: "Connect one with the button at the top.",
  WALLET_UNAUTHORIZED:
    "Choose the account in the wallet and allow it for this page, or connect again with the button at the top. Nothing was sent.",
  WALLET_WRONG_CHAIN: "Switch it, then repeat what you did. Nothing was sent.",
  NETWORK_FAILED: "Name another gateway in the settings, or try again later. The decision on the chain stands anyway.",
};

function wordsOf(error: unknown): Words {
  if (error instanceof ConclaveError) {
    const { code, message, hint } = error;
    const title = "error" in error.data ? TITLES.CHAIN_REVERTED : TITLES[code];
    const way = WAYS[code] ?? (message.includes(hint) ? null : `What to do: ${hint}.`);
    return { title: title ?? "That did not work", message, way };
  }
  return { title: "That did not work", message: error instanceof Error ? error.message : String(error), way: null };
}

/** The CID of the block that an error is about; null if it is about none. */
export function cidOf(error: unknown): string | null {
  const cid = error instanceof ConclaveError ? error.data["cid"] : null;
  return typeof cid === "string" ? cid : null;
}

/** Time between two tries while the node is away. */
const RETRY_MS = 3_000;

/** Says after how long a query is tried again by itself; false: not at all. */
export function retryMs(error: unknown): number | false {
  return isAway(error) ? RETRY_MS : false;
}

/** True if the node does not answer, which may pass. */
export function isAway(error: unknown): boolean {
  return error instanceof ConclaveError && error.code === "CHAIN_UNREACHABLE";
}
