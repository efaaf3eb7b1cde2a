import { decisionOracleAbi, settlementAbi } from "conclave/abi";
import { packTerms } from "../../core/digest.ts";
import type { Address, Round, Terms } from "../../core/types.ts";
import type { Connection } from "./connection.ts";
import { lower } from "./decode.ts";

/** It is bound to the oracle for ever. */
export async function readSettlement(connection: Connection, signal?: AbortSignal): Promise<Address> {
  const settlement = await connection.call("Find the settlement contract", signal, (client) =>
    client.readContract({ address: connection.domain.oracle, abi: decisionOracleAbi, functionName: "settlement" }),
  );
  return lower(settlement);
}

export async function readFeeToken(connection: Connection, signal?: AbortSignal): Promise<Address> {
  const token = await connection.call("Read the fee token", signal, (client) =>
    client.readContract({ address: connection.domain.oracle, abi: decisionOracleAbi, functionName: "feeToken" }),
  );
  return lower(token);
}

/** The smallest fee of a request with these terms, whatever fee they name. */
export async function readQuote(connection: Connection, terms: Terms, signal?: AbortSignal): Promise<bigint> {
  const args = [packTerms(terms)] as const;
  return connection.call("Read the price of the request", signal, (client) =>
    client.readContract({ address: connection.domain.oracle, abi: decisionOracleAbi, functionName: "quote", args }),
  );
}

/** What an appeal against a decision of this round costs. */
export async function readBond(
  connection: Connection,
  terms: Terms,
  round: Round,
  signal?: AbortSignal,
): Promise<bigint> {
  const address = await readSettlement(connection, signal);
  return connection.call("Read the bond of an appeal", signal, (client) =>
    client.readContract({ address, abi: settlementAbi, functionName: "bondOf", args: [packTerms(terms), round] }),
  );
}
