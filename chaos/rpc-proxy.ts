// An RPC node as one agent sees it: the chain's, behind a server that fails when it is told to.
import { createServer } from "node:http";
import type { RPC_FAULTS } from "./manifest.ts";
import { listenOnLoopback } from "../scripts/shared/loopback.ts";

export type RpcFault = (typeof RPC_FAULTS)[number];

export interface RpcProxy {
  readonly url: string;
  /** Null mends it. */
  fail(fault: RpcFault | null): Promise<void>;
  /** Calls `before` ahead of every transaction that the agent sends; null ends that. */
  onSend(before: (() => Promise<void>) | null): void;
  close(): Promise<void>;
}

interface Call {
  readonly method: string;
  readonly params?: readonly unknown[];
}

/** Methods whose parameter of this index names a block. */
const BLOCK_AT: Readonly<Record<string, number>> = {
  eth_getBlockByNumber: 0,
  eth_call: 1,
  eth_getTransactionCount: 1,
  eth_getBalance: 1,
  eth_getCode: 1,
  eth_estimateGas: 1,
};

export async function startRpcProxy(target: string): Promise<RpcProxy> {
  let fault: RpcFault | null = null;
  /** The block that an old head shows, as hex. */
  let frozen: string | null = null;
  let before: (() => Promise<void>) | null = null;

  const post = async (body: string): Promise<string> => {
    const answer = await fetch(target, { method: "POST", headers: { "content-type": "application/json" }, body });
    return await answer.text();
  };
  const aged = (call: Call): Call => {
    if (frozen === null) return call;
    const at = BLOCK_AT[call.method];
    if (at === undefined || !["latest", "pending", "safe", "finalized"].includes(String(call.params?.[at])))
      return call;
    return { ...call, params: (call.params ?? []).with(at, frozen) };
  };
  /** Answers one call of a body, which may be a batch. */
  const forward = async (body: string): Promise<string> => {
    const parsed = JSON.parse(body) as Call | readonly Call[];
    const calls = Array.isArray(parsed) ? (parsed as readonly Call[]) : [parsed as Call];
    if (before !== null && calls.some(({ method }) => method === "eth_sendRawTransaction")) await before();
    const sent = calls.map(aged);
    const text = await post(JSON.stringify(Array.isArray(parsed) ? sent : sent[0]));
    if (frozen === null) return text;
    const answers = JSON.parse(text) as object | readonly object[];
    const list = Array.isArray(answers) ? (answers as readonly object[]) : [answers as object];
    const shown = list.map((answer, index) =>
      calls[index]?.method === "eth_blockNumber" ? { ...answer, result: frozen } : answer,
    );
    return JSON.stringify(Array.isArray(answers) ? shown : shown[0]);
  };

  const server = createServer((request, response) => {
    void (async () => {
      let body = "";
      for await (const chunk of request) body += String(chunk);
      if (fault === "hang") return;
      if (fault === "reset") return void request.socket.destroy();
      if (fault === "refuse") return void response.writeHead(503).end("out of order");
      const text = await forward(body);
      response.writeHead(200, { "content-type": "application/json" }).end(text);
    })().catch(() => response.writeHead(502).end());
  });
  const { url, close } = await listenOnLoopback(server);
  return {
    url,
    async fail(next) {
      const head = JSON.parse(
        await post(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_blockNumber", params: [] })),
      ) as { readonly result: string };
      frozen = next === "stale" ? head.result : null;
      // Whoever hangs is let go, as a node that comes back lets go.
      if (fault === "hang") server.closeAllConnections();
      fault = next;
    },
    onSend(next) {
      before = next;
    },
    close,
  };
}
