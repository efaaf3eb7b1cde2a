import assert from "node:assert/strict";
import { scryptSync } from "node:crypto";
import { EventEmitter } from "node:events";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { format, inspect } from "node:util";

import { publicKeyFromRaw, privateKeyFromRaw } from "@libp2p/crypto/keys";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { encryptKeystoreJsonSync, scrypt, Wallet } from "ethers";
import { recoverAddress } from "viem";

import { keysFromPrivateKey, type Keys } from "../../agents/adapters/keystore/keys.ts";
import { createKeystore, openKeystore } from "../../agents/adapters/keystore/keystore.ts";
import { readPassword, type PasswordHost } from "../../agents/adapters/keystore/password.ts";
import { ConclaveError, type ErrorCode } from "../../agents/core/errors.ts";
import type { Digest } from "../../agents/core/types.ts";
import { signerSuite } from "./keystore.suite.ts";

/** Private key of the well-known test account 0 of Hardhat and Anvil. */
const KNOWN_KEY = "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
const known = (): Keys => keysFromPrivateKey(Buffer.from(KNOWN_KEY, "hex"));
const fast = { scryptN: 1 << 12 };

// The strong keystores of ethers take seconds in JavaScript. Its weak one, made synchronously, still is its own work.
scrypt.register(async (password, salt, N, r, p, length) =>
  scryptSync(password, salt, length, { N, r, p, maxmem: 256 * N * r }),
);

const fails = (code: ErrorCode, text: RegExp) => (error: unknown) => {
  assert.ok(error instanceof ConclaveError, String(error));
  assert.equal(error.code, code);
  assert.match(error.message, text);
  return true;
};

signerSuite("keys", known);

describe("keystore", () => {
  let directory: string;
  before(async () => void (directory = await mkdtemp(join(tmpdir(), "conclave-keystore-"))));
  after(async () => await rm(directory, { recursive: true }));

  it("creates a file that only its owner reads and that opens with the password", async () => {
    const path = join(directory, "new", "agent.json");
    const keys = await createKeystore(path, "correct horse", fast);
    assert.equal((await stat(path)).mode & 0o777, 0o600);
    assert.deepEqual(await readdir(join(directory, "new")), ["agent.json"]);
    const opened = await openKeystore(path, "correct horse");
    assert.equal(opened.address, keys.address);
    assert.deepEqual(opened.libp2pPrivateKey(), keys.libp2pPrivateKey());
    const text = await readFile(path, "utf8");
    assert.ok(!text.includes(Buffer.from(keys.libp2pPrivateKey()).toString("hex")));
    assert.equal(JSON.parse(text).address, keys.address.slice(2));
  });

  it("costs at least 100 ms and 128 MiB for each guess unless told otherwise", async () => {
    const path = join(directory, "strong.json");
    await createKeystore(path, "x");
    const { n, r, p } = JSON.parse(await readFile(path, "utf8")).crypto.kdfparams;
    assert.deepEqual({ n, r, p }, { n: 131072, r: 8, p: 1 });
    const start = performance.now();
    await openKeystore(path, "x");
    assert.ok(performance.now() - start > 100);
  });

  it("exchanges files with ethers, also with its other scrypt parameters", async () => {
    const ours = join(directory, "ours.json");
    const keys = await createKeystore(ours, "pässword", fast);
    const wallet = await Wallet.fromEncryptedJson(await readFile(ours, "utf8"), "pässword");
    assert.equal(wallet.address.toLowerCase(), keys.address);
    const theirs = join(directory, "theirs.json");
    const json = await new Wallet(`0x${KNOWN_KEY}`).encrypt("secret");
    const account = { address: known().address, privateKey: `0x${KNOWN_KEY}` };
    const weak = encryptKeystoreJsonSync(account, "secret", { scrypt: { N: 1 << 11, r: 4, p: 2 } });
    for (const content of [json, weak]) {
      await writeFile(theirs, content);
      assert.equal((await openKeystore(theirs, "secret")).address, known().address);
    }
  });

  it("never overwrites, not even when two create at once", async () => {
    const path = join(directory, "once.json");
    const results = await Promise.allSettled([createKeystore(path, "a", fast), createKeystore(path, "b", fast)]);
    assert.deepEqual(results.map(({ status }) => status).toSorted(), ["fulfilled", "rejected"]);
    const content = await readFile(path, "utf8");
    await assert.rejects(createKeystore(path, "c", fast), fails("KEYSTORE_EXISTS", /once\.json/u));
    assert.equal(await readFile(path, "utf8"), content);
    assert.deepEqual(
      (await readdir(directory)).filter((name) => name.endsWith(".tmp")),
      [],
    );
  });

  it("gives every failure a code and shows no secret in it", async () => {
    const path = join(directory, "known.json");
    await createKeystore(path, "hunter2", fast);
    await assert.rejects(
      openKeystore(join(directory, "absent.json"), "x"),
      fails("KEYSTORE_MISSING", /absent\.json.*conclave agent init/u),
    );
    await assert.rejects(openKeystore(path, "hunter3"), (error) => {
      assert.ok(!inspect(error, { depth: 9 }).includes("hunter"));
      return fails("KEYSTORE_PASSWORD_WRONG", /known\.json/u)(error);
    });
  });

  it("refuses a file that is not a keystore or asks for absurd work", async () => {
    const path = join(directory, "bad.json");
    await createKeystore(path, "x", fast);
    const good = JSON.parse(await readFile(path, "utf8"));
    const change = (part: object): string => JSON.stringify({ ...good, crypto: { ...good.crypto, ...part } });
    const cases: [string, RegExp][] = [
      ["", /not JSON/u],
      ["null", /invalid|expected/iu],
      [JSON.stringify({ ...good, version: 4 }), /version/u],
      [change({ kdfparams: { ...good.crypto.kdfparams, n: 1 << 30 } }), /kdfparams.*memory/u],
      [change({ kdfparams: { ...good.crypto.kdfparams, n: 1000 } }), /power of two/u],
      [change({ ciphertext: "00" }), /ciphertext/u],
      [change({ kdf: "pbkdf2" }), /kdf/u],
      ["x".repeat(70_000), /more than/u],
    ];
    for (const [content, text] of cases) {
      await rm(path);
      await writeFile(path, content);
      await assert.rejects(openKeystore(path, "x"), fails("CONFIG_INVALID", text));
    }
    await writeFile(path, change({ mac: "00".repeat(32) }));
    await assert.rejects(openKeystore(path, "x"), fails("KEYSTORE_PASSWORD_WRONG", /damaged/u));
  });
});

describe("keys", () => {
  it("is one key for Ethereum, libp2p and gas", async () => {
    const keys = known();
    assert.equal(keys.address, "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266");
    const account = keys.viemAccount();
    assert.equal(account.address.toLowerCase(), keys.address);
    assert.equal(keys.viemAccount(), account);
    const libp2p = privateKeyFromRaw(keys.libp2pPrivateKey());
    assert.equal(libp2p.type, "secp256k1");
    const compressed = secp256k1.Point.fromBytes(Buffer.concat([Uint8Array.of(4), keys.publicKey])).toBytes(true);
    assert.ok(libp2p.publicKey.equals(publicKeyFromRaw(compressed)));
  });

  it("signs as ethers does", async () => {
    const digest = `0x${"5a".repeat(32)}` as Digest;
    assert.equal(known().sign(digest), new Wallet(`0x${KNOWN_KEY}`).signingKey.sign(digest).serialized);
    assert.equal(
      (await recoverAddress({ hash: digest, signature: known().sign(digest) })).toLowerCase(),
      known().address,
    );
  });

  it("cannot be printed, serialised, spread or listed", () => {
    const keys = known();
    keys.viemAccount();
    const decimal = BigInt(`0x${KNOWN_KEY}`).toString();
    const bytes = Buffer.from(KNOWN_KEY, "hex").join(", ");
    const shown = [
      inspect(keys, { depth: Infinity, showHidden: true, customInspect: false, maxArrayLength: null }),
      inspect(keys),
      inspect({ ...keys }, { depth: Infinity, showHidden: true, customInspect: false, maxArrayLength: null }),
      inspect(keys.viemAccount(), { depth: Infinity, showHidden: true }),
      JSON.stringify(keys),
      JSON.stringify({ keys, copy: { ...keys } }),
      JSON.stringify(keys.viemAccount(), (_, value) => (typeof value === "bigint" ? String(value) : value)),
      format("%s %o %O %j", keys, keys, keys, keys),
      ...Reflect.ownKeys(keys).map((key) => inspect(Reflect.get(keys, key))),
    ];
    for (const text of shown) {
      assert.ok(!text.toLowerCase().includes(KNOWN_KEY) && !text.includes(decimal) && !text.includes(bytes), text);
    }
    assert.match(shown[1]!, /hidden/u);
    assert.equal(JSON.stringify(keys), JSON.stringify({ address: keys.address }));
  });

  it("refuses bytes that are not a key, without showing them", () => {
    for (const bytes of [new Uint8Array(32), new Uint8Array(32).fill(0xff), new Uint8Array(31).fill(1)]) {
      assert.throws(() => keysFromPrivateKey(bytes), { name: "RangeError", message: /not 32 bytes in \[1, n\)/u });
    }
  });
});

describe("password", () => {
  /** A terminal whose user types the given chunks. */
  const terminal = (...chunks: string[]): PasswordHost & { readonly shown: string[]; readonly raw: boolean[] } => {
    const events = new EventEmitter();
    const shown: string[] = [];
    const raw: boolean[] = [];
    const input = Object.assign(events, {
      isTTY: true,
      setRawMode: (mode: boolean) => void raw.push(mode),
      resume: () => void setImmediate(() => chunks.forEach((chunk) => events.emit("data", Buffer.from(chunk)))),
      pause: () => {},
    });
    const output = { write: (text: string) => shown.push(text) > 0 };
    return { environment: {}, input: input as never, output, shown, raw };
  };
  const silent = (environment: Record<string, string> = {}): PasswordHost => ({
    ...terminal(),
    environment,
    input: { isTTY: false } as never,
  });

  const place = { option: "--password-file", of: "the keystore" };

  it("takes the file first, then the variable, then the terminal", async () => {
    const directory = await mkdtemp(join(tmpdir(), "conclave-password-"));
    try {
      const file = join(directory, "password");
      await writeFile(file, " with spaces \r\n");
      assert.equal(await readPassword({ ...place, file, env: "P" }, silent({ P: "other" })), " with spaces ");
      assert.equal(
        await readPassword({ ...place, env: "P", prompt: "Password" }, silent({ P: "from env" })),
        "from env",
      );
      for (const [content, text] of [
        ["\n", /empty/u],
        ["x".repeat(2000), /more than/u],
      ] as const) {
        await writeFile(file, content);
        await assert.rejects(readPassword({ ...place, file }, silent()), fails("KEYSTORE_PASSWORD_MISSING", text));
      }
      await assert.rejects(
        readPassword({ ...place, file: join(directory, "no") }, silent()),
        fails("KEYSTORE_PASSWORD_MISSING", /no cannot be read \(ENOENT\)/u),
      );
    } finally {
      await rm(directory, { recursive: true });
    }
  });

  it("asks on the terminal without showing the typed password", async () => {
    const host = terminal("sec", "rex\u007ft", "\r");
    assert.equal(await readPassword({ ...place, env: "P", prompt: "Password" }, host), "secret");
    assert.deepEqual(host.shown, ["Password: ", "\n"]);
    assert.deepEqual(host.raw, [true, false]);
    assert.equal(await readPassword({ ...place, prompt: "Password" }, terminal("wrong\u0015right\n")), "right");
  });

  it("names the ways to give a password that is missing, also after Ctrl-C", async () => {
    const ways =
      /password of the keystore: .*; give it by --password-file FILE, in the variable CONCLAVE_PASSWORD, or type it on a terminal/u;
    const sources = { ...place, env: "CONCLAVE_PASSWORD", prompt: "Password" };
    await assert.rejects(
      readPassword(sources, silent({ CONCLAVE_PASSWORD: "" })),
      fails("KEYSTORE_PASSWORD_MISSING", ways),
    );
    const host = terminal("abc\u0003");
    await assert.rejects(readPassword(sources, host), fails("KEYSTORE_PASSWORD_MISSING", ways));
    assert.deepEqual(host.raw, [true, false]);
    await assert.rejects(readPassword(sources, terminal("\r")), fails("KEYSTORE_PASSWORD_MISSING", ways));
  });
});
