// The prices that a deployment begins with. docs/deploying.md says how they were reckoned.

export interface Prices {
  readonly token: PriceTerms;
  readonly native: PriceTerms;
}

/** As in contracts/types/Types.sol. */
export interface PriceTerms {
  readonly unitPrice: bigint;
  readonly gasRate: bigint;
  readonly gasPriceCap: bigint;
  readonly treasuryPpm: bigint;
}

const GWEI = 10n ** 9n;
const MILLI = 10n ** 15n;
/** The coin's gas rate is fixed. */
const ONE_COIN = 10n ** 18n;

/**
 * For a token of 18 decimals that is worth a dollar, and a coin worth 3,000 of them: 0.05 dollars for a seat of a committee that
 * decided, which is two units.
 */
export const DEFAULT_PRICES: Prices = {
  token: { unitPrice: 25n * MILLI, gasRate: 3_000n * ONE_COIN, gasPriceCap: 10n * GWEI, treasuryPpm: 0n },
  native: { unitPrice: MILLI / 100n, gasRate: ONE_COIN, gasPriceCap: 10n * GWEI, treasuryPpm: 0n },
};

const NO_PRICES: PriceTerms = { unitPrice: 0n, gasRate: 0n, gasPriceCap: 0n, treasuryPpm: 0n };
/** For tests on local chains: any fee is enough, and only the seats are paid. */
export const FREE: Prices = { token: NO_PRICES, native: { ...NO_PRICES, gasRate: ONE_COIN } };
