import { domainSeparator, formatUnits, parseSignature, size, type TypedDataDomain } from "viem";
import { ConclaveError, type ErrorCode } from "../../core/errors.ts";
import type { Address, Hex } from "../../core/types.ts";
import { tokenAbi } from "@conclave/contracts/abi";
import type { Client, Connection } from "./connection.ts";
import { lower } from "./decode.ts";
import type { SigningAccount } from "./transactions.ts";
import { nullIfUnsupported, readToken } from "./token-unit.ts";

/** As in contracts/types/Types.sol. */
export interface Permit {
  readonly value: bigint;
  readonly deadline: bigint;
  readonly v: number;
  readonly r: Hex;
  readonly s: Hex;
}

const PERMIT_SECONDS = 3_600n;
/** r, s and v: a contract's signature (ERC-1271) may have any other length. */
const SIGNATURE_BYTES = 65;

const permitTypes = {
  Permit: [
    { name: "owner", type: "address" },
    { name: "spender", type: "address" },
    { name: "value", type: "uint256" },
    { name: "nonce", type: "uint256" },
    { name: "deadline", type: "uint256" },
  ],
} as const;

/** Requires that the account holds `amount`, else throws `code`. */
export async function requireTokens(
  connection: Connection,
  token: Address,
  owner: Address,
  amount: bigint,
  code: ErrorCode,
): Promise<void> {
  const balance = await connection.call("Read the token balance", undefined, (client) =>
    client.readContract({ address: token, abi: tokenAbi, functionName: "balanceOf", args: [owner] }),
  );
  if (balance >= amount) return;
  const unit = await readToken(connection, token);
  const shown = (value: bigint): string => `${formatUnits(value, unit.decimals)} ${unit.symbol}`;
  throw new ConclaveError(
    code,
    `Pay ${shown(amount)}: ${owner} holds ${shown(balance)} (token ${token}); send it ${shown(amount - balance)} more`,
    {
      token,
      account: owner,
      balance: String(balance),
      required: String(amount),
    },
  );
}

export async function allowanceOf(
  connection: Connection,
  token: Address,
  owner: Address,
  spender: Address,
): Promise<bigint> {
  return connection.call("Read the token allowance", undefined, (client) =>
    client.readContract({ address: token, abi: tokenAbi, functionName: "allowance", args: [owner, spender] }),
  );
}

/**
 * Signs an EIP-2612 permit; null unless the token has an EIP-5267 domain that yields its separator, and if the account
 * signs as contracts do, or not at all. The domain has to be that of this token on this chain: else a token or a node could have the account sign away
 * other tokens.
 */
export async function signPermit(
  connection: Connection,
  account: SigningAccount,
  token: Address,
  spender: Address,
  value: bigint,
): Promise<Permit | null> {
  const facts = await connection.call("Read the token's permit domain", undefined, (client) =>
    readPermitFacts(client, token, account.address).catch((error: unknown) => nullIfUnsupported(error)),
  );
  if (facts === null || domainSeparator({ domain: facts.domain }) !== facts.separator) return null;
  const { chainId, verifyingContract } = facts.domain;
  if (chainId !== connection.domain.chainId || lower(verifyingContract) !== token) return null;
  const deadline = facts.timestamp + PERMIT_SECONDS;
  const message = { owner: account.address, spender, value, nonce: facts.nonce, deadline };
  const signature = await account.signTypedData({
    domain: facts.domain,
    types: permitTypes,
    primaryType: "Permit",
    message,
  });
  if (signature === null || size(signature) !== SIGNATURE_BYTES) return null;
  const { r, s, yParity } = parseSignature(signature);
  return { value, deadline, v: 27 + yParity, r, s };
}

interface PermitFacts {
  readonly domain: TypedDataDomain & { readonly verifyingContract: Hex };
  readonly separator: Hex;
  readonly nonce: bigint;
  readonly timestamp: bigint;
}

async function readPermitFacts(client: Client, token: Address, owner: Hex): Promise<PermitFacts> {
  const contract = { address: token, abi: tokenAbi } as const;
  const [[, name, version, chainId, verifyingContract], separator, nonce, { timestamp }] = await Promise.all([
    client.readContract({ ...contract, functionName: "eip712Domain" }),
    client.readContract({ ...contract, functionName: "DOMAIN_SEPARATOR" }),
    client.readContract({ ...contract, functionName: "nonces", args: [owner] }),
    client.getBlock(),
  ]);
  return { domain: { name, version, chainId: Number(chainId), verifyingContract }, separator, nonce, timestamp };
}
