import { createContext, use, useMemo, useState, type ReactElement, type ReactNode } from "react";
import type { PublicClient } from "viem";
import { createConclave, type Conclave } from "../../sdk/src/index.ts";
import { publicClientOf } from "./clients.ts";
import type { Settings } from "./settings/settings.ts";
import type { Account } from "./wallet/account.ts";

/** What every part of the page shares: the deployment, and who pays. */
export interface World {
  readonly settings: Settings;
  readonly publicClient: PublicClient;
  /** With the account's wallet, if one is connected. */
  readonly conclave: Conclave;
  readonly account: Account | null;
  readonly setAccount: (account: Account | null) => void;
}

const WorldContext = createContext<World | null>(null);

export function WorldProvider({
  settings,
  children,
}: {
  readonly settings: Settings;
  readonly children: ReactNode;
}): ReactElement {
  const [account, setAccount] = useState<Account | null>(null);
  const publicClient = useMemo(() => publicClientOf(settings), [settings]);
  const world = useMemo(
    (): World => ({
      settings,
      publicClient,
      account,
      setAccount,
      conclave: conclaveOf(settings, publicClient, account),
    }),
    [settings, publicClient, account],
  );
  return <WorldContext value={world}>{children}</WorldContext>;
}

export function useWorld(): World {
  const world = use(WorldContext);
  if (world === null) throw new Error("a part of the page stands outside of its WorldProvider");
  return world;
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
