import { once } from "node:events";
import { openFolderReader } from "../../adapters/ipfs/folder-content-store.ts";
import { startGateway } from "../../adapters/ipfs/gateway.ts";
import { parseListen } from "../shared/arguments.ts";
import type { CommandSpec } from "../shared/command.ts";
import { rows, toJson } from "../shared/output.ts";
import { anyFolder, DEFAULT_PINS } from "./pins-folder.ts";

interface Options {
  readonly from: string;
  readonly listen: string;
}

export const serve: CommandSpec<Options> = {
  example: "conclave serve --from conclave-pins --listen 127.0.0.1:8080",
  options: [
    { flags: "--from <dir>", description: "the folder that `conclave pin` keeps", default: DEFAULT_PINS },
    {
      flags: "--listen <host:port>",
      description: "address to listen on; port 0 takes a free one, and everybody who reaches it may read",
      default: "127.0.0.1:8080",
    },
  ],
  run: async ({ options, host, json }) => {
    const place = parseListen(options.listen, "--listen");
    const store = await openFolderReader(anyFolder(options.from, host.cwd));
    const gateway = await startGateway({ store, ...place });
    try {
      const ready = { event: "ready", url: gateway.url };
      host.stdout(json ? `${toJson(ready)}\n` : `${rows([["gateway", `${gateway.url}/ipfs/CID`]])}\n`);
      if (!host.signal.aborted) await once(host.signal, "abort");
    } finally {
      await gateway.close();
      await store.close();
    }
    return { json: { event: "stopped" }, text: "stopped" };
  },
};
