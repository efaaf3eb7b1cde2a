import { create, type KuboRPCClient } from "kubo-rpc-client";
import { cidString } from "../../core/encoding/cid.ts";
import { ConclaveError, messageOf } from "../../core/errors.ts";
import type { Digest } from "../../core/types.ts";
import { credentialsApart } from "../http.ts";
import { sha256 } from "#sha256";
import { blockMissing, cidOf } from "./block.ts";

/** Kubo reports a timeout itself; after this grace without a report it counts as gone. */
const GRACE_MS = 2_000;
const ABSENT = /not found|could not find|context deadline exceeded|request timed out|deadline has elapsed/i;

export interface CallOptions {
  readonly signal: AbortSignal;
  readonly timeout: number;
}

export interface KuboRpc {
  /** The URL's origin, without credentials. */
  readonly origin: string;
  /** Makes a call about one block. Throws NETWORK_FAILED, or BLOCK_MISSING if nobody has it or the signal aborts. */
  call<T>(
    digest: Digest,
    signal: AbortSignal | undefined,
    request: (client: KuboRPCClient, call: CallOptions) => Promise<T>,
  ): Promise<T>;
  /** Makes a call about the node. Throws NETWORK_FAILED. */
  callNode<T>(
    signal: AbortSignal | undefined,
    request: (client: KuboRPCClient, call: CallOptions) => Promise<T>,
  ): Promise<T>;
  /** Ends the calls under way. */
  close(): void;
}

/** A parameter of every Kubo call that the client passes on but does not declare. */
export const OFFLINE: object = { offline: true };

export function createKuboRpc(url: string, timeoutMs: number): KuboRpc {
  const origin = URL.canParse(url) ? new URL(url).origin : "an invalid URL";
  const apart = credentialsApart(url);
  const client = create({ url: apart.url, headers: { ...apart.headers } });
  const closing = new AbortController();
  const callerOf = (signal: AbortSignal | undefined): AbortSignal =>
    AbortSignal.any([closing.signal, ...(signal === undefined ? [] : [signal])]);
  const optionsFor = (caller: AbortSignal): CallOptions => ({
    signal: AbortSignal.any([caller, AbortSignal.timeout(timeoutMs + GRACE_MS)]),
    timeout: timeoutMs,
  });
  const failed = (error: unknown, data: Readonly<Record<string, string>>): ConclaveError =>
    new ConclaveError("NETWORK_FAILED", `Check the Kubo node at ${origin}: ${kuboReason(error)}`, data, error);
  return {
    origin,
    async call(digest, signal, request) {
      const caller = callerOf(signal);
      try {
        return await request(client, optionsFor(caller));
      } catch (error) {
        if (error instanceof ConclaveError) throw error;
        if (caller.aborted || ABSENT.test(kuboReason(error))) throw blockMissing(digest, timeoutMs, error);
        throw failed(error, { cid: cidString(digest) });
      }
    },
    callNode: (signal, request) =>
      request(client, optionsFor(callerOf(signal))).catch((error: unknown) => {
        throw failed(error, {});
      }),
    close: () => closing.abort(new Error("content store closed")),
  };
}

export function kuboReason(error: unknown): string {
  return messageOf(error).slice(0, 200);
}

/** True if nobody has the block; false if the caller gave up. */
export function isMissing(error: unknown, signal: AbortSignal | undefined): boolean {
  return error instanceof ConclaveError && error.code === "BLOCK_MISSING" && signal?.aborted !== true;
}

/**
 * Stores a block and reads it back, since Kubo does not write a block that it believes to have, even if the disk
 * damaged it. Throws STORE_INVALID if the block is broken and pinned, so that Kubo does not remove it.
 */
export async function storeSoundly(
  rpc: KuboRpc,
  digest: Digest,
  bytes: Uint8Array,
  signal: AbortSignal | undefined,
): Promise<void> {
  await store(rpc, digest, bytes, signal);
  if (await isSound(rpc, digest, signal)) return;
  await rpc.call(digest, signal, async (client, options) => {
    for await (const _ of client.block.rm(cidOf(digest), { ...options, force: true })) continue;
  });
  await store(rpc, digest, bytes, signal);
  if (await isSound(rpc, digest, signal)) return;
  const cid = cidString(digest);
  const way = "run `ipfs repo verify --drop`, start it and store again";
  throw new ConclaveError(
    "STORE_INVALID",
    `Stop the Kubo node at ${rpc.origin}, ${way}: its disk has broken the pinned block ${cid}`,
    { cid },
  );
}

async function store(rpc: KuboRpc, digest: Digest, bytes: Uint8Array, signal: AbortSignal | undefined): Promise<void> {
  const cid = cidString(digest);
  const stored = await rpc.call(digest, signal, (client, options) =>
    client.block.put(bytes, { ...options, format: "dag-cbor", mhtype: "sha2-256", version: 1 }),
  );
  const actualCid = stored.toString();
  if (actualCid === cid) return;
  const message = `Check the Kubo node at ${rpc.origin}: it stored ${actualCid} for ${cid}`;
  throw new ConclaveError("STORE_INVALID", message, { cid, actualCid });
}

async function isSound(rpc: KuboRpc, digest: Digest, signal: AbortSignal | undefined): Promise<boolean> {
  try {
    const held = await rpc.call(digest, signal, (client, options) =>
      client.block.get(cidOf(digest), { ...options, ...OFFLINE }),
    );
    return sha256(held) === digest;
  } catch (error) {
    if (isMissing(error, signal)) return false;
    throw error;
  }
}
