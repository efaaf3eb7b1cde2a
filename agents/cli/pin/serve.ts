import { once } from "node:events";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { openFolderReader } from "../../adapters/ipfs/folder-content-store.ts";
import { startGateway } from "../../adapters/ipfs/gateway.ts";
import {
  MOST_GATEWAYS,
  MOST_LIVE,
  readDashboard,
  startDashboardServer,
  type Dashboard,
} from "../../adapters/dashboard/dashboard.ts";
import { isLoopback, type HttpServer } from "../../adapters/http-server.ts";
import { parseFolder, parseListen, parseUrl, type ListenPlace } from "../shared/arguments.ts";
import { chainFlags, findChainConfig, findPlace, type ChainFlags } from "../shared/chain-source.ts";
import type { CliHost, CommandSpec } from "../shared/command.ts";
import { readDeployment } from "../shared/config.ts";
import { rows, toJson } from "../shared/output.ts";
import { findEndpoint } from "../shared/subgraph-source.ts";
import { anyFolder, DEFAULT_PINS } from "./pins-folder.ts";

interface Options extends ChainFlags {
  readonly from: string;
  readonly listen: string;
  /** True without a folder. */
  readonly ui?: string | true;
  readonly gateway?: readonly string[];
  readonly live?: readonly string[];
}

/** The dashboard as it is built. */
const DASHBOARD = join(import.meta.dirname, "../../../dashboard/dist");

export const serve: CommandSpec<Options> = {
  example:
    "conclave serve --from conclave-pins --listen 127.0.0.1:8080\n" +
    "conclave serve --ui --deployment ./deployment.json --gateway https://gateway.example",
  options: [
    { flags: "--from <dir>", description: "the folder that `conclave pin` keeps", default: DEFAULT_PINS },
    {
      flags: "--listen <host:port>",
      description: "address to listen on; port 0 takes a free one, and everybody who reaches it may read",
      default: "127.0.0.1:8080",
    },
    {
      flags: "--ui [dir]",
      description:
        "serve the dashboard for the chain that the options below name; everybody who reaches it sees the RPC's URL (default: the dashboard that comes with this program)",
    },
    {
      flags: "--gateway <url...>",
      description:
        "with --ui: gateways that the dashboard asks for transcripts, after this one if --from is there (default: those of the deployment file)",
    },
    {
      flags: "--live <url...>",
      description: "with --ui: agents' live streams, where the dashboard watches committees argue",
    },
    ...chainFlags,
  ],
  run: async ({ options, host, json, tell }) => {
    const place = parseListen(options.listen, "--listen");
    const isKept = options.ui === undefined || existsSync(resolve(host.cwd, options.from));
    const dashboard =
      options.ui === undefined ? null : await dashboardOf(options.ui, options, { isKept, place, tell }, host);
    const server = await (dashboard !== null && !isKept
      ? startDashboardServer({ dashboard, ...place })
      : openGateway(anyFolder(options.from, host.cwd), place, dashboard));
    const { url } = server;
    try {
      const dashboardUrl = dashboard === null ? null : `${url}/`;
      const ready = { event: "ready", url: isKept ? url : null, page: dashboardUrl };
      const table = rows([
        ...(isKept ? [["gateway", `${url}/ipfs/CID`] as const] : []),
        ...(dashboardUrl === null ? [] : [["dashboard", dashboardUrl] as const]),
      ]);
      host.stdout(json ? `${toJson(ready)}\n` : `${table}\n`);
      if (!host.signal.aborted) await once(host.signal, "abort");
    } finally {
      await server.close();
    }
    return { json: { event: "stopped" }, text: "stopped" };
  },
};

async function openGateway(
  folder: string,
  place: ListenPlace,
  dashboard: Dashboard | null,
): Promise<Pick<HttpServer, "url" | "close">> {
  const store = await openFolderReader(folder);
  try {
    const gateway = await startGateway({
      store,
      ...place,
      ...(dashboard === null ? {} : { others: dashboard.answer }),
    });
    return {
      url: gateway.url,
      close: async () => {
        await gateway.close();
        await store.close();
      },
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}

interface DashboardPlace {
  /** True if the dashboard's own server is a gateway. */
  readonly isKept: boolean;
  readonly place: ListenPlace;
  readonly tell: (line: string) => void;
}

/** Reads the dashboard, and tells it where chain and gateways are. */
async function dashboardOf(
  folder: string | true,
  flags: Options,
  { isKept, place, tell }: DashboardPlace,
  host: CliHost,
): Promise<Dashboard> {
  const { rpcUrl, chainId, oracle, registry, deploymentBlock } = await findChainConfig(flags, host);
  const named = flags.gateway?.map((url) =>
    parseUrl(url, "--gateway", "a trustless gateway", "https://gateway.example"),
  );
  const { deployment } = findPlace(flags, host);
  const others = named ?? (deployment === null ? [] : ((await readDeployment(deployment)).gateways ?? []));
  const live = (flags.live ?? []).map((url) =>
    parseUrl(url, "--live", "an agent's live stream", "https://agent.example"),
  );
  const room = isKept ? MOST_GATEWAYS - 1 : MOST_GATEWAYS;
  if (others.length > room) tell(`the dashboard asks only the first ${room} of these ${others.length} gateways`);
  if (live.length > MOST_LIVE)
    tell(`the dashboard asks only the first ${MOST_LIVE} of these ${live.length} live streams`);
  const subgraph = await findEndpoint(flags, host);
  const path = folder === true ? DASHBOARD : resolve(host.cwd, parseFolder(folder, "--ui"));
  const config = (name: string): object => ({
    rpcUrl,
    chainId,
    oracle,
    registry,
    deploymentBlock,
    gateways: [...(isKept ? [`http://${name}`] : []), ...others.slice(0, room)],
    live: live.slice(0, MOST_LIVE),
    ...(subgraph === null ? {} : { subgraphUrl: subgraph.url }),
  });
  return readDashboard(path, { config, isLocal: isLoopback(place.host) });
}
