import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState, type ReactElement } from "react";
import { formatUnits, parseUnits } from "viem";
import type { Conclave } from "../../../sdk/src/index.ts";
import { Field } from "../shared/field.tsx";
import { amount, seconds, time } from "../shared/format.ts";
import { Trouble } from "../shared/trouble.tsx";
import type { Account } from "../wallet/account.ts";
import { WalletList } from "../wallet/wallet-menu.tsx";
import { useSending } from "../wallet/use-sending.ts";
import { SendTrouble } from "../wallet/wrong-chain.tsx";
import { useDashboard } from "../dashboard.tsx";
import { useChainTerms } from "./agents-page.tsx";

type ChainTerms = Awaited<ReturnType<Conclave["terms"]>>;
type Position = Awaited<ReturnType<Conclave["position"]>>;
type Rewards = Awaited<ReturnType<Conclave["rewards"]>>;

/** What the connected account has staked for an agent: delegate, unbond, withdraw, claim. */
export function StakePanel({ agentId }: { readonly agentId: number }): ReactElement {
  const { account } = useDashboard();
  const { data: terms, error } = useChainTerms();
  return (
    <section className="card stack" aria-label="Your stake">
      <h2>Your stake</h2>
      {error !== null && <Trouble error={error} />}
      {account === null ? (
        <>
          <p className="soft">Connect a wallet to stake for this agent, and to claim what that earns.</p>
          <WalletList />
        </>
      ) : (
        terms !== undefined && <Staked agentId={agentId} account={account} terms={terms} />
      )}
    </section>
  );
}

interface Props {
  readonly agentId: number;
  readonly account: Account;
  readonly terms: ChainTerms;
}

function Staked({ agentId, account: { address }, terms }: Props): ReactElement {
  const { conclave, settings } = useDashboard();
  const queries = useQueryClient();
  const key = ["stake", settings, agentId, address];
  const own = useQuery({
    queryKey: key,
    queryFn: async ({ signal }) => {
      const [position, rewards, holdings] = await Promise.all([
        conclave.position(agentId, address, signal),
        conclave.rewards(agentId, address, signal),
        conclave.holdings(address, signal),
      ]);
      return { position, rewards, holdings };
    },
  });
  const doing = useSending({
    what: ["stake", settings, agentId],
    mutationFn: async (action: (actions: Conclave["actions"]) => Promise<unknown>) => action(conclave.actions),
    onSettled: () => queries.invalidateQueries(),
  });
  if (own.error !== null) return <Trouble error={own.error} onRetry={() => void own.refetch()} />;
  if (own.data === undefined) return <p className="loading">Reading your stake…</p>;
  const { position, rewards, holdings } = own.data;
  return (
    <>
      <Standing position={position} rewards={rewards} terms={terms} />
      <Delegate
        terms={terms}
        held={holdings.stakeToken}
        isBusy={doing.isSending}
        onDelegate={(value) => doing.send((actions) => actions.bond(agentId, value))}
      />
      <div className="row">
        <button
          type="button"
          disabled={position.shares === 0n || doing.isSending}
          onClick={() => doing.send((actions) => actions.startUnbonding(agentId, position.shares))}
        >
          Unbond all
        </button>
        <button
          type="button"
          disabled={!isWithdrawable(position) || doing.isSending}
          onClick={() => doing.send((actions) => actions.withdrawStake(agentId, address))}
        >
          Withdraw
        </button>
        {(["token", "native"] as const)
          .filter((currency) => rewards[currency] > 0n)
          .map((currency) => (
            <button
              key={currency}
              type="button"
              disabled={doing.isSending}
              onClick={() => doing.send((actions) => actions.claimRewards(agentId, currency, address))}
            >
              Claim {earned(rewards, currency, terms)}
            </button>
          ))}
      </div>
      <p className="soft small">
        Unbonding takes {seconds(terms.unbondingDelaySeconds)}. Until then the stake can still be slashed for what the
        agent did.
      </p>
      {doing.isSending && <p role="status">Waiting for the wallet and the chain…</p>}
      <SendTrouble error={doing.error} />
    </>
  );
}

function isWithdrawable({ unbonding, unbondingEnd }: Position): boolean {
  return unbonding > 0n && unbondingEnd * 1_000 <= Date.now();
}

function earned(rewards: Rewards, currency: "token" | "native", { feeToken }: ChainTerms): string {
  return currency === "native"
    ? amount(rewards.native, 18, "ETH")
    : amount(rewards.token, feeToken.decimals, feeToken.symbol);
}

interface StandingProps {
  readonly position: Position;
  readonly rewards: Rewards;
  readonly terms: ChainTerms;
}

function Standing({ position, rewards, terms }: StandingProps): ReactElement {
  const { decimals, symbol } = terms.stakeToken;
  return (
    <dl className="facts">
      <div>
        <dt>Staked</dt>
        <dd>{amount(position.bonded, decimals, symbol)}</dd>
      </div>
      <div>
        <dt>Unbonding</dt>
        <dd>
          {amount(position.unbonding, decimals, symbol)}
          {position.unbonding > 0n && !isWithdrawable(position) && ` until ${time(position.unbondingEnd)}`}
        </dd>
      </div>
      <div>
        <dt>Earned</dt>
        <dd>
          {earned(rewards, "native", terms)}, {earned(rewards, "token", terms)}
        </dd>
      </div>
    </dl>
  );
}

interface DelegateProps {
  readonly terms: ChainTerms;
  /** Stake tokens of the account. */
  readonly held: bigint;
  readonly isBusy: boolean;
  readonly onDelegate: (value: bigint) => void;
}

const DECIMAL = /^\d{1,24}(\.\d{1,18})?$/;

function Delegate({ terms, held, isBusy, onDelegate }: DelegateProps): ReactElement {
  const { decimals, symbol } = terms.stakeToken;
  const [text, setText] = useState("");
  const value = DECIMAL.test(text) ? parseUnits(text, decimals) : null;
  const problem =
    text === ""
      ? null
      : value === null || value === 0n
        ? `give an amount of ${symbol}, e.g. 1.5`
        : value > held
          ? `the account holds ${formatUnits(held, decimals)} ${symbol}`
          : null;
  return (
    <div className="row end">
      <Field
        name="amount"
        label={`Amount of ${symbol}`}
        inputMode="decimal"
        value={text}
        onChange={setText}
        problem={problem}
        hint={`You hold ${amount(held, decimals, symbol)}.`}
      />
      <button
        type="button"
        className="primary"
        disabled={value === null || problem !== null || isBusy}
        onClick={() => value !== null && onDelegate(value)}
      >
        Delegate
      </button>
    </div>
  );
}
