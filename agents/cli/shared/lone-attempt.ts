import type { Address, Attempt, RequestId, Terms } from "../../core/types.ts";

/** Builds an attempt for a prompt, which shows only its question and terms. */
export function loneAttempt(question: string, terms: Terms): Attempt {
  const nobody = `0x${"00".repeat(20)}` as Address;
  return {
    domain: { chainId: 1, oracle: nobody },
    request: { id: 0n as RequestId, consumer: nobody, terms, question },
    attempt: 0,
    committee: [],
  };
}
