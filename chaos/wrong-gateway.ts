// A gateway that serves wrong blocks among right ones.
import { createServer } from "node:http";
import { digestFromCid } from "../agents/core/encoding/cid.ts";
import type { Digest } from "../agents/core/types.ts";
import { listenOnLoopback } from "../scripts/shared/loopback.ts";

export interface WrongGateway {
  readonly url: string;
  /** Wrong blocks so far. */
  wrong(): number;
  close(): Promise<void>;
}

type Change = (bytes: Uint8Array, last: Uint8Array) => Uint8Array;

/** A changed bit, a missing end, and the block that was asked for before. */
const CHANGES: readonly Change[] = [
  (bytes) => bytes.map((byte, at) => (at === bytes.length >> 1 ? byte ^ 1 : byte)),
  (bytes) => bytes.subarray(0, -1),
  (_, last) => last,
];
/** One of so many blocks is wrong. */
const WRONG_EVERY = 2;

/** `turn` says which change comes first. */
export async function startWrongGateway(
  get: (digest: Digest) => Promise<Uint8Array>,
  turn: number,
): Promise<WrongGateway> {
  let asked = 0;
  let wrong = 0;
  let last: Uint8Array = Buffer.alloc(0);
  const server = createServer((request, response) => {
    void (async () => {
      const digest = digestFromCid(/^\/ipfs\/([^/?]+)/.exec(request.url ?? "")?.[1] ?? "");
      if (digest === null) return void response.writeHead(400).end();
      const bytes = await get(digest);
      const isWrong = ++asked % WRONG_EVERY === 0;
      const change = CHANGES[(turn + wrong) % CHANGES.length] as Change;
      if (isWrong) wrong++;
      response.end(isWrong ? change(bytes, last) : bytes);
      last = bytes;
    })().catch(() => response.writeHead(404).end());
  });
  const { url, close } = await listenOnLoopback(server);
  return { url, wrong: () => wrong, close };
}
