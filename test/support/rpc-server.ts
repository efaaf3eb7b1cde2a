// A node of a chain that this machine does not run.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { listenOnLoopback } from "../../scripts/shared/loopback.ts";

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
  const { url, close } = await listenOnLoopback(server);
  try {
    return await use(url);
  } finally {
    await close();
  }
}
