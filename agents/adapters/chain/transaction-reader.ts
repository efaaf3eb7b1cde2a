import { decodeFunctionData } from "viem";
import { bytesToHex, hexToBytes } from "../../core/digest.ts";
import { limits } from "../../core/limits.ts";
import type { Certificate, Hex, SeatIndex } from "../../core/types.ts";
import type { TransactionReader } from "../../ports/chain.ts";
import { decisionOracleAbi } from "./abi.ts";
import { connect, type ChainOptions } from "./connection.ts";
import { lower } from "./decode.ts";
import { toReceipt } from "./writer.ts";

const SIGNATURE_BYTES = 65;

/** Throws CHAIN_UNREACHABLE, CHAIN_WRONG_ID or CHAIN_NO_CONTRACT. */
export async function createTransactionReader(options: ChainOptions, signal?: AbortSignal): Promise<TransactionReader> {
  const connection = await connect(options, signal);
  return {
    receipt: async (hash, ended) =>
      toReceipt(
        await connection.call(`Read the receipt of ${hash}`, ended, (client) => client.getTransactionReceipt({ hash })),
      ),
    certificate: async (hash, ended) => {
      const { to, input } = await connection.call(`Read transaction ${hash}`, ended, (client) =>
        client.getTransaction({ hash }),
      );
      return to !== null && lower(to) === connection.domain.oracle ? certificateOf(input) : null;
    },
  };
}

/** Null when the calldata is not that of a `commit`. */
function certificateOf(input: Hex): Certificate["signatures"] | null {
  let call: ReturnType<typeof decodeFunctionData<typeof decisionOracleAbi>>;
  try {
    call = decodeFunctionData({ abi: decisionOracleAbi, data: input });
  } catch {
    return null;
  }
  if (call.functionName !== "commit") return null;
  const { signers, signatures } = call.args[3];
  const bytes = hexToBytes(signatures);
  const seats = Array.from({ length: limits.maxCommittee }, (_, seat) => seat as SeatIndex).filter(
    (seat) => ((signers >> BigInt(seat)) & 1n) === 1n,
  );
  return seats.map((seat, index) => ({
    seat,
    signature: bytesToHex(bytes.subarray(index * SIGNATURE_BYTES, (index + 1) * SIGNATURE_BYTES)),
  }));
}
