// An RPC node as one agent sees it: the chain's, behind a server that fails when it is told to.
import { createServer } from "node:http";
import { numberToHex } from "viem";
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
  readonly id?: unknown;
  readonly method: string;
  readonly params?: readonly unknown[];
}

interface Answer {
  readonly result?: unknown;
  readonly error?: unknown;
}

/** Blocks by which the slower of two nodes is behind. */
export const LAG_BLOCKS = 8;
/** Methods whose parameter of this index names a block. */
const BLOCK_AT: Readonly<Record<string, number>> = {
  eth_getBlockByNumber: 0,
  eth_call: 1,
  eth_getTransactionCount: 1,
  eth_getBalance: 1,
  eth_getCode: 1,
  eth_estimateGas: 1,
};
/** Methods that look something up by its hash. */
const BY_HASH: ReadonlySet<string> = new Set([
  "eth_getBlockByHash",
  "eth_getTransactionByHash",
  "eth_getTransactionReceipt",
]);

/** `isBehind` chooses, for each request, which of two nodes that disagree answers. */
export async function startRpcProxy(
  target: string,
  isBehind: () => boolean = () => Math.random() < 0.5,
): Promise<RpcProxy> {
  let fault: RpcFault | null = null;
  /** The block that an old head shows. */
  let frozen: number | null = null;
  let before: (() => Promise<void>) | null = null;

  const post = async (body: string): Promise<string> => {
    const answer = await fetch(target, { method: "POST", headers: { "content-type": "application/json" }, body });
    return await answer.text();
  };
  const ask = async (call: Call): Promise<Answer> =>
    JSON.parse(await post(JSON.stringify({ jsonrpc: "2.0", id: 1, ...call }))) as Answer;
  const headOf = async (): Promise<number> => Number((await ask({ method: "eth_blockNumber", params: [] })).result);
  /** The newest block of the node that answers now; null if it is that of the chain. */
  const shownHead = async (): Promise<number | null> => {
    if (fault !== "disagree") return frozen;
    return isBehind() ? Math.max(0, (await headOf()) - LAG_BLOCKS) : null;
  };
  /** Answers a body, which may be a batch. */
  const forward = async (body: string): Promise<string> => {
    const parsed = JSON.parse(body) as Call | readonly Call[];
    const calls = Array.isArray(parsed) ? (parsed as readonly Call[]) : [parsed as Call];
    if (before !== null && calls.some(({ method }) => method === "eth_sendRawTransaction")) await before();
    const head = await shownHead();
    if (head === null) return await post(body);
    const answers = await Promise.all(calls.map((call) => askBehind(call, head, ask)));
    return JSON.stringify(Array.isArray(parsed) ? answers : answers[0]);
  };

  const server = createServer((request, response) => {
    // A connection that a fault ends may not be one that a client is about to use again.
    response.setHeader("connection", "close");
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
      if (next === fault) return;
      const head = await headOf();
      frozen = next === "stale" ? head : null;
      // Ends the calls that hang, as a node does that comes back.
      if (fault === "hang") server.closeAllConnections();
      fault = next;
    },
    onSend(next) {
      before = next;
    },
    close,
  };
}

/** Answers as a node does that knows no block after `head`. */
async function askBehind(call: Call, head: number, ask: (call: Call) => Promise<Answer>): Promise<Answer> {
  const { id, method, params = [] } = call;
  const answer = (content: Answer): Answer => ({ jsonrpc: "2.0", id, ...content }) as Answer;
  const refusal = (message: string): Answer => answer({ error: { code: -32_000, message } });
  if (method === "eth_blockNumber") return answer({ result: numberToHex(head) });
  if (method === "eth_getLogs") return askLogsBehind(call, head, ask, answer);
  const at = BLOCK_AT[method];
  if (at !== undefined) {
    const block = params[at];
    if (!isNumber(block))
      return ask({ ...call, params: [...params.slice(0, at), numberToHex(head), ...params.slice(at + 1)] });
    if (Number(block) <= head) return ask(call);
    return method === "eth_getBlockByNumber" ? answer({ result: null }) : refusal("header not found");
  }
  const known = await ask(call);
  return BY_HASH.has(method) && blockOf(known) > head ? answer({ result: null }) : known;
}

/** A node that is behind leaves out the logs of blocks that it does not know, and says nothing of it. */
async function askLogsBehind(
  call: Call,
  head: number,
  ask: (call: Call) => Promise<Answer>,
  answer: (content: Answer) => Answer,
): Promise<Answer> {
  const filter = (call.params?.[0] ?? {}) as {
    readonly blockHash?: string;
    readonly fromBlock?: string;
    readonly toBlock?: string;
  };
  if (filter.blockHash !== undefined) {
    const block = await ask({ method: "eth_getBlockByHash", params: [filter.blockHash, false] });
    if (block.result === null || blockOf(block) > head)
      return answer({ error: { code: -32_000, message: "unknown block" } });
    return ask(call);
  }
  const [from, to] = [filter.fromBlock, filter.toBlock].map((block) => (isNumber(block) ? Number(block) : head));
  if ((from as number) > head) return answer({ result: [] });
  return ask({ ...call, params: [{ ...filter, toBlock: numberToHex(Math.min(to as number, head)) }] });
}

/** The block of what was found; 0 if it is in none. */
function blockOf({ result }: Answer): number {
  const { blockNumber, number } = (result ?? {}) as { readonly blockNumber?: string; readonly number?: string };
  return Number(blockNumber ?? number ?? 0);
}

function isNumber(block: unknown): block is string {
  return typeof block === "string" && block.startsWith("0x");
}
