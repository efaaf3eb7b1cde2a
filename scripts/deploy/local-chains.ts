/** Chains that nobody else uses: a block is final at once, a poll costs nothing, and addresses on them help nobody. */
export const LOCAL_CHAINS: readonly number[] = [1_337, 31_337];
