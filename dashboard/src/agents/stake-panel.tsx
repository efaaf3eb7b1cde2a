import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState, type ReactElement } from "react";
import { parseUnits } from "viem";
import type { Conclave } from "../../../sdk/src/index.ts";
import { Field } from "../shared/field.tsx";
import { lockedWhile } from "../shared/focus.ts";
import { amount, exact, seconds, time } from "../shared/format.ts";
import { Trouble, retryMs } from "../shared/trouble.tsx";
import type { Account } from "../wallet/account.ts";
import { GiveUp } from "../wallet/give-up.tsx";
import { WalletList } from "../wallet/wallet-menu.tsx";
import { useSending } from "../wallet/use-sending.ts";
import { SendTrouble } from "../wallet/wrong-chain.tsx";
import { useDashboard } from "../dashboard.tsx";
import { useChainTerms } from "./agents-page.tsx";

type ChainTerms = Awaited<ReturnType<Conclave["terms"]>>;
type Position = Awaited<ReturnType<Conclave["position"]>>;
type Rewards = Awaited<ReturnType<Conclave["rewards"]>>;

/** What the connected account has staked for an agent: delegate, start earning, unbond, withdraw, claim. */
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
        terms !== undefined && (
          <Staked key={`${agentId} ${account.address}`} agentId={agentId} account={account} terms={terms} />
        )
      )}
    </section>
  );
}

interface Props {
  readonly agentId: number;
  readonly account: Account;
  readonly terms: ChainTerms;
}

interface Action {
  readonly act: (actions: Conclave["actions"]) => Promise<unknown>;
  /** What is true once it succeeded. */
  readonly done: string;
}

/** True until all has unbonded. */
const UNBONDS = "All of your stake unbonds from now on.";

/** What succeeded: how much of it, and what the last one did. */
interface Done {
  readonly count: number;
  readonly says: string;
}

function Staked({ agentId, account: { address }, terms }: Props): ReactElement {
  const { conclave, settings } = useDashboard();
  const queries = useQueryClient();
  const own = useStake(agentId, address);
  const [done, setDone] = useState<Done>({ count: 0, says: "" });
  const doing = useSending({
    what: ["stake", settings, agentId],
    mutationFn: async ({ act }: Action) => act(conclave.actions),
    onSuccess: (_, { done: says }) => setDone(({ count }) => ({ count: count + 1, says })),
    onError: () => setDone(({ count }) => ({ count, says: "" })),
    onSettled: () => queries.invalidateQueries(),
  });
  if (own.error !== null) return <Trouble error={own.error} onRetry={() => void own.refetch()} />;
  if (own.data === undefined) return <p className="loading">Reading your stake…</p>;
  const { position, rewards, holdings, now } = own.data;
  const { decimals, symbol } = terms.stakeToken;
  return (
    <div className="stack beside">
      <div className="stack">
        <Standing position={position} rewards={rewards} terms={terms} now={now} />
        <Delegate
          key={`delegate ${done.count}`}
          terms={terms}
          held={holdings.stakeToken}
          isBusy={doing.isSending}
          onDelegate={(value) =>
            doing.send({
              act: (actions) => actions.bond(agentId, value),
              done: `You delegated ${exact(value, decimals, symbol)}.`,
            })
          }
        />
        <Actions
          own={own.data}
          agentId={agentId}
          address={address}
          terms={terms}
          isBusy={doing.isSending}
          send={doing.send}
        />
        <p role="status">
          {doing.isSending
            ? "Waiting for the wallet and the chain…"
            : done.says === UNBONDS && isWithdrawable(position, now)
              ? "It has unbonded: withdraw it."
              : done.says}
        </p>
        <GiveUp sending={doing} />
        <SendTrouble error={doing.error} />
      </div>
      <Notes own={own.data} terms={terms} />
    </div>
  );
}

interface ActionsProps {
  readonly own: OwnStake;
  readonly agentId: number;
  readonly address: Account["address"];
  readonly terms: ChainTerms;
  readonly isBusy: boolean;
  readonly send: (action: Action) => void;
}

function Actions({ own, agentId, address, terms, isBusy, send }: ActionsProps): ReactElement {
  const { position, rewards, now } = own;
  return (
    <div className="row">
      {position.joining > 0n && (
        <button
          type="button"
          className="primary"
          disabled={!mayEarn(position, now)}
          {...lockedWhile(isBusy, () =>
            send({ act: (actions) => actions.startEarning(agentId), done: "Your stake earns from now on." }),
          )}
        >
          Start earning
        </button>
      )}
      <button
        type="button"
        disabled={position.shares === 0n}
        {...lockedWhile(isBusy, () =>
          send({
            act: (actions) => actions.startUnbonding(agentId, position.shares),
            done: UNBONDS,
          }),
        )}
      >
        Unbond all
      </button>
      <button
        type="button"
        disabled={!isWithdrawable(position, now)}
        {...lockedWhile(isBusy, () =>
          send({
            act: (actions) => actions.withdrawStake(agentId, address),
            done: "What had unbonded is in your account.",
          }),
        )}
      >
        Withdraw
      </button>
      {(["token", "native"] as const)
        .filter((currency) => rewards[currency] > 0n)
        .map((currency) => (
          <button
            key={currency}
            type="button"
            {...lockedWhile(isBusy, () =>
              send({
                act: (actions) => actions.claimRewards(agentId, currency, address),
                done: "What it earned is in your account.",
              }),
            )}
          >
            Claim {earned(rewards, currency, terms)}
          </button>
        ))}
    </div>
  );
}

function Notes({ own: { position, now }, terms }: Pick<ActionsProps, "own" | "terms">): ReactElement {
  const { decimals, symbol } = terms.stakeToken;
  return (
    <div className="stack">
      <p className="soft small">
        Stake for an agent joins for 14 days first. Then it earns once you start it here; what you delegate, unbond or
        claim after that starts it, too.
      </p>
      <p className="soft small">
        Unbonding takes {seconds(terms.unbondingDelaySeconds)}. Until then the stake can still be slashed for what the
        agent did.
        {position.unbonding > 0n && position.shares > 0n && (
          <>
            {" "}
            <strong>
              If you unbond all now, the {amount(position.unbonding, decimals, symbol)} that unbond already begin anew
              {isWithdrawable(position, now) && ": withdraw them first"}.
            </strong>
          </>
        )}
      </p>
    </div>
  );
}

/** What the account has staked for the agent, and the chain's time. */
type OwnStake = NonNullable<ReturnType<typeof useStake>["data"]>;

function useStake(agentId: number, address: Account["address"]) {
  const { conclave, settings, publicClient } = useDashboard();
  return useQuery({
    queryKey: ["stake", settings, agentId, address],
    queryFn: async ({ signal }) => {
      const [position, rewards, holdings, { timestamp }] = await Promise.all([
        conclave.position(agentId, address, signal),
        conclave.rewards(agentId, address, signal),
        conclave.holdings(address, signal),
        publicClient.getBlock(),
      ]);
      return { position, rewards, holdings, now: Number(timestamp) };
    },
    refetchInterval: ({ state: { data, error } }) =>
      data !== undefined && isWaiting(data.position) ? WAITING_MS : retryMs(error),
  });
}

/** Time between two looks at stake for which something becomes possible. */
const WAITING_MS = 10_000;

function isWaiting({ joining, unbonding }: Position): boolean {
  return joining > 0n || unbonding > 0n;
}

/** @param now the chain's time: contracts know no other clock */
function isWithdrawable({ unbonding, unbondingEnd }: Position, now: number): boolean {
  return unbonding > 0n && unbondingEnd <= now;
}

/** True if shares have joined for long enough, and only wait for the call that lets them earn (RW6). */
function mayEarn({ joining, joiningEnd }: Position, now: number): boolean {
  return joining > 0n && joiningEnd <= now;
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
  /** The chain's time. */
  readonly now: number;
}

function Standing({ position, rewards, terms, now }: StandingProps): ReactElement {
  const { decimals, symbol } = terms.stakeToken;
  const { shares, joining, bonded } = position;
  return (
    <dl className="facts">
      <div>
        <dt>Staked</dt>
        <dd>{amount(bonded, decimals, symbol)}</dd>
      </div>
      {joining > 0n && (
        <div>
          <dt>Of it, earns nothing yet</dt>
          <dd>
            {amount((bonded * joining) / shares, decimals, symbol)}
            {mayEarn(position, now) ? ": start it" : `, may be started at ${time(position.joiningEnd)}`}
          </dd>
        </div>
      )}
      <div>
        <dt>Unbonding</dt>
        <dd>
          {amount(position.unbonding, decimals, symbol)}
          {position.unbonding > 0n &&
            (isWithdrawable(position, now) ? ", done: withdraw it" : ` until ${time(position.unbondingEnd)}`)}
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
  const typed = text.trim();
  const value = DECIMAL.test(typed) ? parseUnits(typed, decimals) : null;
  const problem =
    typed === ""
      ? null
      : value === null || value === 0n
        ? `give an amount of ${symbol}, e.g. 1.5`
        : value > held
          ? `the account holds ${exact(held, decimals, symbol)}`
          : null;
  return (
    <div className="row end">
      <fieldset disabled={isBusy}>
        <Field
          name="amount"
          label={`Amount of ${symbol}`}
          inputMode="decimal"
          value={text}
          onChange={setText}
          problem={problem}
          hint={`You hold ${amount(held, decimals, symbol)}.`}
        />
      </fieldset>
      <button
        type="button"
        className="primary"
        disabled={value === null || problem !== null}
        {...lockedWhile(isBusy, () => value !== null && onDelegate(value))}
      >
        Delegate
      </button>
    </div>
  );
}
