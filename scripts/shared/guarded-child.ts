// A child process that ends with this one, even if this one is killed without a chance to clean up.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";

export interface GuardedChild {
  readonly process: ChildProcess;
  /** Sends the signal, and SIGKILL after `STOP_SECONDS`; resolves when the child is gone. Idempotent. */
  readonly stop: () => Promise<void>;
}

export interface GuardOptions {
  /** Signal that ends the child in order. */
  readonly signal: "TERM" | "INT";
  /** Output of the child; the caller must read a piped one. */
  readonly output: readonly [stdout: "pipe" | "ignore", stderr: "pipe" | "ignore"];
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Runs it as this user and group. */
  readonly user?: number;
  /** Folder that is removed once the child is gone. */
  readonly scratch?: string;
}

const STOP_SECONDS = 3;

/** Runs "$0" "$@", without its first argument, until standard input ends, which ends with this process. Then removes the folder that the first one names. */
const WHILE_PARENT_LIVES = (signal: GuardOptions["signal"]): string => `
exec 3<&0
scratch=$1; shift
"$0" "$@" 3<&- & child=$!
{ read -r _ <&3; kill -${signal} $child; sleep ${STOP_SECONDS}; kill -KILL $child; } >/dev/null 2>&1 & watch=$!
exec 3<&-
wait $child; code=$?
kill $watch
[ -z "$scratch" ] || rm -rf "$scratch"
exit $code`;

export function spawnGuarded(binary: string, args: readonly string[], options: GuardOptions): GuardedChild {
  const { signal, output, user, scratch = "", ...rest } = options;
  const child = spawn("/bin/sh", ["-c", WHILE_PARENT_LIVES(signal), binary, scratch, ...args], {
    ...rest,
    ...(user === undefined ? {} : { uid: user, gid: user }),
    // The child gets a group of its own: Ctrl-C reaches us alone, and we stop the child in order.
    detached: true,
    stdio: ["pipe", ...output],
  });
  const exited = once(child, "exit");
  return {
    process: child,
    stop: async () => {
      child.stdin?.end();
      await exited;
    },
  };
}
