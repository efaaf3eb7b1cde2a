import { readFinalBlock } from "../../adapters/source-reader/call.ts";
import { ReadingError } from "../../adapters/source-reader/failure.ts";
import { openSourceReader } from "../../adapters/source-reader/reader.ts";
import { openSearchTool } from "../../adapters/source-reader/search-tool.ts";
import type { SearchConfig } from "../../adapters/source-reader/config.ts";
import { printable } from "../shared/output.ts";
import type { CliHost } from "../shared/command.ts";
import { withOwnRpc, type AgentConfig } from "../shared/config.ts";
import { answers, check, fail, ok, warn, type Check } from "./checks.ts";

/** EV5, EV6, EV13, EV16: checks what the agent needs to read sources; reads no source. */
export async function examineSources(config: AgentConfig, host: CliHost): Promise<readonly Check[]> {
  const sources = withOwnRpc(config);
  const { hosts, proxyUrl, rpcUrls, maxBytes, timeoutMs, deny, search } = sources;
  const store = { get: () => Promise.reject(new Error("no document is read")) };
  const bounds = await check("sources", async () => {
    await openSourceReader({ config: sources, store, environment: host.environment });
    return ok(`sources are read up to ${maxBytes} bytes within ${timeoutMs} ms; ${deny.length} hosts are denied`);
  });
  const chains = Object.keys(rpcUrls).map((chainId) =>
    check(`sources chain ${chainId}`, async () => {
      try {
        const block = await readFinalBlock(Number(chainId), sources, host.signal);
        return ok(`calls are read up to block ${block}, which is final`);
      } catch (error) {
        host.signal.throwIfAborted();
        if (!(error instanceof ReadingError)) throw error;
        return fail(`${error.reason}: ${error.message}`, `correct sources.rpcUrls.${chainId} in the config`);
      }
    }),
  );
  const places = Object.entries(hosts).map(([name, { address, port }]) =>
    check(`sources host ${name}`, async () => {
      if (await answers(address, port)) return ok(`${address} answers at port ${port}`);
      return warn(`${address} does not answer at port ${port}`, `start it, or correct sources.hosts.${name}`);
    }),
  );
  const others = [
    ...(proxyUrl === undefined ? [] : [proxy(proxyUrl)]),
    ...(search === undefined ? [] : [searchTool(search, timeoutMs, host)]),
  ];
  return [bounds, ...(await Promise.all([...chains, ...places, ...others]))];
}

/** EV16: asks the server for its tools, and searches nothing. */
function searchTool(search: SearchConfig, timeoutMs: number, { environment, signal }: CliHost): Promise<Check> {
  return check("sources search", async () => {
    const tool = await openSearchTool(search, timeoutMs, environment);
    const { findTool } = await import("../../adapters/source-reader/search.ts");
    const [name, place] = [search.tool, "correct sources.search in the config"];
    try {
      const { server: said, isThere, missing } = await findTool(tool, signal);
      const server = printable(said);
      if (!isThere) return fail(`${server} has no tool ${name}`, place);
      if (missing.length > 0)
        return fail(`the tool ${name} of ${server} requires ${printable(missing.join(", "))}`, place);
      return ok(`searches go to the tool ${name} of ${server}`);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ReadingError)) throw error;
      return fail(`${error.reason}: ${error.message}`, place);
    }
  });
}

function proxy(url: string): Promise<Check> {
  return check("sources proxy", async () => {
    const { hostname, port, protocol } = new URL(url);
    const usual = protocol === "https:" ? 443 : 80;
    if (await answers(hostname, port === "" ? usual : Number(port)))
      return ok(`${hostname} answers; which addresses it connects to is its own matter`);
    return fail(`${hostname} does not answer`, "start the proxy, or correct sources.proxyUrl in the config");
  });
}
