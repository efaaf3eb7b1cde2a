import { createStore, type EIP6963ProviderDetail } from "mipd";
import { useSyncExternalStore } from "react";

/** Wallets of the browser announce themselves by EIP-6963. */
const store = createStore();

export type BrowserWallet = EIP6963ProviderDetail;

export function useBrowserWallets(): readonly BrowserWallet[] {
  return useSyncExternalStore(
    (tell) => store.subscribe(tell),
    () => store.getProviders(),
  );
}
