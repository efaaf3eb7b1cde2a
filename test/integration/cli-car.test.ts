// Feeds CARs of any length to `conclave pin` in a process of its own.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { createWriteStream } from "node:fs";
import { mkdtemp, readdir, rm, truncate, writeFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { MAX_BLOCK_BYTES, MAX_PINNED_BYTES } from "../../agents/adapters/ipfs/block.ts";
import { createCli } from "./cli-world.ts";
import { longCar } from "../adapters/fixtures/long-car.ts";

const main = join(import.meta.dirname, "../../agents/cli/main.ts");
/** Prints the most memory that the process had, in KiB, when it ends. */
const watch = `data:text/javascript,process.on("exit",()=>process.stderr.write("RSS "+process.resourceUsage().maxRSS))`;
/** Leaves of 256 KiB each: 5.2 GB, but not too many blocks. */
const LEAVES = 20_000;
/** Memory allowed beyond that for a short CAR: half of the bytes that are read before the refusal. */
const SPARE_BYTES = MAX_PINNED_BYTES / 2;

let folder: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "conclave-car-"));
});

after(() => rm(folder, { recursive: true, force: true }));

interface Pinned {
  readonly code: number | null;
  readonly error: { readonly code: string; readonly data: Readonly<Record<string, unknown>> } | undefined;
  readonly maxRssBytes: number;
  readonly sentBytes: number;
}

/** `conclave pin --car` of a named pipe, until the command or the CAR ends. */
async function pinFromPipe(car: Iterable<Uint8Array>, into: string): Promise<Pinned> {
  const pipe = join(folder, `${into}.pipe`);
  execFileSync("mkfifo", [pipe]);
  const args = ["--import", watch, main, "pin", "--car", pipe, "--into", into, "--json"];
  const child = spawn(process.execPath, args, { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  const ended = new Promise<number | null>((settle) => void child.once("close", settle));
  let sentBytes = 0;
  function* counted(): Generator<Uint8Array> {
    for (const part of car) {
      sentBytes += part.length;
      yield part;
      // A command that has read this much would read the whole CAR.
      if (sentBytes > 2 * MAX_PINNED_BYTES) return;
    }
  }
  const [stdout, stderr] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    // The command closes the pipe when it refuses the CAR.
    pipeline(Readable.from(counted()), createWriteStream(pipe)).catch(() => undefined),
  ]);
  const code = await ended;
  const { error } = JSON.parse(stdout) as Pick<Pinned, "error">;
  const [, kibibytes] = /RSS (\d+)/.exec(stderr) ?? assert.fail(stderr);
  return { code, error, maxRssBytes: Number(kibibytes) * 1024, sentBytes };
}

describe("AV2: long CARs", () => {
  it("a CAR of five gigabytes from a pipe is refused at the length of the longest transcript, in little memory, unpinned", async (context) => {
    const short = await pinFromPipe(longCar(2), "short");
    assert.deepEqual([short.code, short.error], [0, undefined]);
    assert.equal((await readdir(join(folder, "short", "pins"))).length, 1);

    const long = await pinFromPipe(longCar(LEAVES), "long");
    const measured = `${long.sentBytes} bytes sent, ${long.maxRssBytes - short.maxRssBytes} bytes of memory more`;
    context.diagnostic(measured);
    assert.deepEqual([long.code, long.error?.code, long.error?.data["kind"]], [1, "CAR_INVALID", "too-long"], measured);
    assert.ok(Number(long.error?.data["offset"]) > MAX_PINNED_BYTES - MAX_BLOCK_BYTES, measured);
    assert.ok(long.sentBytes < MAX_PINNED_BYTES + (64 << 20), measured);
    assert.ok(long.maxRssBytes - short.maxRssBytes < SPARE_BYTES, measured);
    assert.deepEqual(await readdir(join(folder, "long", "pins")), []);
  });

  it("a CAR that ends too early or is full of zeros is refused and not pinned", async () => {
    const parts = [...longCar(3)];
    const cut = await pinFromPipe(parts.slice(0, -1), "cut");
    assert.deepEqual([cut.error?.code, cut.error?.data["kind"]], ["CAR_INVALID", "incomplete"]);
    assert.deepEqual(await readdir(join(folder, "cut", "pins")), []);

    const sparse = join(folder, "sparse.car");
    await writeFile(sparse, "");
    await truncate(sparse, LEAVES * MAX_BLOCK_BYTES);
    const nothing = await createCli(folder).failure("pin", "--car", sparse, "--into", "nothing");
    assert.deepEqual([nothing.code, nothing.data["offset"]], ["CAR_INVALID", 0]);
  });
});
