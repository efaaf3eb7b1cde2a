import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { HttpServer } from "../../agents/adapters/http-server.ts";
import { createFolderContentStore } from "../../agents/adapters/ipfs/folder-content-store.ts";
import { startGateway } from "../../agents/adapters/ipfs/gateway.ts";
import { readDashboard, startDashboardServer } from "../../agents/adapters/dashboard/dashboard.ts";
import { cidString } from "../../agents/core/encoding/cid.ts";
import { ConclaveError } from "../../agents/core/errors.ts";
import { freshBlock } from "./content-store.suite.ts";

const POLICY = "default-src 'none'; script-src 'self'";
const html = `<html><head><meta charset="utf-8" />
<meta
  http-equiv="Content-Security-Policy"
  content="${POLICY}"
/></head><body>page</body></html>`;

const LARGE = `export const digits = "${"0123456789".repeat(500)}";`;

const EMPTY = { config: () => ({}), isLocal: false };

/** Sends the path as it is, which `fetch` would tidy first. */
function statusOf(url: string, path: string, headers: Record<string, string> = {}): Promise<number> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    request({ hostname, port, path, headers }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    })
      .on("error", reject)
      .end();
  });
}

describe("the dashboard's files", () => {
  let folder: string;
  let server: HttpServer;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "conclave-dashboard-"));
    const dist = join(folder, "dist");
    await mkdir(join(dist, "assets"), { recursive: true });
    await writeFile(join(dist, "index.html"), html);
    await writeFile(join(dist, "assets/index-BxXE_m3E.js"), "export {};");
    await writeFile(join(dist, "assets/large-BxXE_m3E.js"), LARGE);
    await writeFile(join(dist, "notes.unknown"), "?");
    await writeFile(join(folder, "secret.txt"), "secret");
    await symlink(join(folder, "secret.txt"), join(dist, "link.txt"));
    const dashboard = await readDashboard(dist, {
      config: (host) => ({ gateways: [`http://${host}`] }),
      isLocal: false,
    });
    server = await startDashboardServer({ dashboard, host: "127.0.0.1", port: 0 });
  });
  after(async () => {
    await server.close();
    await rm(folder, { recursive: true });
  });

  it("are served with their types, and the index with the policy that it states", async () => {
    const index = await fetch(`${server.url}/`);
    assert.deepEqual([index.status, await index.text()], [200, html]);
    assert.equal(index.headers.get("content-type"), "text/html; charset=utf-8");
    assert.equal(index.headers.get("content-security-policy"), `${POLICY}; frame-ancestors 'none'`);
    assert.equal(index.headers.get("x-content-type-options"), "nosniff");
    assert.equal(index.headers.get("cache-control"), "no-cache");
    const script = await fetch(`${server.url}/assets/index-BxXE_m3E.js`);
    assert.equal(script.headers.get("content-type"), "text/javascript; charset=utf-8");
    assert.match(script.headers.get("cache-control") ?? "", /immutable/);
    const unknown = await fetch(`${server.url}/notes.unknown`);
    assert.equal(unknown.headers.get("content-type"), "application/octet-stream");
    const etag = index.headers.get("etag") ?? "";
    assert.equal(await statusOf(server.url, "/index.html", { "if-none-match": etag }), 304);
    const head = await fetch(server.url, { method: "HEAD" });
    assert.deepEqual([head.status, await head.text()], [200, ""]);
  });

  it("are sent by gzip to whoever takes it", async () => {
    const path = "/assets/large-BxXE_m3E.js";
    const encodingFor = async (accepted: string): Promise<string | null> => {
      const { headers } = await fetch(`${server.url}${path}`, { headers: { "accept-encoding": accepted } });
      assert.equal(headers.get("vary"), "accept-encoding");
      return headers.get("content-encoding");
    };
    for (const accepted of ["gzip", "gzip, br", "br;q=1.0, GZIP;q=0.5", "deflate,gzip"])
      assert.equal(await encodingFor(accepted), "gzip", accepted);
    for (const accepted of ["identity", "br", "gzip;q=0", "gzip; q=0.0, br", "xgzip"])
      assert.equal(await encodingFor(accepted), null, accepted);
    // fetch unpacks it.
    const zipped = await fetch(`${server.url}${path}`);
    assert.deepEqual([zipped.headers.get("content-encoding"), await zipped.text()], ["gzip", LARGE]);
    assert.equal((await fetch(server.url)).headers.get("content-encoding"), null);
  });

  it("are all that there is: no path and no link leads out of the folder", async () => {
    const paths = ["/../secret.txt", "/%2e%2e/secret.txt", "/assets/../../secret.txt", "/..%2fsecret.txt", "/link.txt"];
    for (const path of [...paths, "//secret.txt", "/assets", "/assets/", "/dist/index.html", "/\\..\\secret.txt"])
      assert.equal(await statusOf(server.url, path), 404, path);
    assert.equal((await fetch(server.url, { method: "POST" })).status, 405);
  });

  it("come with a config for the host that the browser asked, unless that is no host", async () => {
    const read = (headers: Record<string, string>): Promise<string> =>
      new Promise((resolve, reject) => {
        request(`${server.url}/config.json?x=1`, { headers }, (response) => {
          response.setEncoding("utf8").on("data", resolve);
        })
          .on("error", reject)
          .end();
      });
    assert.equal(await read({ host: "page.example:81" }), '{"gateways":["http://page.example:81"]}\n');
    assert.equal(await read({ host: 'a"/b' }), `{"gateways":["${server.url}"]}\n`);
  });

  it("give a config on this machine to no page whose own name leads here: it would read the RPC's key", async (context) => {
    const dashboard = await readDashboard(join(folder, "dist"), { ...EMPTY, isLocal: true });
    const local = await startDashboardServer({ dashboard, host: "127.0.0.1", port: 0 });
    context.after(() => local.close());
    const { port } = new URL(local.url);
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`, "localhost"])
      assert.equal(await statusOf(local.url, "/config.json", { host }), 200, host);
    for (const host of [
      `evil.example:${port}`,
      "localhost.evil.example",
      "127.0.0.1.evil.example",
      "10.0.0.1",
      "a/localhost",
    ]) {
      for (const path of ["/config.json", "/config.json?x", "/./config.json", "/%63onfig.json"])
        assert.notEqual(await statusOf(local.url, path, { host }), 200, `${host} ${path}`);
      assert.equal(await statusOf(local.url, "/index.html", { host }), 200);
    }
  });

  it("are refused where no dashboard is built", async () => {
    for (const place of [join(folder, "nowhere"), join(folder, "dist/assets")])
      await assert.rejects(
        readDashboard(place, EMPTY),
        (error) => error instanceof ConclaveError && /npm run page:build/.test(error.message),
      );
  });

  it("stand beside a gateway's blocks, which any origin may read, refusals included; the config only the dashboard's own", async () => {
    const store = await createFolderContentStore(join(folder, "blocks"));
    const digest = await store.put(freshBlock().bytes);
    const dashboard = await readDashboard(join(folder, "dist"), EMPTY);
    const gateway = await startGateway({ store, host: "127.0.0.1", port: 0, others: dashboard.answer });
    assert.equal(await (await fetch(`${gateway.url}/`)).text(), html);
    assert.equal((await fetch(`${gateway.url}/ipfs/${cidString(digest)}?format=raw`)).status, 200);
    const refused = await fetch(`${gateway.url}/ipfs/nothing`);
    assert.deepEqual([refused.status, refused.headers.get("access-control-allow-origin")], [400, "*"]);
    // It names the RPC's URL, which may hold a key.
    const config = await fetch(`${gateway.url}/config.json`);
    assert.deepEqual([config.status, config.headers.get("access-control-allow-origin")], [200, null]);
    await gateway.close();
    await store.close();
  });
});
