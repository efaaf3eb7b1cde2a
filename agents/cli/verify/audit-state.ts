import { open, type FileHandle } from "node:fs/promises";
import { createReadStream } from "node:fs";
import { lockFile } from "../../adapters/lock.ts";
import { ConclaveError, messageOf } from "../../core/errors.ts";
import type { Domain } from "../../core/types.ts";
import type { Subject } from "../../node/audit/audit.ts";
import type { VerifyReport } from "../../node/audit/report.ts";
import { toJson } from "../shared/output.ts";

/**
 * The verdicts of an audit so far, in a file of JSON lines; a killed run loses at most the line that it was writing.
 */
export interface AuditState {
  /** True if the same commit on the same chain was proven before; refuted ones are tried again. */
  isProven(subject: Subject): boolean;
  add(subject: Subject, report: VerifyReport): Promise<void>;
  close(): Promise<void>;
}

export const noState: AuditState = {
  isProven: () => false,
  add: async () => undefined,
  close: async () => undefined,
};

interface Entry {
  readonly key: string;
  readonly report: { readonly ok: boolean };
}

const FORMAT = "conclave verify 1";

/**
 * Opens the file for one process: a second one would cut off the line that the first is writing. Throws STATE_LOCKED,
 * or CONFIG_INVALID if the file belongs to something else or cannot be written.
 */
export async function openAuditState(path: string, domain: Domain): Promise<AuditState> {
  const file = await open(path, "a+").catch((error: unknown) => {
    throw unusable(path, messageOf(error), error);
  });
  let release = (): void => {};
  const close = async (): Promise<void> => {
    await file.close();
    release();
  };
  try {
    if (!(await file.stat()).isFile()) throw unusable(path, "it is no regular file");
    release = lockFile(`${path}.lock`, (cause) => busy(path, cause));
    const proven = await readProven(file, path, domain);
    return {
      isProven: (subject) => proven.has(keyOf(subject)),
      add: (subject, report) => append(file, path, `${toJson({ key: keyOf(subject), report: briefly(report) })}\n`),
      close,
    };
  } catch (error) {
    await close();
    if (error instanceof ConclaveError) throw error;
    throw unusable(path, messageOf(error), error);
  }
}

function unusable(path: string, reason: string, cause?: unknown): ConclaveError {
  const message = `Open ${path} failed: ${reason}; correct --state`;
  return new ConclaveError("CONFIG_INVALID", message, { path, option: "--state" }, cause);
}

function busy(path: string, cause: unknown): ConclaveError {
  return new ConclaveError(
    "STATE_LOCKED",
    `Open ${path} failed: another process writes to it; wait for it, or name another file with --state`,
    { path, option: "--state" },
    cause,
  );
}

/** Names the commit; a reorganisation of the chain or an appeal changes it. */
function keyOf({ requestId, committed }: Subject): string {
  return `${requestId} ${committed.blockHash} ${committed.decision.attempt}`;
}

function briefly({ ok, root, failure }: VerifyReport): object {
  return { ok, root, ...(failure === undefined ? {} : { failure }) };
}

async function append(file: FileHandle, path: string, line: string | Uint8Array): Promise<void> {
  try {
    await file.appendFile(line);
  } catch (error) {
    const reason = messageOf(error);
    const message = `Write to ${path} failed: ${reason}; make room or correct --state, then repeat the command: it goes on from there`;
    throw new ConclaveError("CONFIG_INVALID", message, { path, option: "--state" }, error);
  }
}

async function readProven(file: FileHandle, path: string, { chainId, oracle }: Domain): Promise<ReadonlySet<string>> {
  const head = Buffer.from(`${toJson({ format: FORMAT, chainId, oracle })}\n`);
  const { size } = await file.stat();
  const { buffer, bytesRead } = await file.read(Buffer.alloc(head.length), 0, head.length, 0);
  if (!head.subarray(0, bytesRead).equals(buffer.subarray(0, bytesRead))) {
    const message = `Read ${path} failed: it is no state of verifying oracle ${oracle} of chain ${chainId}; name another file with --state`;
    throw new ConclaveError("CONFIG_INVALID", message, { path, option: "--state" });
  }
  const proven = new Set<string>();
  if (size < head.length) {
    await file.truncate(0);
    await append(file, path, head);
    return proven;
  }
  await dropTornLine(file, size);
  for await (const line of linesOf(path)) addProven(proven, line);
  return proven;
}

/** Reads the lines. The file may be anything, so a line longer than ours can be is skipped and not held in memory. */
async function* linesOf(path: string): AsyncGenerator<string> {
  let line = "";
  let isLong = false;
  for await (const chunk of createReadStream(path, "utf8") as AsyncIterable<string>) {
    for (const [index, part] of chunk.split("\n").entries()) {
      if (index > 0) {
        if (!isLong) yield line;
        [line, isLong] = ["", false];
      }
      isLong ||= line.length + part.length > MAX_LINE;
      line = isLong ? "" : line + part;
    }
  }
}

/** Adds a proven subject; a line that cannot be read proves nothing. */
function addProven(proven: Set<string>, line: string): void {
  try {
    const { key, report } = JSON.parse(line) as Partial<Entry>;
    if (key !== undefined && report?.ok === true) proven.add(key);
  } catch {
    // The subject of a broken line is verified again.
  }
}

const CHUNK = 65_536;
/** Longest line: a verdict has a few hundred characters, with a reason a few thousand. */
const MAX_LINE = 65_536;

/** Cuts off a torn last line. */
async function dropTornLine(file: FileHandle, size: number): Promise<void> {
  const chunk = Buffer.alloc(CHUNK);
  for (let end = size; end > 0; end -= CHUNK) {
    const start = Math.max(0, end - CHUNK);
    const { bytesRead } = await file.read(chunk, 0, end - start, start);
    const at = chunk.subarray(0, bytesRead).lastIndexOf(0x0a);
    if (at >= 0) {
      if (start + at + 1 < size) await file.truncate(start + at + 1);
      return;
    }
  }
}
