import { useMutation } from "@tanstack/react-query";
import { useId, useRef, type ReactElement } from "react";
import { lockedWhile } from "../shared/focus.ts";
import { Quoted } from "../shared/quoted.tsx";
import { Trouble } from "../shared/trouble.tsx";
import { shortHex } from "../shared/format.ts";
import { useDashboard } from "../dashboard.tsx";
import { burner, connect, type Account } from "./account.ts";
import { useBrowserWallets } from "./providers.ts";
import { keepWallet, useReconnected } from "./use-reconnected.ts";
import { useWrongChain, WrongChain } from "./wrong-chain.tsx";

/** Connects a wallet of the browser, or the burner account of a local world. */
export function WalletMenu(): ReactElement {
  const { account } = useDashboard();
  const id = useId();
  const menu = useRef<HTMLDivElement>(null);
  // Hidden before what it shows changes: the browser then gives the focus back to the button that opened it.
  const close = (): void => menu.current?.hidePopover();
  const wrongChain = useWrongChain();
  useReconnected();
  return (
    <div className="wallet">
      <button type="button" popoverTarget={id} className="quiet">
        {account === null ? "Connect" : <span className="mono">{shortHex(account.address)}</span>}
        {wrongChain !== null && ` on chain ${wrongChain}`}
      </button>
      <div ref={menu} id={id} popover="auto" className="menu">
        {account === null ? <WalletList onConnected={close} /> : <Connected account={account} onLeave={close} />}
      </div>
    </div>
  );
}

interface ConnectedProps {
  readonly account: Account;
  readonly onLeave: () => void;
}

function Connected({ account, onLeave }: ConnectedProps): ReactElement {
  const { setAccount } = useDashboard();
  return (
    <div className="stack">
      <p>
        <Quoted text={account.name} most={40} />
        <br />
        <span className="mono small">{account.address}</span>
      </p>
      <WrongChain />
      <button
        type="button"
        onClick={() => {
          onLeave();
          keepWallet(null);
          setAccount(null);
        }}
      >
        Disconnect
      </button>
    </div>
  );
}

interface Try {
  readonly open: () => Promise<Account | null>;
  /** Is aborted when the user does not wait for it any more. */
  readonly left: AbortController;
}

/** The wallets that there are; also where something needs one. */
export function WalletList({ onConnected }: { readonly onConnected?: () => void }): ReactElement {
  const { settings, setAccount } = useDashboard();
  const wallets = useBrowserWallets();
  const connecting = useMutation({
    mutationFn: ({ open }: Try) => open(),
    onSuccess: (account, { left }) => {
      if (left.signal.aborted) return;
      if (account !== null) onConnected?.();
      keepWallet(account);
      setAccount(account);
    },
  });
  const { isPending } = connecting;
  const opens = (open: Try["open"]) =>
    lockedWhile(isPending, () => connecting.mutate({ open, left: new AbortController() }));
  const giveUp = (): void => {
    connecting.variables?.left.abort();
    connecting.reset();
  };
  const isEmpty = wallets.length === 0 && settings.burnerKey === null;
  return (
    <div className="stack">
      {isEmpty && (
        <p>
          This browser has no wallet. Install one, e.g. a browser extension that signs for Ethereum, then load this page
          again. Reading and proving need none.
        </p>
      )}
      {wallets.map((wallet) => (
        <button key={wallet.info.uuid} type="button" {...opens(() => connect(wallet, settings))}>
          <Quoted text={wallet.info.name} most={40} />
        </button>
      ))}
      {settings.burnerKey !== null && (
        <button type="button" {...opens(() => burner(settings))}>
          Burner account of this local chain
        </button>
      )}
      {isPending && (
        <>
          <p role="status">Waiting for the wallet…</p>
          <button type="button" onClick={giveUp}>
            Do not wait
          </button>
        </>
      )}
      {connecting.error !== null && <Trouble error={connecting.error} />}
    </div>
  );
}
