import { createStore, type EIP6963ProviderDetail } from "mipd";
import { useSyncExternalStore } from "react";

// The store takes what it hears, and this page would fail at an announcement that lacks a part.
addEventListener("eip6963:announceProvider", (event) => {
  if (!isWhole((event as CustomEvent<Partial<BrowserWallet> | null>).detail)) event.stopImmediatePropagation();
});

/** Wallets of the browser announce themselves by EIP-6963. */
const store = createStore();

export type BrowserWallet = EIP6963ProviderDetail;

export function useBrowserWallets(): readonly BrowserWallet[] {
  return useSyncExternalStore(
    (tell) => store.subscribe(tell),
    () => store.getProviders(),
  );
}

function isWhole(told: Partial<BrowserWallet> | null): boolean {
  const { uuid, name, rdns }: Partial<Record<string, unknown>> = { ...told?.info };
  const isNamed = [uuid, name, rdns].every((text) => typeof text === "string" && text !== "");
  return isNamed && typeof told?.provider?.request === "function";
}
