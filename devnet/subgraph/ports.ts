import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/** Below the ports that a system gives to outgoing connections, and to whoever listens on port 0: Linux begins with 32,768. */
const [FIRST, LAST] = [10_000, 32_767];
const MOST_TRIES = 1_000;
/** Nobody listens on a port yet when it is given, so it could be given twice. */
const given = new Set<number>();

/** Returns a TCP port of 127.0.0.1 on which nobody listens, and which the system itself gives to nobody before it is used. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const port = randomInt(FIRST, LAST + 1);
    if (given.has(port) || !(await isFree(port))) continue;
    given.add(port);
    return port;
  }
  throw new Error(`Find a free port: none of ${MOST_TRIES} from ${FIRST} to ${LAST} is free`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch {
    return false;
  }
  server.close();
  await once(server, "close");
  return true;
}
