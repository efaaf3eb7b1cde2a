import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";

import type { Watch } from "../../agents/adapters/model-files/download.ts";
import { keepModel, pullModel, type PulledModel } from "../../agents/adapters/model-files/pull.ts";
import { placeOf } from "../../agents/adapters/model-files/reference.ts";
import { ConclaveError, type ErrorCode } from "../../agents/core/errors.ts";
import { cutAt, startFileServer, type FileServer } from "./fixtures/file-server.ts";
import { tinyGguf } from "./fixtures/tiny-gguf.ts";

const digestOf = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");
const bytes = tinyGguf();
const sha256 = digestOf(bytes);
const other = tinyGguf({ seed: 2 });
const HALF = Math.floor(bytes.length / 2);
const V1 = '"one"';

const root = mkdtempSync(join(tmpdir(), "conclave-pull-"));
let folder: string;
let server: FileServer;

interface Told {
  readonly progress: (readonly [bytes: number, of: number | null])[];
  readonly retries: string[];
}

const watch = (more: Partial<Watch> = {}): Watch & Told => {
  const told: Told = { progress: [], retries: [] };
  return {
    ...told,
    signal: new AbortController().signal,
    onProgress: (...step) => void told.progress.push(step),
    onRetry: (reason) => void told.retries.push(reason),
    ...more,
  };
};

async function pull(
  options: { readonly sha256?: string; readonly path?: string; readonly watch?: Partial<Watch> } = {},
): Promise<PulledModel & Told> {
  const seen = watch(options.watch);
  const place = await placeOf(`${server.url}${options.path ?? "/tiny.gguf"}`, {}, seen.signal);
  return { ...seen, ...(await pullModel(place, folder, options.sha256, seen)) };
}

async function refused(code: ErrorCode, says: RegExp, pulled: Promise<unknown>): Promise<ConclaveError> {
  const error = await pulled.then(
    () => assert.fail("it was not refused"),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof ConclaveError, String(error));
  assert.equal(error.code, code, error.message);
  assert.match(error.message, says);
  return error;
}

/** The files of models and parts, without the lock. */
const files = (): readonly string[] => readdirSync(folder).filter((name) => name !== "lock");

const part = (): string => join(folder, "tiny.gguf.part");

/** Leaves half of the file behind, as a broken download does. */
async function pullHalf(etag: string | null): Promise<void> {
  server.handle(cutAt(bytes, HALF, etag, part));
  const abort = new AbortController();
  const onRetry = (): void => abort.abort(new Error("stopped"));
  await assert.rejects(pull({ watch: { signal: abort.signal, onRetry } }), /stopped/);
  assert.equal(readFileSync(part()).length, HALF);
  server.handle(() => false);
}

before(async () => {
  server = await startFileServer();
});
after(async () => {
  await server.close();
  rmSync(root, { recursive: true });
});
beforeEach(() => {
  folder = mkdtempSync(join(root, "models-"));
  server.serve(bytes, V1);
  server.handle(() => false);
  server.asked.length = 0;
});

describe("model pull: a download", () => {
  it("gives the file its name once it is whole, tells of its progress, and does not come twice", async () => {
    const { path, sha256: found, isNew, progress } = await pull({ sha256 });
    assert.deepEqual([path, found, isNew], [join(folder, "tiny.gguf"), sha256, true]);
    assert.deepEqual(progress.at(-1), [bytes.length, bytes.length]);
    assert.deepEqual(files(), ["tiny.gguf"]);
    assert.deepEqual([(await pull({ sha256 })).isNew, server.asked.length], [false, 1]);
    await refused("MODEL_DIGEST_WRONG", /another file of that name/, pull({ sha256: digestOf(other) }));
  });

  it("takes a file of its name that is there only if its length is the server's, or the user gave its digest", async () => {
    await pull();
    assert.equal((await pull()).isNew, false);
    server.serve(Buffer.concat([other, Buffer.alloc(8)]), V1);
    const longer = `tiny\\.gguf has ${bytes.length} bytes, the server's file ${other.length + 8}; another file of that name`;
    await refused("MODEL_PULL_FAILED", new RegExp(longer), pull());
    server.handle((_, response) => response.writeHead(200).end(other) !== null);
    await refused("MODEL_PULL_FAILED", /states neither digest nor length .*; give --sha256 to take/, pull());
    server.handle((_, response) => response.writeHead(200, { "content-encoding": "gzip" }).end("x") !== null);
    await refused("MODEL_PULL_FAILED", /compresses the file on the way; give the URL of another server/, pull());
    server.handle((_, response) => response.destroy() !== null);
    await refused("MODEL_PULL_FAILED", /repeat the command, or give --sha256 to take/, pull());
    server.handle((_, response) => response.writeHead(404).end() !== null);
    await refused("MODEL_PULL_FAILED", /the server answers 404; repeat the command, or give --sha256/, pull());
    assert.deepEqual([(await pull({ sha256 })).isNew, files()], [false, ["tiny.gguf"]]);
  });

  it("goes on by itself where the connection broke off", async () => {
    const cut = cutAt(bytes, HALF, V1, part);
    server.handle((request, response) => server.asked.length === 1 && cut(request, response));
    const { retries, sha256: found } = await pull();
    assert.equal(found, sha256);
    assert.match(retries.join(), new RegExp(`broke off at byte ${HALF} of ${bytes.length}`));
    assert.deepEqual([server.asked[1]?.range, server.asked[1]?.["if-range"]], [`bytes=${HALF}-`, V1]);
  });

  it("stops when the connection breaks off again and again, and a later pull goes on with the part", async () => {
    server.handle((request, response) => {
      if (request.headers.range === undefined) return cutAt(bytes, HALF, V1, part)(request, response);
      response.destroy();
      return true;
    });
    await refused("MODEL_PULL_FAILED", /repeat the command: it goes on/, pull());
    assert.equal(server.asked.length, 4);
    assert.deepEqual(files(), ["tiny.gguf.part", "tiny.gguf.part.etag"]);
    server.handle(() => false);
    assert.equal((await pull()).sha256, sha256);
    assert.equal(server.asked[4]?.range, `bytes=${HALF}-`);
    assert.deepEqual(files(), ["tiny.gguf"]);
  });

  it("leaves the note of the file's version alone while it goes on, since a full disk could cut it", async () => {
    await pullHalf(V1);
    const note = join(folder, "tiny.gguf.part.etag");
    utimesSync(note, 1, 1);
    server.handle((request, response) => {
      if (request.headers.range !== `bytes=${HALF}-`) return false;
      const place = `bytes ${HALF}-${bytes.length - 1}/${bytes.length}`;
      response.writeHead(206, { "content-range": place, "content-length": bytes.length - HALF, etag: V1 });
      response.write(bytes.subarray(HALF, HALF + 10), () => response.destroy());
      return true;
    });
    const abort = new AbortController();
    const onRetry = (): void => abort.abort(new Error("stopped"));
    await assert.rejects(pull({ watch: { signal: abort.signal, onRetry } }), /stopped/);
    assert.equal(statSync(note).mtimeMs, 1000);
    server.handle(() => false);
    assert.equal((await pull()).sha256, sha256);
  });

  it("goes on after a range that ends before the file does", async () => {
    await pullHalf(V1);
    server.asked.length = 0;
    server.handle((_, response) => {
      if (server.asked.length > 1) return false;
      const place = `bytes ${HALF}-${HALF + 9}/${bytes.length}`;
      response.writeHead(206, { "content-range": place, "content-length": 10, etag: V1 });
      response.end(bytes.subarray(HALF, HALF + 10));
      return true;
    });
    assert.equal((await pull()).sha256, sha256);
    assert.equal(server.asked[1]?.range, `bytes=${HALF + 10}-`);
  });

  it("begins again where the server ignores ranges", async () => {
    await pullHalf(V1);
    server.handle((_, response) => {
      response.writeHead(200, { "content-length": bytes.length }).end(bytes);
      return true;
    });
    assert.equal((await pull()).sha256, sha256);
    assert.equal(server.asked.at(-1)?.range, `bytes=${HALF}-`);
  });

  it("begins again where the server's file changed meanwhile: no file is made of two", async () => {
    await pullHalf(V1);
    server.serve(other, '"two"');
    assert.equal((await pull()).sha256, digestOf(other));
  });

  it("begins again where neither server nor user can tell whether the file is still the same", async () => {
    await pullHalf(null);
    server.serve(other, null);
    assert.equal((await pull()).sha256, digestOf(other));
    assert.equal(server.asked.at(-1)?.range, undefined);
  });

  it("goes on without a version from the server if the user gave the digest", async () => {
    await pullHalf(null);
    server.serve(bytes, null);
    assert.equal((await pull({ sha256 })).sha256, sha256);
    assert.equal(server.asked.at(-1)?.range, `bytes=${HALF}-`);
  });

  it("tries again after an answer that may change, and not after one that stays", async () => {
    server.handle((_, response) => {
      if (server.asked.length > 1) return false;
      response.writeHead(503).end();
      return true;
    });
    assert.match((await pull()).retries.join(), /answers 503/);
    for (const [status, says] of [
      [404, /answers 404; correct the reference/],
      [403, /HF_TOKEN/],
    ] as const) {
      server.asked.length = 0;
      server.handle((_, response) => response.writeHead(status).end() !== null);
      await refused("MODEL_PULL_FAILED", says, pull({ path: "/absent.gguf" }));
      assert.equal(server.asked.length, 1);
    }
  });

  it("says which folder this account may not write, and names --dir", async () => {
    const make = (): Promise<never> => Promise.reject(Object.assign(new Error("EACCES: open"), { code: "EACCES" }));
    const says = /^Write into the folder \/.* failed: EACCES: open; let this account write there, .* with --dir$/;
    await refused("CONFIG_INVALID", says, keepModel(folder, "tiny.gguf", undefined, make));
  });

  it("is made by one process at a time in a folder", async () => {
    server.handle(cutAt(bytes, HALF, V1, part));
    const abort = new AbortController();
    const first = pull({ watch: { signal: abort.signal } });
    while (server.asked.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await refused("MODEL_PULL_FAILED", /another process pulls/, pull());
    abort.abort(new Error("stopped"));
    await assert.rejects(first, /stopped/);
  });
});

describe("model pull: what came is checked", () => {
  it("a file of another digest never gets its name; with the right digest nothing is downloaded again", async () => {
    const error = await refused("MODEL_DIGEST_WRONG", /repeat with the right one/, pull({ sha256: digestOf(other) }));
    assert.deepEqual([error.data["found"], error.data["wanted"]], [sha256, digestOf(other)]);
    assert.deepEqual(files(), ["tiny.gguf.part", "tiny.gguf.part.etag"]);
    const { progress, sha256: found } = await pull({ sha256 });
    assert.deepEqual([found, progress], [sha256, []]);
  });

  it("a page about the file is refused at its first bytes", async () => {
    server.handle((_, response) => {
      response.writeHead(200, { "content-type": "text/html" }).end(`<!doctype html>${"x".repeat(1 << 20)}`);
      return true;
    });
    await refused("MODEL_PULL_FAILED", /text\/html.* is no GGUF file; give the URL of the file itself/, pull());
    assert.deepEqual(files(), []);
  });

  it("a file that the server itself has cut is refused, and removed", async () => {
    server.serve(bytes.subarray(0, bytes.length - 100), V1);
    const says = /^Check what came for \/.*tiny\.gguf failed: .*cut short.*; it is removed: repeat the command/;
    const error = await refused("MODEL_FILE_BROKEN", says, pull());
    assert.equal(error.data["path"], join(folder, "tiny.gguf"));
    assert.deepEqual(files(), []);
  });
});

describe("model pull: a full disk", () => {
  it("is noticed before the download; later it goes on", async () => {
    await pullHalf(V1);
    const freeBytes = (): Promise<number> => Promise.resolve(bytes.length - HALF - 1);
    const error = await refused("DISK_FULL", /free some space, then repeat/, pull({ watch: { freeBytes } }));
    assert.deepEqual([error.data["needed"], error.data["free"]], [bytes.length - HALF, bytes.length - HALF - 1]);
    assert.equal(readFileSync(join(folder, "tiny.gguf.part")).length, HALF);
    assert.equal((await pull()).sha256, sha256);
    assert.equal(server.asked.at(-1)?.range, `bytes=${HALF}-`);
  });

  it("is said in words where it shows while the file is written", async () => {
    // Linux has a device that is always full.
    assert.ok(process.platform !== "linux" || existsSync("/dev/full"));
    if (process.platform !== "linux") return;
    symlinkSync("/dev/full", join(folder, "tiny.gguf.part"));
    await refused("DISK_FULL", /the disk is full/, pull());
  });
});

describe("model pull: where a file may come from", () => {
  it("follows redirects, relative ones too", async () => {
    server.handle((request, response) => {
      if (request.url === "/there/tiny.gguf") return false;
      response.writeHead(302, { location: "/there/tiny.gguf" }).end();
      return true;
    });
    assert.equal((await pull()).sha256, sha256);
  });

  it("follows no redirect to plain http, to a user with a password, or without an end", async () => {
    for (const [location, says] of [
      ["http://example.org/tiny.gguf", /redirects to http:\/\/example\.org\/tiny\.gguf, and only https is taken/],
      [
        "https://user:secret@example.org/tiny.gguf",
        /redirects to https:\/\/example\.org\/tiny\.gguf, and it holds a user/,
      ],
      ["file:///etc/passwd", /only https is taken/],
      ["/tiny.gguf", /more than 8 times/],
    ] as const) {
      server.handle((_, response) => response.writeHead(302, { location }).end() !== null);
      const { message } = await refused("MODEL_PULL_FAILED", says, pull());
      assert.doesNotMatch(message, /secret/);
    }
    assert.deepEqual(files(), []);
  });

  it("takes no reference that is not https, holds a password, or names another folder", async () => {
    const never = new AbortController().signal;
    for (const [reference, says] of [
      ["smollm2", /that is no URL; give hf:/],
      ["http://example.org/model.gguf", /only https is taken/],
      ["ftp://example.org/model.gguf", /only https is taken/],
      ["https://user:secret@example.org/model.gguf", /it holds a user or password/],
      ["https://example.org/..%2f..%2fmodel.gguf", /letters, digits/],
      ["https://example.org/%2e%2e%2fmodel.gguf", /letters, digits/],
      ["https://example.org/.gguf", /letters, digits/],
      ["https://example.org/a%5cb.gguf", /letters, digits/],
      ["https://example.org/%zz.gguf", /invalid/],
      ["https://example.org/model.safetensors", /name of a \.gguf file/],
      ["https://example.org/model-00001-of-00003.gguf", /one part of several/],
      ["hf:owner", /give hf:OWNER\/MODEL/],
      ["hf:../../etc:Q4", /give hf:OWNER\/MODEL/],
      ["hf:owner/model/..%2fx.gguf", /letters, digits/],
    ] as const) {
      const { message } = await refused("USAGE", says, placeOf(reference, {}, never));
      assert.doesNotMatch(message, /secret/);
    }
  });
});

describe("model pull: Hugging Face", () => {
  const environment = (): Record<string, string> => ({ HF_ENDPOINT: `${server.url}/`, HF_TOKEN: "hf_key" });
  const place = (reference: string) => placeOf(reference, environment(), new AbortController().signal);

  it("names a file by its path and branch", async () => {
    const { url, file } = await place("hf:Qwen/Qwen3-8B-GGUF/sub folder/Qwen3-8B-Q4_K_M.gguf#v1.0");
    assert.equal(url, `${server.url}/Qwen/Qwen3-8B-GGUF/resolve/v1.0/sub%20folder/Qwen3-8B-Q4_K_M.gguf`);
    assert.equal(file, "Qwen3-8B-Q4_K_M.gguf");
    assert.equal(
      (await placeOf("hf:a/b/c.gguf", {}, new AbortController().signal)).url,
      "https://huggingface.co/a/b/resolve/main/c.gguf",
    );
  });

  it("looks a quantization up as llama.cpp does", async () => {
    const paths: string[] = [];
    server.handle((request, response) => {
      paths.push(request.url ?? "");
      const known = request.headers["user-agent"] === "llama-cpp";
      response.end(JSON.stringify(known ? { ggufFile: { rfilename: "Qwen3-8B-Q4_K_M.gguf" } } : {}));
      return true;
    });
    assert.equal((await place("hf:Qwen/Qwen3-8B-GGUF:Q4_K_M")).file, "Qwen3-8B-Q4_K_M.gguf");
    await place("hf:Qwen/Qwen3-8B-GGUF");
    assert.deepEqual(
      paths,
      ["Q4_K_M", "latest"].map((tag) => `/v2/Qwen/Qwen3-8B-GGUF/manifests/${tag}`),
    );
    server.handle((_, response) => response.writeHead(404).end() !== null);
    await refused("MODEL_PULL_FAILED", /hf:OWNER\/MODEL\/FILE\.gguf/, place("hf:Qwen/Qwen3-8B-GGUF:Q9"));
  });

  it("gives the key to the first server alone, and holds the file to the digest that this one states", async () => {
    const bulk = await startFileServer();
    try {
      const redirect = (stated: string) =>
        server.handle((_, response) => {
          response.writeHead(302, { location: `${bulk.url}/x`, "x-linked-etag": `"${stated}"` }).end();
          return true;
        });
      bulk.serve(bytes, V1);
      redirect(digestOf(other));
      await refused(
        "MODEL_DIGEST_WRONG",
        /is wrong/,
        pullModel(await place("hf:a/b/tiny.gguf"), folder, undefined, watch()),
      );
      redirect(sha256);
      const early = pullModel(await place("hf:a/b/tiny.gguf"), folder, digestOf(other), watch());
      await refused("MODEL_DIGEST_WRONG", /nothing was downloaded/, early);
      assert.equal((await pullModel(await place("hf:a/b/tiny.gguf"), folder, undefined, watch())).sha256, sha256);
      // Another repository has a file of the same name.
      redirect(digestOf(other));
      const same = pullModel(await place("hf:c/d/tiny.gguf"), folder, undefined, watch());
      await refused("MODEL_DIGEST_WRONG", /another file of that name/, same);
      redirect(sha256);
      assert.equal((await pullModel(await place("hf:a/b/tiny.gguf"), folder, undefined, watch())).isNew, false);
      assert.deepEqual([...new Set(server.asked.map((one) => one.authorization))], ["Bearer hf_key"]);
      assert.deepEqual([...new Set(bulk.asked.map((one) => one.authorization))], [undefined]);
    } finally {
      await bulk.close();
    }
  });
});
