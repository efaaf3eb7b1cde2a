import { keccak256, numberToHex, toRlp, type Hex } from "viem";
import { ConclaveError } from "../../core/errors.ts";
import type { Connection } from "./connection.ts";

/** A block as eth_getBlockByNumber has it. */
export type RawBlock = Readonly<Record<string, unknown>>;

/** Numbers lose their leading zeros in RLP, data keeps every byte. */
type Kind = "data" | "number";

/** Fields in the order of the header (Yellow Paper 4.3). */
const fields: readonly (readonly [name: string, kind: Kind])[] = [
  ["parentHash", "data"],
  ["sha3Uncles", "data"],
  ["miner", "data"],
  ["stateRoot", "data"],
  ["transactionsRoot", "data"],
  ["receiptsRoot", "data"],
  ["logsBloom", "data"],
  ["difficulty", "number"],
  ["number", "number"],
  ["gasLimit", "number"],
  ["gasUsed", "number"],
  ["timestamp", "number"],
  ["extraData", "data"],
  ["mixHash", "data"],
  ["nonce", "data"],
];

/** Fields that later forks appended: EIP-1559, 4895, 4844 (two), 4788, 7685. A chain on an older fork has fewer. */
const laterFields: readonly (readonly [name: string, kind: Kind])[] = [
  ["baseFeePerGas", "number"],
  ["withdrawalsRoot", "data"],
  ["blobGasUsed", "number"],
  ["excessBlobGas", "number"],
  ["parentBeaconBlockRoot", "data"],
  ["requestsHash", "data"],
];

/**
 * Reads a block's header as RLP; "0x" while the node has no such block, which the oracle answers with SeedNotReady.
 * Throws CHAIN_HEADER_UNKNOWN or CHAIN_UNREACHABLE.
 */
export async function readHeader(connection: Connection, blockNumber: bigint, signal?: AbortSignal): Promise<Hex> {
  const block = await connection.call(`Read block ${blockNumber}`, signal, (client) =>
    client.request({ method: "eth_getBlockByNumber", params: [numberToHex(blockNumber), false] }),
  );
  return block === null ? "0x" : encodeHeader({ ...block });
}

/**
 * Encodes a header. Throws CHAIN_HEADER_UNKNOWN if the fields do not yield the block's hash, as on a fork or chain with
 * other fields.
 */
export function encodeHeader(block: RawBlock): Hex {
  const later = laterFields.filter(([name]) => block[name] !== undefined && block[name] !== null);
  const header = toRlp([...fields, ...later].map(([name, kind]) => encodeField(block[name], kind)));
  const actual = keccak256(header);
  if (actual === block["hash"]) return header;
  const [blockNumber, expected] = [String(block["number"]), String(block["hash"])];
  throw new ConclaveError(
    "CHAIN_HEADER_UNKNOWN",
    `Encode the header of block ${blockNumber}: its fields hash to ${actual}, but the node says ${expected}; update conclave, or use another node`,
    { blockNumber, expected, actual },
  );
}

/** Encodes a field; a value that is no hex string becomes empty, and the hash then fails. */
function encodeField(value: unknown, kind: Kind): Hex {
  if (typeof value !== "string" || !/^0x[0-9a-f]*$/i.test(value)) return "0x";
  const digits = kind === "number" ? value.slice(2).replace(/^0+/, "") : value.slice(2);
  return `0x${digits.length % 2 === 0 ? digits : `0${digits}`}`;
}
