import { decodeAbiParameters, toFunctionSelector, type DecodeFunctionDataReturnType } from "viem";
import { hexToBytes } from "../../core/encoding/bytes.ts";
import type { Certificate, Hex, RequestId } from "../../core/types.ts";
import type { TransactionReader } from "../../ports/chain.ts";
import { decisionOracleAbi } from "@conclave/contracts/abi";
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
      const together = await connection.together({ method: "eth_getTransactionByHash", params: [hash] }, ended);
      // A node that leaves out one answer of a batch shifts the others: what is not the transaction asked for is read alone.
      const { to, input } =
        together?.hash === hash
          ? together
          : await connection.call(`Read transaction ${hash}`, ended, (client) => client.getTransaction({ hash }));
      return typeof to === "string" && lower(to) === connection.domain.oracle ? certificateOf(input, requestId) : null;
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

const commitAbi = decisionOracleAbi
  .filter((item) => item.type === "function")
  .filter(({ name }) => name === "commit" || name === "tryMulticall");
type Call = DecodeFunctionDataReturnType<typeof commitAbi>;

/** By selector. viem would hash the signatures again for each call. */
const functions = new Map(commitAbi.map((item) => [toFunctionSelector(item), item]));
const SELECTOR_LENGTH = 10;

function decodeCall(data: Hex): Call | null {
  const called = functions.get(data.slice(0, SELECTOR_LENGTH) as Hex);
  if (called === undefined) return null;
  try {
    const args = decodeAbiParameters(called.inputs, `0x${data.slice(SELECTOR_LENGTH)}`);
    return { functionName: called.name, args } as Call;
  } catch {
    return null;
  }
}
