import { encodeFunctionData, type TransactionReceipt } from "viem";
import { tokenAbi } from "@conclave/contracts/abi";
import { ConclaveError, type ErrorCode } from "../../core/errors.ts";
import type { Address, Hex } from "../../core/types.ts";
import type { Connection } from "./connection.ts";
import { lower } from "./decode.ts";
import { allowanceOf, requireTokens, signPermit, type Permit } from "./token.ts";
import type { Sender } from "./transactions.ts";

/** A call that pulls tokens from the caller. */
export interface Payment {
  readonly token: Address;
  readonly spender: Address;
  readonly amount: bigint;
  /** Code of the error if the caller has too few tokens. */
  readonly missing: ErrorCode;
  readonly doing: string;
  readonly plain: Hex;
  /** Encodes the call with a permit; null if the contract takes no permit. */
  readonly permitted: ((permit: Permit) => Hex) | null;
}

/**
 * Pays in one transaction if the token has permits, else approves exactly the amount and then calls. If the call fails, the approval
 * stays for the next try: the contracts take tokens from their caller alone, so that nobody else can use it.
 */
export async function pay(connection: Connection, sender: Sender, payment: Payment): Promise<TransactionReceipt> {
  const { token, spender, amount, doing } = payment;
  const owner = lower(sender.account.address);
  await requireTokens(connection, token, owner, amount, payment.missing);
  if ((await allowanceOf(connection, token, owner, spender)) < amount) {
    const { permitted } = payment;
    const permit = permitted === null ? null : await signPermit(connection, sender.account, token, spender, amount);
    if (permit !== null && permitted !== null) return sender.send({ to: spender, data: permitted(permit), doing });
    const approval = encodeFunctionData({ abi: tokenAbi, functionName: "approve", args: [spender, amount] });
    await sender.send({ to: token, data: approval, doing: `Approve ${amount} of token ${token}` });
  }
  return sender.send({ to: spender, data: payment.plain, doing });
}

export function missingEvent(name: string): ConclaveError {
  return new ConclaveError(
    "CHAIN_NO_CONTRACT",
    `Read the receipt: it has no ${name} event; the contract is not what it should be`,
    { event: name },
  );
}
