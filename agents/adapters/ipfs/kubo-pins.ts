import type { KuboRPCClient } from "kubo-rpc-client";
import { cidString } from "../../core/encoding/cid.ts";
import { ConclaveError } from "../../core/errors.ts";
import type { Digest } from "../../core/types.ts";
import type { Pin, PinOwner } from "../../ports/content-store.ts";
import { cidOf, digestOfCid } from "./block.ts";
import { kuboReason, type CallOptions, type KuboRpc } from "./kubo-rpc.ts";

const NOT_PINNED = /not pinned/i;
const PREFIX = "conclave";
const OWNERS: readonly PinOwner[] = ["seat", "operator"];

/** Owners of a root, each with the time of its pin in Unix milliseconds. */
type Owners = ReadonlyMap<PinOwner, number>;

/**
 * AV7: pins of a Kubo node, which has one pin per root, with a name. The name says who wants the root, e.g. "conclave
 * seat:1763812345678 operator:1763812349999". Pins with other names, or without a name, belong to other programs and
 * are left alone.
 */
export interface KuboPins {
  add(root: Digest, signal: AbortSignal | undefined): Promise<void>;
  remove(root: Digest, signal: AbortSignal | undefined): Promise<boolean>;
  has(root: Digest, signal: AbortSignal | undefined): Promise<boolean>;
  list(signal: AbortSignal | undefined): Promise<readonly Pin[]>;
}

export function createKuboPins(rpc: KuboRpc, owner: PinOwner, now: () => number): KuboPins {
  const nameOf = (root: Digest, signal: AbortSignal | undefined): Promise<string | null> =>
    rpc.call(root, signal, (client, call) => readName(client, root, call));

  /** Renames the pin. Throws if another process has written its name in the meantime. */
  async function rename(root: Digest, owners: Owners, signal: AbortSignal | undefined): Promise<void> {
    const name = write(owners);
    await rpc.call(root, signal, (client, call) => client.pin.add(cidOf(root), { ...call, recursive: true, name }));
    if ((await nameOf(root, signal)) === name) return;
    throw new ConclaveError(
      "NETWORK_FAILED",
      `Pin ${cidString(root)} in the Kubo node at ${rpc.origin} again: another process renamed the pin in the meantime. If it happens again, update the node to Kubo 0.27 or newer: older ones keep no names of pins`,
      { cid: cidString(root) },
    );
  }

  return {
    async add(root, signal) {
      const name = await nameOf(root, signal);
      const owners = name === null ? new Map<PinOwner, number>() : read(name);
      if (owners !== null && !owners.has(owner)) await rename(root, new Map(owners).set(owner, now()), signal);
    },
    async remove(root, signal) {
      const name = await nameOf(root, signal);
      const owners = new Map(name === null ? [] : read(name));
      if (!owners.delete(owner)) return false;
      if (owners.size > 0) await rename(root, owners, signal);
      else await rpc.call(root, signal, (client, call) => client.pin.rm(cidOf(root), { ...call, recursive: true }));
      return true;
    },
    has: async (root, signal) => (await nameOf(root, signal)) !== null,
    list: (signal) => rpc.callNode(signal, (client, call) => listPins(client, owner, call)),
  };
}

/** Reads the name of a recursive pin, "" without one; null if the root is not pinned. */
async function readName(client: KuboRPCClient, root: Digest, call: CallOptions): Promise<string | null> {
  try {
    for await (const { cid, name } of client.pin.ls({ ...call, paths: cidOf(root), type: "recursive", names: true })) {
      if (cid.toString() === cidString(root)) return name ?? "";
    }
    return null;
  } catch (error) {
    if (NOT_PINNED.test(kuboReason(error))) return null;
    throw error;
  }
}

async function listPins(client: KuboRPCClient, owner: PinOwner, call: CallOptions): Promise<readonly Pin[]> {
  const pins: Pin[] = [];
  for await (const { cid, name } of client.pin.ls({ ...call, type: "recursive", name: PREFIX, names: true })) {
    const root = digestOfCid(cid);
    const sinceMs = read(name ?? "")?.get(owner);
    if (root !== null && sinceMs !== undefined) pins.push({ root, sinceMs });
  }
  return pins;
}

function write(owners: Owners): string {
  const said = OWNERS.flatMap((owner) => {
    const sinceMs = owners.get(owner);
    return sinceMs === undefined ? [] : [`${owner}:${sinceMs}`];
  });
  return [PREFIX, ...said].join(" ");
}

/** Reads the owners from a name; null if the pin belongs to another program. */
function read(name: string): Owners | null {
  const [prefix, ...said] = name.split(" ");
  if (prefix !== PREFIX || said.length === 0) return null;
  const owners = new Map<PinOwner, number>();
  for (const one of said) {
    const [, owner, sinceMs] = /^(seat|operator):(\d{1,15})$/.exec(one) ?? [];
    if (owner === undefined) return null;
    owners.set(owner as PinOwner, Number(sinceMs));
  }
  return owners;
}
