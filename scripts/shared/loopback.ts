import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";

/** A server on a free port of 127.0.0.1. */
export interface LoopbackServer {
  readonly port: number;
  readonly url: string;
  /** Stops the server and ends its connections. */
  readonly close: () => Promise<void>;
}

/** Lets a server of HTTP or HTTPS listen on a free port of 127.0.0.1. `url` is its URL with http. */
export async function listenOnLoopback(
  server: Pick<Server, "address" | "close" | "closeAllConnections" | "listen" | "once">,
): Promise<LoopbackServer> {
  server.listen(0, "127.0.0.1");
  await once(server as Server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server as Server, "close");
    },
  };
}
