import { readFinalBlock } from "../../adapters/source-reader/call.ts";
import { ReadingError } from "../../adapters/source-reader/failure.ts";
import { openSourceReader } from "../../adapters/source-reader/reader.ts";
import type { CliHost } from "../shared/command.ts";
import { withOwnRpc, type AgentConfig } from "../shared/config.ts";
import { answers, check, fail, ok, warn, type Check } from "./checks.ts";

/** EV5, EV6, EV13: checks what the agent needs to read sources; reads no source. */
export async function examineSources(config: AgentConfig, host: CliHost): Promise<readonly Check[]> {
  const sources = withOwnRpc(config);
  const { hosts, proxyUrl, rpcUrls, maxBytes, timeoutMs, deny } = sources;
  const store = { get: () => Promise.reject(new Error("no document is read")) };
  const bounds = await check("sources", async () => {
    await openSourceReader({ config: sources, store });
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
  return [bounds, ...(await Promise.all([...chains, ...places, ...(proxyUrl === undefined ? [] : [proxy(proxyUrl)])]))];
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
