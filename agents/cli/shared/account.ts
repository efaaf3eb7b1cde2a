import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { createOperatorActions } from "../../adapters/chain/operator.ts";
import type { ReaderOptions } from "../../adapters/chain/reader.ts";
import { readChainTerms, type ChainTerms } from "../../adapters/chain/terms.ts";
import type { Keys } from "../../adapters/keystore/keys.ts";
import { openKeystore } from "../../adapters/keystore/keystore.ts";
import { ConclaveError } from "../../core/errors.ts";
import type { Address, Currency } from "../../core/types.ts";
import { MAX_FEE_PER_GAS_GWEI, type OperatorActions } from "../../ports/chain.ts";
import { formatAmount, unitOf } from "./arguments.ts";
import { chainFlags, findChain, type ChainFlags } from "./chain-source.ts";
import type { CliHost, OptionSpec } from "./command.ts";
import { CONFIG_FILE, DEFAULT_DIR, loadAgentConfig } from "./config.ts";
import { agentPassword, keystoreAddress, passwordFlag } from "./keys.ts";

/** Flags of commands that act and pay from an account. */
export interface AccountFlags extends ChainFlags {
  readonly keystore?: string;
  readonly passwordFile?: string;
}

export const accountFlags: readonly OptionSpec[] = [
  { flags: "--keystore <file>", description: "account that acts and pays (default: that of the agent's folder)" },
  passwordFlag,
  {
    flags: "--max-fee-per-gas <gwei>",
    description: `most that a unit of gas may cost: while the node asks for more, nothing is sent (default: that of the agent's folder, else ${MAX_FEE_PER_GAS_GWEI})`,
  },
  ...chainFlags,
];

/** The account that acts, and the oracle's terms for it. */
export interface OwnAccount {
  readonly source: ReaderOptions;
  readonly terms: ChainTerms;
  readonly keys: Keys;
  readonly actions: OperatorActions;
}

export async function openOwnAccount(flags: AccountFlags, host: CliHost): Promise<OwnAccount> {
  const source = await findChain(flags, host);
  const terms = await readChainTerms(source, host.signal);
  return { source, terms, ...(await openActions(source, flags, host)) };
}

/** Opens the keystore for what the account does on the chain. Throws as `openAccount` does. */
export async function openActions(
  source: ReaderOptions,
  flags: AccountFlags,
  host: CliHost,
): Promise<Pick<OwnAccount, "keys" | "actions">> {
  const keys = await openAccount(flags, host);
  const actions = await createOperatorActions({ ...source, account: keys.viemAccount() }, host.signal);
  return { keys, actions };
}

/** The account's address, which needs no password. Throws CONFIG_MISSING or KEYSTORE_MISSING. */
export async function accountAddress(flags: AccountFlags, host: CliHost): Promise<Address> {
  return keystoreAddress(await keystorePath(flags, host));
}

/** Opens the account's keystore. Throws CONFIG_MISSING, or what opening a keystore throws. */
export async function openAccount(flags: AccountFlags, host: CliHost): Promise<Keys> {
  return openKeystore(await keystorePath(flags, host), await agentPassword(flags.passwordFile, host));
}

/** Checks the balance before the contract would, so that the error names whole units. Throws BALANCE_TOO_LOW. */
export async function requireFunds(
  { what, amount, currency }: { readonly what: string; readonly amount: bigint; readonly currency: Currency },
  terms: ChainTerms,
  account: Address,
  signal: AbortSignal,
): Promise<void> {
  const { feeToken, stakeToken } = terms;
  if (currency === "token" && feeToken.address !== stakeToken.address) return;
  const { coin, stakeToken: tokens } = await terms.holdings(account, signal);
  const held = currency === "token" ? tokens : coin;
  if (held >= amount) return;
  const show = (units: bigint): string => formatAmount(units, unitOf(currency, feeToken));
  throw new ConclaveError(
    "BALANCE_TOO_LOW",
    `Pay the ${what} of ${show(amount)}: ${account} holds ${show(held)}; send it ${show(amount - held)} more`,
    { account, required: String(amount), balance: String(held) },
  );
}

async function keystorePath(flags: AccountFlags, host: CliHost): Promise<string> {
  if (flags.keystore !== undefined) return resolve(host.cwd, flags.keystore);
  const config = resolve(host.cwd, flags.dir ?? DEFAULT_DIR, CONFIG_FILE);
  if (existsSync(config)) return (await loadAgentConfig(config)).keystore;
  throw new ConclaveError("CONFIG_MISSING", "Open the account: give --keystore FILE, or --dir of an agent", {
    field: "keystore",
  });
}
