import { resolve } from "node:path";
import { verifiedBlock } from "../../adapters/ipfs/block.ts";
import { readCar } from "../../adapters/ipfs/car.ts";
import { createKuboContentStore } from "../../adapters/ipfs/kubo-content-store.ts";
import type { TranscriptSource } from "../../adapters/ipfs/transcript-source.ts";
import { walkDag } from "../../adapters/ipfs/walk.ts";
import { cidString } from "../../core/encoding/cid.ts";
import { ConclaveError } from "../../core/errors.ts";
import { describedBy, type Described } from "../../core/encoding/transcript.ts";
import type { Digest } from "../../core/types.ts";
import type { AgentRecord } from "../../ports/chain.ts";
import type { ContentStore } from "../../ports/content-store.ts";
import { verifyRequest } from "../../node/audit/verify.ts";
import { parseAddress, parseFolder, parseKuboUrl, parseRequestId, usage } from "../shared/arguments.ts";
import { createAuditReader } from "../shared/audit-reader.ts";
import { parseCid } from "./cid.ts";
import { chainFlags, findChain, findPlace, parseChainId, type ChainFlags } from "../shared/chain-source.ts";
import type { CliHost, CommandSpec, OptionSpec } from "../shared/command.ts";
import { committeeFirst } from "../shared/committee-first.ts";
import { readDeployment } from "../shared/config.ts";
import {
  addressesOf,
  contentFlags,
  isSourceNamed,
  openTranscriptSource,
  type ContentFlags,
} from "../shared/content-source.ts";
import { rows } from "../shared/output.ts";
import { readFileOf } from "../shared/read-file.ts";
import { DEFAULT_PINS, openPinsFolder } from "./pins-folder.ts";
import { prepareService, serviceFlags, type Kept, type ServiceFlags } from "./pinning.ts";

interface KeepFlags {
  readonly into: string;
  readonly intoKubo?: string;
}

interface Options extends ChainFlags, ContentFlags, KeepFlags, ServiceFlags {
  readonly car?: string;
}

const keepFlags: readonly OptionSpec[] = [
  { flags: "--into <dir>", description: "keep it in this folder", default: DEFAULT_PINS },
  { flags: "--into-kubo <url>", description: "or pin it in the Kubo node with this RPC", excludes: ["into"] },
];

export const pin: CommandSpec<Options> = {
  example: [
    "conclave pin 1 --deployment deployments/31337.json",
    "conclave pin bafy... --peer /ip4/203.0.113.7/tcp/4401/p2p/16Uiu2...",
    "conclave pin --car transcript.car",
    "conclave pin 1 --service example --services pinning.json",
  ].join("\n"),
  options: [
    {
      flags: "--car <file>",
      description: "take it from a CAR, in place of fetching it",
      excludes: ["kubo", "store", "gateway"],
    },
    ...keepFlags,
    ...serviceFlags,
    ...contentFlags,
    ...chainFlags,
  ],
  run: async ({ args, options, host, tell }) => {
    const [what] = args;
    refuseUnusedPeer(options);
    const ask = await prepareService(options, host);
    const into = await openKeep(options, host);
    try {
      const kept =
        options.car === undefined
          ? await fetchInto(what, options, host, into)
          : await importCar(what, options, host, into);
      const { root } = kept;
      const blocks = await countBlocks(root, into, host.signal);
      await into.pin(root, host.signal);
      const place = options.intoKubo === undefined ? resolve(host.cwd, options.into) : "the Kubo node";
      const cid = cidString(root);
      const service = ask === null ? null : await ask(kept, await into.get(root, host.signal), place, tell);
      return {
        json: { cid, blocks, place, ...(service === null ? {} : { service }) },
        text: rows([
          ["transcript", cid],
          ["blocks", String(blocks)],
          ["kept in", place],
          ...(service === null ? [] : ([["pinned by", service.name]] as const)),
        ]),
      };
    } finally {
      await into.close();
    }
  },
};

/** Refuses peers beside a CAR, unless a pinning service may fetch from them. */
function refuseUnusedPeer({ car, peer, service }: Options): void {
  if (car === undefined || peer === undefined || service !== undefined) return;
  throw usage("--peer", peer.join(" "), "a CAR is not fetched: give --car, or --peer, or --service with both");
}

async function openKeep({ into, intoKubo }: KeepFlags, { cwd }: CliHost): Promise<ContentStore> {
  if (intoKubo === undefined) return openPinsFolder(resolve(cwd, parseFolder(into, "--into")));
  return createKuboContentStore({ url: parseKuboUrl(intoKubo, "--into-kubo"), owner: "operator" });
}

/**
 * AV3: fetches a transcript. By a request's number it checks everything that `conclave verify` checks; by a CID it
 * checks all hashes and what the root says about itself.
 */
async function fetchInto(what: string | undefined, options: Options, host: CliHost, into: ContentStore): Promise<Kept> {
  if (what === undefined || !/^\d+$/.test(what)) {
    const root = parseCid(what ?? "", "[what]", "give a CID, a request's number, or --car FILE");
    await fetchDag(root, options, host, into);
    return { root, origins: options.peer ?? [] };
  }
  const requestId = parseRequestId(what);
  const chain = await createAuditReader(await findChain(options, host), host.signal);
  let origins = options.peer ?? [];
  const agents = async (): Promise<readonly AgentRecord[]> => {
    const found = await committeeFirst(chain, requestId, host.signal);
    origins = addressesOf(found).map(String);
    return found;
  };
  const source = await openTranscriptSource(options, agents, host);
  return closing(source, async () => {
    const failures = new Map<string, ConclaveError>();
    const store = { get: noting(failures, through(source, into, host.signal)) };
    const { ok, failure, decision } = await verifyRequest({ chain, store, requestId, signal: host.signal });
    if (ok && decision !== null) return { root: decision.transcript, origins };
    if (failure?.kind === "undecided") {
      const message = `Pin request ${requestId}: ${failure.reason}, so that it has no transcript; nothing was pinned, look with conclave decision ${requestId}`;
      throw new ConclaveError("USAGE", message, { requestId: String(requestId) });
    }
    const cid = failure?.cid ?? "none";
    const failed = failures.get(cid);
    // A missing block does not refute the decision.
    if (failed !== undefined) throw failed;
    throw new ConclaveError(
      "TRANSCRIPT_INVALID",
      `Verify request ${requestId} failed at ${failure?.step}, block ${cid}: ${failure?.reason}; nothing was pinned`,
      { requestId: String(requestId), cid },
    );
  });
}

/** Remembers, by CID, why a block was not delivered. */
function noting(
  failures: Map<string, ConclaveError>,
  get: (digest: Digest) => Promise<Uint8Array>,
): (digest: Digest) => Promise<Uint8Array> {
  return async (digest) => {
    try {
      return await get(digest);
    } catch (error) {
      if (error instanceof ConclaveError) failures.set(cidString(digest), error);
      throw error;
    }
  };
}

/** Fetches a transcript and checks its hashes alone. One that is pinned already needs no source. */
async function fetchDag(root: Digest, options: Options, host: CliHost, into: ContentStore): Promise<void> {
  const none = async (): Promise<never> => {
    throw new ConclaveError("USAGE", "Fetch blocks: name a source with --peer, --gateway, --kubo or --store", {
      option: "--peer",
    });
  };
  const isHere = !isSourceNamed(options) && (await into.isPinned(root, host.signal));
  const source = isHere
    ? { get: (digest: Digest) => into.get(digest, host.signal), close: async () => undefined }
    : await openTranscriptSource(options, none, host);
  await closing(source, async () => {
    const bytes =
      (await heldBlock(root, into, host.signal)) ?? verifiedBlock(root, await source.get(root, host.signal));
    await requireOurs(root, bytes, options, host);
    const get: ContentStore["get"] = async (digest, signal) => (digest === root ? bytes : source.get(digest, signal));
    for await (const _ of walkDag(root, through({ get }, into, host.signal))) continue;
  });
}

async function closing<T>(source: Pick<TranscriptSource, "close">, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } finally {
    await source.close();
  }
}

/** Reads blocks from the store first, so that an interrupted pin continues. */
function through(
  source: Pick<ContentStore, "get">,
  into: ContentStore,
  signal: AbortSignal,
): (digest: Digest) => Promise<Uint8Array> {
  return async (digest) => {
    const held = await heldBlock(digest, into, signal);
    if (held !== null) return held;
    const bytes = verifiedBlock(digest, await source.get(digest, signal));
    await into.put(bytes, signal);
    return bytes;
  };
}

/** Returns a block from the store; null if it is missing or broken. */
async function heldBlock(digest: Digest, into: ContentStore, signal: AbortSignal): Promise<Uint8Array | null> {
  return (await into.has(digest, signal)) ? into.get(digest, signal).catch(() => null) : null;
}

async function importCar(what: string | undefined, options: Options, host: CliHost, into: ContentStore): Promise<Kept> {
  const path = resolve(host.cwd, options.car ?? "");
  const { root, blocks } = await readCar(readFileOf(path, "--car", host.signal));
  if (what !== undefined && parseCid(what, "[what]", "give the CID of what is in the CAR, or none") !== root)
    throw usage("[what]", what, `the CAR is that of ${cidString(root)}`);
  for await (const { digest, bytes } of blocks) {
    if (digest === root) await requireOurs(root, bytes, options, host);
    await into.put(bytes, host.signal);
  }
  return { root, origins: options.peer ?? [] };
}

/**
 * AV4: refuses a root that is no transcript's, or that names another chain or oracle than the flags. Throws
 * TRANSCRIPT_FOREIGN.
 */
async function requireOurs(root: Digest, bytes: Uint8Array, flags: ChainFlags, host: CliHost): Promise<void> {
  const cid = cidString(root);
  const described = describedBy(bytes);
  if (described === null)
    throw new ConclaveError("TRANSCRIPT_FOREIGN", `Pin ${cid}: it is the root of no transcript`, { cid });
  const { chainId, oracle } = await expectedOrigin(flags, host);
  const isForeign =
    (chainId !== undefined && chainId !== described.chainId) ||
    (oracle !== undefined && oracle.toLowerCase() !== described.oracle);
  if (!isForeign) return;
  throw new ConclaveError(
    "TRANSCRIPT_FOREIGN",
    `Pin ${cid}: it is a transcript of oracle ${described.oracle} on chain ${described.chainId}; give that deployment, or none`,
    { cid, chainId: described.chainId, oracle: described.oracle },
  );
}

async function expectedOrigin(
  flags: ChainFlags,
  host: CliHost,
): Promise<Partial<Pick<Described, "chainId" | "oracle">>> {
  const { deployment } = flags.deployment === undefined ? { deployment: null } : findPlace(flags, host);
  const file = deployment === null ? {} : await readDeployment(deployment);
  const chainId = flags.chainId === undefined ? {} : { chainId: parseChainId(flags.chainId) };
  const oracle = flags.oracle === undefined ? {} : { oracle: parseAddress(flags.oracle, "--oracle") };
  return { ...file, ...chainId, ...oracle };
}

async function countBlocks(root: Digest, store: ContentStore, signal: AbortSignal): Promise<number> {
  let blocks = 0;
  for await (const _ of walkDag(root, (digest) => store.get(digest, signal))) blocks += 1;
  return blocks;
}
