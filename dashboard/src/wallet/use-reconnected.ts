import { useEffect } from "react";
import { keepAt, keptAt } from "../shared/kept.ts";
import { useDashboard } from "../dashboard.tsx";
import { BURNER, burner, reconnect, type Account } from "./account.ts";
import { useBrowserWallets } from "./providers.ts";

const KEY = "conclave.wallet";

/** Keeps which wallet is connected, for the next load of the page. */
export function keepWallet(account: Account | null): void {
  keepAt("localStorage", KEY, account?.wallet ?? null);
}

/** Returns which wallet was connected; null if none was. */
export function keptWallet(): unknown {
  return keptAt("localStorage", KEY);
}

/** Connects the wallet that was connected before the page was loaded again; the wallet does not ask its user. */
export function useReconnected(): void {
  const { account, settings, setAccount } = useDashboard();
  const wallets = useBrowserWallets();
  useEffect(() => {
    const kept = keptWallet();
    const wallet = wallets.find(({ info }) => info.rdns === kept);
    if (account !== null || (kept !== BURNER && wallet === undefined)) return undefined;
    let isLeft = false;
    const open = async (): Promise<void> => {
      const found = await (wallet === undefined ? burner(settings) : reconnect(wallet, settings));
      if (!isLeft && found !== null) setAccount(found);
    };
    // The user can still connect it.
    open().catch(() => undefined);
    return () => {
      isLeft = true;
    };
  }, [account, wallets, settings, setAccount]);
}
