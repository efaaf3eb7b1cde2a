import { connect, createServer } from "node:net";
import { ConclaveError } from "../../core/errors.ts";
import { wayOutOf } from "../shared/reasons.ts";

/** One finding; `way` says what to do about it. */
export interface Check {
  readonly name: string;
  readonly level: "ok" | "warn" | "fail";
  readonly message: string;
  readonly way?: string;
}

export type Finding = Omit<Check, "name">;

export const ok = (message: string): Finding => ({ level: "ok", message });
export const warn = (message: string, way: string): Finding => ({ level: "warn", message, way });
export const fail = (message: string, way: string): Finding => ({ level: "fail", message, way });

/** Runs one check. A typed error becomes a finding; any other error is a bug. */
export async function check(name: string, examine: () => Promise<Finding> | Finding): Promise<Check> {
  try {
    return { name, ...(await examine()) };
  } catch (error) {
    if (!(error instanceof ConclaveError)) throw error;
    return { name, ...fail(`${error.code}: ${error.message}`, wayOutOf(error)) };
  }
}

/** How long something may take to answer. */
export const ANSWER_MS = 3_000;

/** Whether something takes connections there. */
export async function answers(host: string, port: number): Promise<boolean> {
  const socket = connect({ host, port, timeout: ANSWER_MS });
  return new Promise((resolve) => {
    const end = (answered: boolean): void => {
      socket.destroy();
      resolve(answered);
    };
    socket.once("connect", () => end(true));
    socket.once("timeout", () => end(false));
    socket.once("error", () => end(false));
  });
}

/** Tries to listen. Returns null if it works, else the system's error code. */
export async function bind(host: string, port: number): Promise<string | null> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)));
  });
}
