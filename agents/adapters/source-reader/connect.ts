import { Resolver } from "node:dns/promises";
import { isIP, type Socket } from "node:net";
import { callbackify } from "node:util";
import { buildConnector } from "undici";
import { isPublicAddress } from "./address.ts";
import { ReadingError } from "./failure.ts";

/** A place to connect to by TLS: an address that is checked already, never a name. */
export interface Place {
  readonly address: string;
  readonly port: number;
  /** The name that the certificate must be for. */
  readonly servername: string;
  /** PEM of the authority that signs it; absent: the public ones. */
  readonly ca?: string;
}

/** What a host of the config is connected to. */
export type FixedPlace = Pick<Place, "address" | "port" | "ca">;

/** The two acts of a connection. Tests replace them, so that no test reaches a stranger. */
export interface Dialler {
  /** All addresses of a name. */
  readonly resolve: (host: string) => Promise<readonly string[]>;
  readonly dial: (place: Place, timeoutMs: number) => Promise<Socket>;
}

const HTTPS_PORT = 443;
/** Addresses of a name that are tried in turn. */
const MAX_DIALLED = 3;

interface NameServers {
  readonly resolve4: (host: string) => Promise<readonly string[]>;
  readonly resolve6: (host: string) => Promise<readonly string[]>;
}

/** One try of a name server, and tries. */
const NAME_SERVER_MS = 2000;
const NAME_SERVER_TRIES = 2;

/**
 * The addresses of a name, those of IPv4 first. Asks name servers itself: the system's own look-up would hold one of two threads that all
 * look-ups of the process share, so that names whose servers are silent would keep the agent from its chain and its model.
 */
export async function addressesOf(host: string, { resolve4, resolve6 }: NameServers): Promise<readonly string[]> {
  const ipv4 = resolve4(host);
  const found = await Promise.allSettled([ipv4, resolve6(host)]);
  const addresses = found.flatMap((one) => (one.status === "fulfilled" ? one.value : []));
  return addresses.length > 0 ? addresses : ipv4;
}

export const systemDialler: Dialler = {
  resolve: (host) => {
    const resolver = new Resolver({ timeout: NAME_SERVER_MS, tries: NAME_SERVER_TRIES });
    return addressesOf(host, {
      resolve4: (name) => resolver.resolve4(name),
      resolve6: (name) => resolver.resolve6(name),
    });
  },
  dial: ({ address, port, servername, ca }, timeoutMs) => {
    const { promise, resolve, reject } = Promise.withResolvers<Socket>();
    const trust = { rejectUnauthorized: true, ...(ca !== undefined && { ca }) };
    const connect = buildConnector({ timeout: timeoutMs, maxCachedSessions: 0, ...trust });
    connect({ protocol: "https:", hostname: address, port: String(port), servername }, (...[error, socket]) =>
      error === null ? resolve(socket) : reject(error),
    );
    return promise;
  },
};

/**
 * EV6: connects to addresses that it has looked up and checked itself, so that a name cannot change between check and use. Each
 * connection of a redirect comes through here, too.
 */
export function guardedConnector(
  { resolve, dial }: Dialler,
  hosts: ReadonlyMap<string, FixedPlace>,
  timeoutMs: number,
): buildConnector.connector {
  const open = async (host: string): Promise<Socket> => {
    const servername = isIP(host) === 0 ? host : "";
    const fixed = hosts.get(host);
    if (fixed !== undefined) return dial({ ...fixed, servername }, timeoutMs);
    const addresses = servername === "" ? [host] : await resolve(host);
    requirePublic(host, addresses);
    let failure: unknown = new ReadingError("unreachable", `${host} has no address`);
    for (const address of addresses.slice(0, MAX_DIALLED)) {
      try {
        return await dial({ address, port: HTTPS_PORT, servername }, timeoutMs);
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  };
  return ({ hostname }, callback) => {
    const done = callbackify(open);
    done(hostname.replace(/^\[(.*)\]$/, "$1"), (error, socket) =>
      error === null ? callback(null, socket) : callback(error, null),
    );
  };
}

/**
 * EV5: connects as `connect` does, and ends a connection over which more bytes come than these. A body's bytes alone are no bound: a
 * server may put any number of others around each, and before all of them.
 */
export function boundedConnector(connect: buildConnector.connector, maxBytes: number): buildConnector.connector {
  return (options, callback) =>
    connect(options, (...[error, socket]) => {
      if (error !== null) return callback(error, null);
      // The first listener: it ends the connection before anybody reads what is too much.
      socket.on("readable", () => {
        if (socket.bytesRead > maxBytes)
          socket.destroy(new ReadingError("too-large", `more than ${maxBytes} bytes come in`));
      });
      return callback(null, socket);
    });
}

/** EV6: one address that is not public is enough: the name's owner points it at somebody's network. */
export function requirePublic(host: string, addresses: readonly string[]): void {
  const inner = addresses.find((address) => !isPublicAddress(address));
  if (inner === undefined) return;
  const where = inner === host ? host : `${host} has the address ${inner}, which`;
  throw new ReadingError(
    "blocked-address",
    `${where} is no public address; a host of your own network needs an entry in sources.hosts`,
  );
}
