import { resolve } from "node:path";
import { createFolderContentStore } from "../../adapters/ipfs/folder-content-store.ts";
import { createKuboContentStore } from "../../adapters/ipfs/kubo-content-store.ts";
import { ConclaveError } from "../../core/errors.ts";
import type { CollectedStore } from "../../ports/content-store.ts";
import { parseKuboUrl } from "../shared/arguments.ts";
import { parseCid } from "./cid.ts";
import type { CliHost, CommandSpec } from "../shared/command.ts";
import { rows } from "../shared/output.ts";
import { DEFAULT_PINS, pinsFolder } from "./pins-folder.ts";

interface Options {
  readonly from: string;
  readonly fromKubo?: string;
}

export const unpin: CommandSpec<Options> = {
  example: "conclave unpin bafy... --from conclave-pins",
  options: [
    { flags: "--from <dir>", description: "the folder that keeps it", default: DEFAULT_PINS },
    { flags: "--from-kubo <url>", description: "or the Kubo node with this RPC", excludes: ["from"] },
  ],
  run: async ({ args, options, host }) => {
    const cid = args[0] ?? "";
    const root = parseCid(cid, "<cid>", "give the CID of a transcript, as `conclave pin` printed it");
    const place = options.fromKubo === undefined ? resolve(host.cwd, options.from) : "the Kubo node";
    const store = await openStore(options, host);
    try {
      if (await store.unpin(root, host.signal)) {
        const next = options.fromKubo === undefined ? `conclave gc --from ${options.from}` : "ipfs repo gc";
        return {
          json: { cid, place },
          text: rows([
            ["unpinned", cid],
            ["was kept in", place],
            ["its blocks", `stay until: ${next}`],
          ]),
        };
      }
    } finally {
      await store.close();
    }
    throw new ConclaveError("PIN_UNKNOWN", `Unpin ${cid} failed: no operator pinned it in ${place}`, { cid, place });
  },
};

async function openStore({ from, fromKubo }: Options, { cwd }: CliHost): Promise<CollectedStore> {
  if (fromKubo !== undefined)
    return createKuboContentStore({ url: parseKuboUrl(fromKubo, "--from-kubo"), owner: "operator" });
  return createFolderContentStore(pinsFolder(from, cwd));
}
