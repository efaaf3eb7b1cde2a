import { existsSync } from "node:fs";
import { join } from "node:path";
import { createFolderContentStore, openFolderReader } from "../../adapters/ipfs/folder-content-store.ts";
import { createKuboContentStore } from "../../adapters/ipfs/kubo-content-store.ts";
import { cidString } from "../../core/encoding/cid.ts";
import { ConclaveError } from "../../core/errors.ts";
import { createCollector, previewCollection, type Collected, type CollectionPorts } from "../../node/collector.ts";
import type { CollectedStore, ContentStore, PinList, Swept } from "../../ports/content-store.ts";
import type { CliHost, CommandSpec, Result } from "../shared/command.ts";
import { type AgentConfig, storeFolder } from "../shared/config.ts";
import { unreadableRows } from "../shared/unreadable-proofs.ts";
import { dirFlag, type AgentFlags } from "../shared/keys.ts";
import { collectionPortsOf, retentionOf } from "../shared/retention.ts";
import { lookUpAgent } from "../shared/operator.ts";
import { rows, utc } from "../shared/output.ts";
import { pinsFolder } from "./pins-folder.ts";

interface Options extends AgentFlags {
  readonly from?: string;
  readonly dryRun?: true;
}

const DAY_MS = 86_400_000;

export const gc: CommandSpec<Options> = {
  example: ["conclave gc --dir ./my-agent --dry-run", "conclave gc --from conclave-pins"].join("\n"),
  options: [
    dirFlag,
    {
      flags: "--from <dir>",
      description: "or remove unpinned blocks from a folder of `conclave pin`",
      excludes: ["dir"],
    },
    { flags: "--dry-run", description: "say what would be removed, and remove nothing" },
  ],
  run: ({ options, host }) => {
    const dryRun = options.dryRun === true;
    return options.from === undefined
      ? collectAgent(options, host, dryRun)
      : sweepFolder(pinsFolder(options.from, host.cwd), host, dryRun);
  },
};

async function collectAgent(options: AgentFlags, host: CliHost, dryRun: boolean): Promise<Result> {
  const agent = await lookUpAgent(options, host);
  const windowMs = retentionOf(agent, options, host);
  const { config } = agent;
  const ports = collectionPortsOf(agent);
  const collected = dryRun
    ? await closing(await openToLook(config), (store) => previewCollection({ ...ports, store }, windowMs, host.signal))
    : await closing(await openToCollect(config), (store) => collectAll({ ...ports, store }, windowMs, host.signal));
  return collectionResult(collected, windowMs, dryRun, config.content.kind === "kubo");
}

/** Runs passes until one leaves nothing for the next. */
async function collectAll(
  ports: CollectionPorts & { readonly store: CollectedStore },
  windowMs: number,
  signal: AbortSignal,
): Promise<Collected> {
  const collector = createCollector(ports, windowMs);
  let all: Collected | null = null;
  for (;;) {
    const pass = await collector.pass(signal);
    all = all === null ? pass : add(all, pass);
    if (!pass.more) return all;
  }
}

/** Adds up two passes: each looks at other pins, but counts all young ones. */
function add(a: Collected, b: Collected): Collected {
  const kept = Object.fromEntries(
    Object.entries(a.kept).map(([reason, count]) => [reason, count + b.kept[reason as keyof Collected["kept"]]]),
  ) as Collected["kept"];
  const swept = { blocks: a.swept.blocks + b.swept.blocks, bytes: a.swept.bytes + b.swept.bytes, more: b.swept.more };
  return { ...b, over: [...a.over, ...b.over], kept: { ...kept, young: b.kept.young }, swept };
}

function collectionResult(
  { over, kept, unreadable, swept }: Collected,
  windowMs: number,
  dryRun: boolean,
  inKubo: boolean,
): Result {
  const days = windowMs / DAY_MS;
  const staying = Object.entries(kept).filter(([, count]) => count > 0);
  return {
    json: {
      dryRun,
      retentionDays: days,
      unpinned: over.map(({ root, sinceMs, requestId, attempt }) => ({
        cid: cidString(root),
        requestId,
        attempt,
        since: new Date(sinceMs).toISOString(),
      })),
      kept,
      unreadableEvidence: unreadable,
      blocks: swept.blocks,
      bytes: swept.bytes,
    },
    text: rows([
      ["window", `${days} days`],
      ...over.map(
        ({ root, requestId, attempt, sinceMs }) =>
          [
            dryRun ? "would unpin" : "unpinned",
            `${cidString(root)}, request ${requestId}.${attempt}, since ${utc(Math.floor(sinceMs / 1_000))}`,
          ] as const,
      ),
      ["kept", staying.length === 0 ? "nothing" : staying.map(([reason, count]) => `${count} ${reason}`).join(", ")],
      ...unreadableRows(unreadable),
      [
        dryRun ? "would remove" : "removed",
        inKubo ? "no blocks: that is for the Kubo node (ipfs repo gc)" : amount(swept),
      ],
    ]),
  };
}

function amount({ blocks, bytes }: Swept): string {
  return `${blocks} blocks, ${bytes} bytes`;
}

/** Sweeps blocks of pins that were ended or never completed. */
async function sweepFolder(path: string, host: CliHost, dryRun: boolean): Promise<Result> {
  const all = { beforeMs: Number.MAX_SAFE_INTEGER, maxBlocks: Number.MAX_SAFE_INTEGER };
  const swept = dryRun
    ? await closing(await openFolderReader(path), (store) => store.wouldSweep(all, new Set(), host.signal))
    : await closing(await createFolderContentStore(path), (store) => store.sweep(all, host.signal));
  const { blocks, bytes } = swept;
  return {
    json: { dryRun, blocks, bytes },
    text: rows([[dryRun ? "would remove" : "removed", amount(swept)]]),
  };
}

function openToLook(config: AgentConfig): Promise<Pick<ContentStore, "get" | "has" | "close"> & PinList> {
  if (config.content.kind === "kubo") return openToCollect(config);
  return openFolderReader(requireStore(config), "seat");
}

async function openToCollect(config: AgentConfig): Promise<CollectedStore> {
  if (config.content.kind === "kubo") return createKuboContentStore({ url: config.content.url });
  return createFolderContentStore(requireStore(config), "seat");
}

/** Returns the agent's folder of blocks. Throws CONFIG_INVALID if it holds nothing yet. */
function requireStore(config: AgentConfig): string {
  const path = storeFolder(config);
  if (existsSync(join(path, "blocks"))) return path;
  throw new ConclaveError("CONFIG_INVALID", `Open the store ${path} failed: nothing is kept there; correct --dir`, {
    path,
    option: "--dir",
  });
}

async function closing<Store extends { close(): Promise<void> }, T>(
  store: Store,
  action: (store: Store) => Promise<T>,
): Promise<T> {
  try {
    return await action(store);
  } finally {
    await store.close();
  }
}
