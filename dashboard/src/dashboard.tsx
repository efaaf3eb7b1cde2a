import { useQueryClient } from "@tanstack/react-query";
import { createContext, use, useEffect, useMemo, useState, type ReactElement, type ReactNode } from "react";
import type { PublicClient } from "viem";
import { createConclave, type Conclave } from "../../sdk/src/index.ts";
import { publicClientOf } from "./clients.ts";
import type { Settings } from "./settings/settings.ts";
import { WALLET_CHAIN, type Account } from "./wallet/account.ts";

/** What all parts of the dashboard share: the deployment, and who pays. */
export interface Dashboard {
  readonly settings: Settings;
  readonly publicClient: PublicClient;
  /** With the account's wallet, if one is connected. */
  readonly conclave: Conclave;
  readonly account: Account | null;
  readonly setAccount: (account: Account | null) => void;
}

const DashboardContext = createContext<Dashboard | null>(null);

export function DashboardProvider({
  settings,
  children,
}: {
  readonly settings: Settings;
  readonly children: ReactNode;
}): ReactElement {
  const [account, setAccount] = useState<Account | null>(null);
  const queries = useQueryClient();
  const publicClient = useMemo(() => publicClientOf(settings), [settings]);
  useEffect(
    () =>
      account?.browser?.follow({
        onAccount: setAccount,
        onChain: () => void queries.invalidateQueries({ queryKey: [WALLET_CHAIN] }),
      }),
    [account, queries],
  );
  const dashboard = useMemo(
    (): Dashboard => ({
      settings,
      publicClient,
      account,
      setAccount,
      conclave: conclaveOf(settings, publicClient, account),
    }),
    [settings, publicClient, account],
  );
  return <DashboardContext value={dashboard}>{children}</DashboardContext>;
}

export function useDashboard(): Dashboard {
  const dashboard = use(DashboardContext);
  if (dashboard === null) throw new Error("a part of the dashboard stands outside of its DashboardProvider");
  return dashboard;
}

function conclaveOf(settings: Settings, publicClient: PublicClient, account: Account | null): Conclave {
  const { subgraphUrl } = settings;
  return createConclave({
    publicClient,
    deployment: settings,
    ...(subgraphUrl !== null && { subgraphUrl }),
    ...(account !== null && { walletClient: account.client }),
  });
}
