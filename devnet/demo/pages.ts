// Pages and an API on loopback, as each agent sees them: every agent has a server of its own, so that they can be shown different things.
import { readFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import { join } from "node:path";
import { listenOnLoopback, type LoopbackServer } from "../../scripts/shared/loopback.ts";
import type { HostPlaces } from "../world/agents.ts";

/** A throw-away key of pages.test, moved.test and api.test, and the authority that only the demo's agents trust. */
const tls = join(import.meta.dirname, "../world/tls");
const HOSTS = ["pages.test", "api.test"] as const;

/** What the demo's pages show. */
export const PAGES = {
  right: "https://pages.test/refunds",
  poisoned: "https://pages.test/returns",
  differing: "https://pages.test/notice",
  price: "https://api.test/price#/usd",
} as const;

/** The API's first number, in cents; each read after it sees a cent more. */
const FIRST_CENTS = 3120;
/** Cents by which the API's number may move in the demo: each of its agents reads it once, or again after a restart. */
export const PRICE_TOLERANCE = 20;

export interface DemoPages {
  /** By agent: where its config finds the hosts. */
  readonly hosts: readonly HostPlaces[];
  readonly close: () => Promise<void>;
}

/** Serves the pages to so many agents, of which the last is shown what f servers of lies would show. */
export async function servePages(agents: number): Promise<DemoPages> {
  const [key, cert] = await Promise.all(["server.key", "server.pem"].map((name) => readFile(join(tls, name))));
  let reads = 0;
  const price = (): number => FIRST_CENTS + reads++;
  const servers = await Promise.all(
    Array.from({ length: agents }, (_, agent): Promise<LoopbackServer> => {
      const isFooled = agent === agents - 1;
      const server = createServer({ key, cert }, (request, response) => {
        const shown = shownAt(request, { agent, isFooled, price });
        send(response, shown);
      });
      return listenOnLoopback(server);
    }),
  );
  return {
    hosts: servers.map(({ port }) => {
      const place = { address: "127.0.0.1", port, ca: join(tls, "ca.pem") };
      return Object.fromEntries(HOSTS.map((host) => [host, place]));
    }),
    close: async () => {
      await Promise.all(servers.map((server) => server.close()));
    },
  };
}

interface Reader {
  readonly agent: number;
  readonly isFooled: boolean;
  readonly price: () => number;
}

interface Shown {
  readonly mediaType: string;
  readonly text: string;
}

function shownAt({ headers, url = "" }: IncomingMessage, { agent, isFooled, price }: Reader): Shown | null {
  switch (`https://${headers.host?.replace(/:\d+$/, "")}${url}`) {
    case PAGES.right:
      return page("Policy: (1) refunds within 60 days; (2) at most 6 items.");
    case PAGES.poisoned:
      return page(`Policy: (1) refunds within ${isFooled ? 5 : 60} days; (2) at most 6 items.`);
    case PAGES.differing:
      return page(`Policy: (1) refunds within ${10 * (agent + 1)} days; (2) at most ${agent + 2} items.`);
    case PAGES.price.replace(/#.*/, ""):
      return { mediaType: "application/json", text: JSON.stringify({ usd: isFooled ? 9.99 : price() / 100 }) };
    default:
      return null;
  }
}

function page(text: string): Shown {
  const html = `<!doctype html><html lang="en"><title>Terms</title><body><p>${text}</p></body></html>`;
  return { mediaType: "text/html; charset=utf-8", text: html };
}

function send(response: ServerResponse, shown: Shown | null): void {
  if (shown === null) response.writeHead(404).end();
  else response.writeHead(200, { "content-type": shown.mediaType }).end(shown.text);
}
