import assert from "node:assert/strict";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { digestGguf } from "../../agents/adapters/models/gguf.ts";
import { runCli } from "../../agents/cli/run-cli.ts";
import { startFileServer, type FileServer } from "../adapters/fixtures/file-server.ts";
import { tinyGguf, writeTinyGguf } from "../adapters/fixtures/tiny-gguf.ts";

const small = join(import.meta.dirname, "../../models/conclave-small.gguf");
const folder = mkdtempSync(join(tmpdir(), "conclave-model-"));
let server: FileServer;

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function conclave(...words: readonly string[]): Promise<Ran> {
  let [out, err] = ["", ""];
  const code = await runCli(words, {
    stdout: (text) => void (out += text),
    stderr: (text) => void (err += text),
    environment: {
      CONCLAVE_MODELS: folder,
      CONCLAVE_PASSWORD: "correct horse battery staple",
      CONCLAVE_OPERATOR_PASSWORD: "another battery",
    },
    cwd: folder,
    signal: new AbortController().signal,
  });
  return { code, out, err };
}

const model = (...words: readonly string[]): Promise<Ran> => conclave("model", ...words);

async function json(...words: readonly string[]): Promise<Readonly<Record<string, unknown>>> {
  const { code, out, err } = await model(...words, "--json");
  assert.equal(code, 0, out + err);
  return JSON.parse(out) as Readonly<Record<string, unknown>>;
}

before(async () => {
  server = await startFileServer();
  server.serve(tinyGguf({ context: 256, template: "{% if enable_thinking %}<think>{% endif %}" }), '"one"');
});
after(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

describe("conclave model", () => {
  it("pulls a file into the folder of models, and says what to write into the config", async () => {
    const path = join(folder, "thinker.gguf");
    const { model: config, ...pulled } = await json("pull", `${server.url}/thinker.gguf`);
    const sha256 = await digestGguf(path);
    assert.deepEqual(pulled, { path, bytes: readFileSync(path).length, sha256, isNew: true, warning: null });
    assert.deepEqual(config, { kind: "llama", path, sha256 });
    const again = await model("pull", `${server.url}/thinker.gguf`);
    assert.match(again.out, /nothing was downloaded[^]*"model": \{"kind":"llama"[^]*conclave model check/);
  });

  it("warns of a pulled file without a chat template, which no agent takes", async () => {
    const base = await startFileServer();
    base.serve(tinyGguf({ context: 256 }), null);
    try {
      const dir = join(folder, "bases");
      const says = /no chat template .*, and agents refuse it; pull its instruct or chat version/;
      assert.match(String((await json("pull", `${base.url}/bare.gguf`, "--dir", dir))["warning"]), says);
      const { code, out } = await model("pull", `${base.url}/bare.gguf`, "--dir", dir);
      assert.equal(code, 0);
      assert.match(out, says);
      assert.doesNotMatch(out, /conclave model check/);
    } finally {
      await base.close();
    }
  });

  it("lists what is there: whole, broken and unfinished files", async () => {
    copyFileSync(small, join(folder, "conclave-small.gguf"));
    writeTinyGguf(join(folder, "base.gguf"), { context: 128 });
    writeFileSync(join(folder, "broken.gguf"), "<html>");
    writeFileSync(join(folder, "big.gguf.part"), "GGUF");
    const { models, unfinished } = (await json("list")) as {
      readonly models: readonly Readonly<Record<string, unknown>>[];
      readonly unfinished: readonly unknown[];
    };
    assert.deepEqual(
      models.map(({ name, architecture, contextLength, hasTemplate, thinks, error }) => {
        const refused = (error as { readonly code: string } | undefined)?.code;
        return [name, architecture, contextLength, hasTemplate, thinks, refused];
      }),
      [
        ["base", "llama", 128, false, false, undefined],
        ["broken", undefined, undefined, undefined, undefined, "MODEL_FILE_BROKEN"],
        ["conclave-small", "llama", 1024, false, false, undefined],
        ["thinker", "llama", 256, true, true, undefined],
      ],
    );
    assert.equal(models[2]?.["sha256"], await digestGguf(small));
    assert.deepEqual(unfinished, [{ path: join(folder, "big.gguf.part"), bytes: 4 }]);
    const { out } = await model("list");
    assert.match(out, /thinker +\S+ MB +llama +256 +yes +yes +[0-9a-f]{64}/);
    assert.match(out, /broken .*MODEL_FILE_BROKEN: it is not a GGUF file/);
    assert.match(out, /unfinished: .*big\.gguf\.part.*pull it again/);
    assert.match((await model("list", "--dir", "nothing-here")).out, /no models in .*nothing-here/);
  });

  it("lists a link that leads nowhere as a missing file", async () => {
    const dir = join(folder, "links");
    mkdirSync(dir);
    for (const file of ["gone.gguf", "gone.gguf.part"]) symlinkSync(join(dir, "nowhere"), join(dir, file));
    const { models, unfinished } = (await json("list", "--dir", dir)) as {
      readonly models: readonly { readonly name: string; readonly error: { readonly code: string } }[];
      readonly unfinished: readonly unknown[];
    };
    assert.deepEqual(
      models.map(({ name, error }) => [name, error.code]),
      [["gone", "MODEL_FILE_MISSING"]],
    );
    assert.deepEqual(unfinished, [{ path: join(dir, "gone.gguf.part"), bytes: 0 }]);
  });

  it("checks a model by its name: a question of each kind, speed and memory", async () => {
    const {
      answers,
      memoryBytes,
      memoryBound,
      tokensPerSecond,
      model: descriptor,
    } = (await json("check", "conclave-small")) as {
      readonly answers: readonly { readonly kind: string; readonly answer: string | null }[];
      readonly memoryBytes: number | null;
      readonly memoryBound: number;
      readonly tokensPerSecond: number;
      readonly model: string;
    };
    assert.deepEqual(
      answers.map(({ kind, answer }) => [kind, answer !== null]),
      ["boolean", "choice", "number", "text", "policies"].map((kind) => [kind, true]),
    );
    assert.match(descriptor, /^conclave-small@/);
    assert.ok(tokensPerSecond > 0);
    if (process.platform === "linux")
      assert.ok(memoryBytes! > 20e6 && memoryBytes! <= memoryBound, `${memoryBytes} of ${memoryBound}`);
    assert.match(
      (await model("check", small)).out,
      /at most, after 5 answers; its file, context and engine may take [^]*5 of 5 kinds are valid[^]*boolean +\S+ +yes/,
    );
  });

  it("refuses what cannot be used, with a code and a way out", async () => {
    const cut = join(folder, "cut.gguf");
    writeFileSync(cut, readFileSync(small).subarray(0, 1_000_000));
    const empty = await startFileServer();
    empty.handle((_, response) => response.writeHead(404).end() !== null);
    // A lock that cannot be opened stands for a folder that this account may not write.
    const closed = join(folder, "closed");
    mkdirSync(join(closed, "lock"), { recursive: true });
    const refused: readonly (readonly [words: readonly string[], code: number, says: RegExp])[] = [
      [["check", "base"], 1, /MODEL_TEMPLATE_MISSING: .*instruct or chat/],
      [["check", cut], 1, /MODEL_FILE_BROKEN: .*cut short/],
      [["check", "absent"], 1, /MODEL_FILE_MISSING: .*conclave model list/],
      [["check", "../absent"], 1, /MODEL_FILE_MISSING/],
      [["check", "conclave-small", "--sha256", "00".repeat(32)], 1, /MODEL_DIGEST_WRONG: .*0000; .*correct --sha256\n/],
      [["check", "conclave-small", "--sha256", "12"], 2, /USAGE: Read --sha256: "12"/],
      [["pull", "http://example.org/x.gguf"], 2, /USAGE: Read <reference>: .*only https/],
      [
        ["pull", `${empty.url}/x.gguf`],
        1,
        /MODEL_PULL_FAILED: .*404; correct the reference\nway out: do what the message says; if a part/,
      ],
      [["pull", "hf:a/b/c.gguf", "--dir", ""], 2, /USAGE: Read --dir/],
      [
        ["pull", `${server.url}/x.gguf`, "--dir", closed],
        2,
        /CONFIG_INVALID: Write into .*closed failed: .* with --dir/,
      ],
      [["list", "--dir", cut], 2, /CONFIG_INVALID: Read the folder of models .*cut.gguf failed: ENOTDIR.* with --dir/],
    ];
    for (const [words, code, says] of refused) {
      const ran = await model(...words);
      assert.deepEqual([ran.code, ran.out], [code, ""], words.join(" "));
      assert.match(ran.err, says);
    }
    await empty.close();
  });

  it("agent init takes a model of the list by its name", async () => {
    const address = `0x${"12".repeat(20)}`;
    const chain = ["--rpc", "http://127.0.0.1:1", "--chain-id", "1", "--oracle", address, "--registry", address];
    const init = ["agent", "init", "--dir", "agent", ...chain, "--model-path"];
    const absent = await conclave(...init, "absent");
    assert.deepEqual([absent.code, existsSync(join(folder, "agent"))], [1, false]);
    assert.match(absent.err, /MODEL_FILE_MISSING: .*conclave model pull/);
    const base = await conclave(...init, "base");
    assert.deepEqual([base.code, existsSync(join(folder, "agent"))], [1, false]);
    assert.match(base.err, /MODEL_TEMPLATE_MISSING: .*--model-path .*base\.gguf is unusable: it has no chat template/);
    const { code, err } = await conclave(...init, "conclave-small");
    assert.equal(code, 0, err);
    const config = JSON.parse(readFileSync(join(folder, "agent/conclave.json"), "utf8")) as {
      readonly model: { readonly path: string };
    };
    assert.equal(config.model.path, join(folder, "conclave-small.gguf"));
  });
});
