import { readFile } from "node:fs/promises";
import type { ReadStream, WriteStream } from "node:tty";

import { ConclaveError } from "../../core/errors.ts";

const MAX_PASSWORD_BYTES = 1024;

/** Where a password may come from, tried in this order. Never from the command line: other users see it there. */
export interface PasswordSources {
  /** A file whose content, less one line end, is the password. */
  readonly file?: string | undefined;
  /** The option that names such a file. */
  readonly option: string;
  /** Whose password it is, in words: "the operator's keystore". */
  readonly of: string;
  /** The name of an environment variable. */
  readonly env?: string | undefined;
  /** What to ask on the terminal, if there is one. */
  readonly prompt?: string | undefined;
}

export interface PasswordHost {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly input: Pick<ReadStream, "isTTY" | "setRawMode" | "on" | "off" | "resume" | "pause">;
  readonly output: Pick<WriteStream, "write">;
}

/** Throws KEYSTORE_PASSWORD_MISSING that names the ways to give one. */
export async function readPassword(
  sources: PasswordSources,
  host: PasswordHost = { environment: process.env, input: process.stdin, output: process.stderr },
): Promise<string> {
  if (sources.file !== undefined) return await fromFile(sources.file, sources);
  const value = sources.env === undefined ? undefined : host.environment[sources.env];
  if (value !== undefined && value !== "") return value;
  if (sources.prompt !== undefined && host.input.isTTY) {
    const typed = await ask(sources.prompt, host);
    if (typed !== null && typed !== "") return typed;
    throw missing("nothing was typed", sources);
  }
  throw missing("none was given", sources);
}

async function fromFile(path: string, sources: PasswordSources): Promise<string> {
  const content = await readFile(path).catch((cause: NodeJS.ErrnoException) => {
    throw missing(`the file ${path} cannot be read (${cause.code ?? "unknown"})`, sources, cause);
  });
  if (content.length > MAX_PASSWORD_BYTES)
    throw missing(`the file ${path} has more than ${MAX_PASSWORD_BYTES} bytes`, sources);
  const password = content.toString("utf8").replace(/\r?\n$/u, "");
  if (password === "") throw missing(`the file ${path} is empty`, sources);
  return password;
}

/** Reads one line without showing it; null when the user gives up with Ctrl-C or Ctrl-D. */
async function ask(prompt: string, { input, output }: PasswordHost): Promise<string | null> {
  output.write(`${prompt}: `);
  input.setRawMode(true);
  input.resume();
  try {
    return await new Promise((resolve) => {
      let typed: string[] = [];
      const onData = (chunk: Buffer): void => {
        for (const character of chunk.toString("utf8")) {
          if (character === "\r" || character === "\n") return done(typed.join(""));
          if (character === "\u0003" || character === "\u0004") return done(null);
          if (character === "\u007f" || character === "\b") typed.pop();
          else if (character === "\u0015") typed = [];
          else if (character >= " " && typed.length < MAX_PASSWORD_BYTES) typed.push(character);
        }
      };
      const done = (line: string | null): void => {
        input.off("data", onData);
        resolve(line);
      };
      input.on("data", onData);
    });
  } finally {
    input.setRawMode(false);
    input.pause();
    output.write("\n");
  }
}

function missing(reason: string, sources: PasswordSources, cause?: unknown): ConclaveError {
  const { option, of, env } = sources;
  const variable = env === undefined ? "an environment variable" : `the variable ${env}`;
  return new ConclaveError(
    "KEYSTORE_PASSWORD_MISSING",
    `Read the password of ${of}: ${reason}; give it by ${option} FILE, in ${variable}, or type it on a terminal`,
    { option },
    cause,
  );
}
