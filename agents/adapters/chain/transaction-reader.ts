import { decodeFunctionData } from "viem";
import { hexToBytes } from "../../core/encoding/bytes.ts";
import type { Certificate, Hex, RequestId } from "../../core/types.ts";
import type { TransactionReader } from "../../ports/chain.ts";
import { decisionOracleAbi } from "conclave/abi";
import { connect, type ChainOptions } from "./connection.ts";
import { lower } from "./decode.ts";
import { unpackCertificate, unpackHead } from "./settlement.ts";
import { toReceipt } from "./transactions.ts";

/** Creates the reader. Throws CHAIN_UNREACHABLE, CHAIN_WRONG_ID or CHAIN_NO_CONTRACT. */
export async function createTransactionReader(options: ChainOptions, signal?: AbortSignal): Promise<TransactionReader> {
  const connection = await connect(options, signal);
  return {
    receipt: async (hash, ended) =>
      toReceipt(
        await connection.call(`Read the receipt of ${hash}`, ended, (client) => client.getTransactionReceipt({ hash })),
      ),
    certificate: async (hash, requestId, ended) => {
      const { to, input } = await connection.call(`Read transaction ${hash}`, ended, (client) =>
        client.getTransaction({ hash }),
      );
      return to !== null && lower(to) === connection.domain.oracle ? certificateOf(input, requestId) : null;
    },
  };
}

/**
 * Implements `TransactionReader.certificate`. A batch may hold any calls; those that do not commit the request are
 * skipped.
 */
function certificateOf(input: Hex, requestId: RequestId): Certificate["signatures"] | null {
  const call = decodeCall(input);
  const commits = call?.functionName === "tryMulticall" ? call.args[0].map(decodeCall) : [call];
  const found = commits.flatMap((one) =>
    one?.functionName === "commit" && one.args[0].id === requestId ? [one.args] : [],
  );
  const [first, second] = found;
  if (first === undefined || second !== undefined) return null;
  const [, , , certificate, decision] = first;
  const head = unpackHead(decision.head);
  return typeof head === "string" ? null : unpackCertificate(hexToBytes(certificate), head.seats);
}

/** An ABI of the called functions alone: viem hashes every function that stands before the called one. */
const commitAbi = decisionOracleAbi.filter(
  (item) => "name" in item && (item.name === "commit" || item.name === "tryMulticall"),
);

function decodeCall(data: Hex): ReturnType<typeof decodeFunctionData<typeof commitAbi>> | null {
  try {
    return decodeFunctionData({ abi: commitAbi, data });
  } catch {
    return null;
  }
}
