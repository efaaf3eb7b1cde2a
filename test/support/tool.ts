import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { after } from "node:test";

const root = join(import.meta.dirname, "../..");

export interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/**
 * Runs a script of ours with other words each time. All runs share one process, because a new one would load the same
 * modules for longer than most commands take.
 */
export function tool(script: string): (...words: readonly string[]) => Promise<Ended> {
  const host = fork(join(import.meta.dirname, "fixtures/tool-host.ts"), [join(root, script)], { cwd: root });
  const exited = once(host, "exit");
  after(async () => {
    host.disconnect();
    await exited;
  });
  return async (...words) => {
    host.send(words);
    const [ended] = (await Promise.race([
      once(host, "message"),
      exited.then(([code]) => assert.fail(`${script} ended its process with ${code}`)),
    ])) as [Ended];
    return ended;
  };
}
