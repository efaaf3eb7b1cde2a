import { resolve } from "node:path";
import { give } from "../../adapters/chain/faucet.ts";
import { readChainTerms } from "../../adapters/chain/terms.ts";
import { ConclaveError } from "../../core/errors.ts";
import type { Address } from "../../core/types.ts";
import { formatAmount, parseAddress, parseAmount, unitOf } from "../shared/arguments.ts";
import { chainFlags, findChain, type ChainFlags } from "../shared/chain-source.ts";
import type { CliHost, CommandSpec } from "../shared/command.ts";
import { keystoreAddress } from "../shared/keys.ts";
import { rows } from "../shared/output.ts";

interface Options extends ChainFlags {
  readonly keystore?: string;
  readonly coins: string;
  readonly tokens: string;
}

const COINS = unitOf("native", { symbol: "", decimals: 0 });

export const accountFund: CommandSpec<Options> = {
  example:
    "conclave account fund --keystore ./keystore.json --deployment ./my-world/deployment.json\n" +
    "conclave account fund 0x70997970c51812dc3a010c7d01b50e0d17dc79c8 --coins 1 --tokens 5000",
  options: [
    { flags: "--keystore <file>", description: "give to the account of this keystore; needs no password" },
    { flags: "--coins <amount>", description: "coins for gas", default: "10" },
    { flags: "--tokens <amount>", description: "tokens for fees and stake", default: "10000" },
    ...chainFlags,
  ],
  run: async ({ args: [named], options, host }) => {
    const to = await receiverOf(named, options, host);
    const source = await findChain(options, host);
    const terms = await readChainTerms(source, host.signal);
    const coins = parseAmount(options.coins, COINS, "--coins");
    const tokens = parseAmount(options.tokens, terms.stakeToken, "--tokens");
    const given = await give(source, { to, coins, tokens, token: terms.stakeToken.address }, host.signal);
    const { coin, stakeToken } = await terms.holdings(to, host.signal);
    return {
      json: { account: to, coins, tokens, heldCoins: coin, heldTokens: stakeToken, ...given },
      text: rows([
        ["account", to],
        ["got", `${formatAmount(coins, COINS)} and ${formatAmount(tokens, terms.stakeToken)}`],
        ["holds", `${formatAmount(coin, COINS)} and ${formatAmount(stakeToken, terms.stakeToken)}`],
      ]),
    };
  },
};

/** Throws USAGE unless exactly one account is named. */
async function receiverOf(named: string | undefined, { keystore }: Options, host: CliHost): Promise<Address> {
  if (named !== undefined && keystore === undefined) return parseAddress(named, "<account>");
  if (named === undefined && keystore !== undefined) return keystoreAddress(resolve(host.cwd, keystore));
  const why = named === undefined ? "none is named" : "two are named";
  throw new ConclaveError("USAGE", `Find the account: ${why}; give an address or --keystore FILE, and not both`, {
    option: "<account>",
  });
}
