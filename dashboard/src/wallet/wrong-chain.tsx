import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { ConclaveError } from "../../../sdk/src/index.ts";
import { lockedWhile } from "../shared/focus.ts";
import { Trouble } from "../shared/trouble.tsx";
import { useDashboard } from "../dashboard.tsx";
import { WALLET_CHAIN } from "./account.ts";

/** Returns the chain that the connected wallet is on, if it is another one than the deployment's; null if not, or while it is unknown. */
export function useWrongChain(): number | null {
  const { account, settings } = useDashboard();
  const { data = settings.chainId } = useQuery({
    queryKey: [WALLET_CHAIN, account?.wallet, account?.address],
    enabled: account !== null && account.browser !== null,
    queryFn: () => account?.client.getChainId(),
  });
  // A wallet may answer anything, which viem makes 0 or no number.
  return data > 0 && data !== settings.chainId ? data : null;
}

/** Says that the wallet is on another chain, and switches it. */
export function WrongChain(): ReactElement | null {
  const { account, settings } = useDashboard();
  const queries = useQueryClient();
  const found = useWrongChain();
  const switching = useMutation({
    mutationFn: async () => account?.browser?.switchChain(),
    onSettled: () => queries.invalidateQueries({ queryKey: [WALLET_CHAIN] }),
  });
  if (found === null) return null;
  return (
    <>
      <div role="alert" className="trouble">
        <p>
          <strong>The wallet is on another chain</strong>
        </p>
        <p>
          It is on chain {found}, and this Conclave is on chain {settings.chainId}. Nothing is sent until you switch it.
        </p>
        <div className="row">
          <button type="button" className="primary" {...lockedWhile(switching.isPending, () => switching.mutate())}>
            Switch the wallet to chain {settings.chainId}
          </button>
        </div>
      </div>
      {switching.error !== null && <Trouble error={switching.error} />}
    </>
  );
}

/** What keeps the account from sending, and why the last try failed. */
export function SendTrouble({ error }: { readonly error: Error | null }): ReactElement {
  // The wallet's chain is shown as it is now, not as it was then.
  const isOld = error instanceof ConclaveError && error.code === "WALLET_WRONG_CHAIN";
  return (
    <>
      <WrongChain />
      {error !== null && !isOld && <Trouble error={error} />}
    </>
  );
}
