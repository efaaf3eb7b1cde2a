import type { PublicClient } from "viem";
import { agentRegistryAbi, settlementAbi } from "@conclave/contracts/abi";
import { ConclaveError } from "../../core/errors.ts";
import type { AwaitedRound } from "../../core/request/events.ts";
import type { Request, SeatInfo } from "../../core/types.ts";
import type { Connection } from "./connection.ts";
import { unpackCommittee } from "./decode.ts";
import { committeeArguments } from "./encode.ts";
import { readHeader } from "./header.ts";
import { readSettlement } from "./prices.ts";

/** How long a chain can prove a seed, as contracts/libraries/SeedLib.sol checks it. */
export interface SeedWindow {
  readonly epochBlocks: bigint;
  /** Number of latest blocks whose hashes the chain serves. */
  readonly hashes: bigint;
}

/** The system contract of EIP-2935, and what it and the opcode BLOCKHASH serve. */
const HISTORY = "0x0000F90827F1C53a10cb7A02335B175320002935";
const HISTORY_HASHES = 8_191n;
const OPCODE_HASHES = 256n;

/** Implements `ChainReader.committee`: the settlement computes the committee, and changes nothing. */
export async function readCommittee(
  connection: Connection,
  request: Request,
  awaited: AwaitedRound,
  signal?: AbortSignal,
): Promise<readonly SeatInfo[]> {
  const doing = `Find the committee of request ${request.id}`;
  const [header, address] = await Promise.all([
    readHeader(connection, awaited.seedBlock, signal),
    readSettlement(connection, signal),
  ]);
  const words = await connection.call(doing, signal, (client) =>
    client.readContract({
      address,
      abi: settlementAbi,
      functionName: "committeeOf",
      args: committeeArguments(request, awaited, header),
    }),
  );
  const committee = unpackCommittee(words);
  if (typeof committee !== "string") return committee;
  throw new ConclaveError("CHAIN_REVERTED", `${doing}: the settlement answered with nonsense: ${committee}`, {
    error: "none",
  });
}

/** Reads what never changes: the registry's epochs, and whether the chain has EIP-2935. */
export async function readSeedWindow(connection: Connection, signal?: AbortSignal): Promise<SeedWindow> {
  const { registry } = connection;
  const [epochBlocks, hashes] = await connection.call("Read the length of an epoch", signal, (client) =>
    Promise.all([
      client.readContract({ address: registry, abi: agentRegistryAbi, functionName: "epochBlocks" }),
      readServedHashes(client),
    ]),
  );
  return { epochBlocks, hashes };
}

/** Reads how many of the latest blocks' hashes the chain serves. */
export async function readServedHashes(client: Pick<PublicClient, "getCode">): Promise<bigint> {
  const history = await client.getCode({ address: HISTORY });
  return history === undefined || history === "0x" ? OPCODE_HASHES : HISTORY_HASHES;
}

/** The oldest block at this head that can still prove a committee. */
export function oldestSeedAt(head: bigint, { epochBlocks, hashes }: SeedWindow): bigint {
  const [shown, served] = [(head / epochBlocks - 1n) * epochBlocks, head - hashes];
  return shown > served ? shown : served;
}

/** The last head at which this seed block can still prove a committee. */
export function lastHeadFor(seedBlock: bigint, { epochBlocks, hashes }: SeedWindow): bigint {
  const [shown, served] = [(seedBlock / epochBlocks + 2n) * epochBlocks - 1n, seedBlock + hashes];
  return shown < served ? shown : served;
}
