// A node of a chain that this machine does not run.
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

export interface RpcCall {
  readonly id: number;
  readonly method: string;
  readonly params?: readonly unknown[];
}

/** Runs `use` with the URL of a server that gives `answer`, which is the result or the error of a call. */
export async function withRpcServer<T>(
  answer: (call: RpcCall) => Promise<object> | object,
  use: (rpcUrl: string) => Promise<T>,
): Promise<T> {
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const call = JSON.parse(await text(request)) as RpcCall;
    response.end(JSON.stringify({ jsonrpc: "2.0", id: call.id, ...(await answer(call)) }));
  };
  const server = createServer((request, response) => void respond(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    return await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}
