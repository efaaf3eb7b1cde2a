import { randomBytes, randomUUID, scrypt } from "node:crypto";
import { link, open, readFile, unlink } from "node:fs/promises";
import { dirname } from "node:path";

import { secp256k1 } from "@noble/curves/secp256k1.js";
import * as Keystore from "ox/Keystore";
import { z } from "zod";

import { ConclaveError } from "../../core/errors.ts";
import { parseJson } from "../json.ts";
import { makeFolder } from "../make-folder.ts";
import { keysFromPrivateKey, type Keys } from "./keys.ts";

/** 128 MiB and a third of a second for each guess, as in ethers; geth's own files (twice that) open as well. */
const SCRYPT_N = 1 << 17;
const SCRYPT_R = 8;
/** A file may not ask for more memory than this to be opened. */
const MAX_SCRYPT_BYTES = 1 << 30;
const MAX_FILE_BYTES = 1 << 16;

const hex = (bytes: number): z.ZodType<string> => z.string().regex(new RegExp(`^[0-9a-fA-F]{${bytes * 2}}$`, "u"));

/** Ethereum keystore v3 (Web3 Secret Storage), scrypt only. */
const fileSchema = z.preprocess(
  lowerCaseCrypto,
  z.object({
    version: z.literal(3),
    id: z.string().max(100),
    crypto: z.object({
      cipher: z.literal("aes-128-ctr"),
      ciphertext: hex(32),
      cipherparams: z.object({ iv: hex(16) }),
      kdf: z.literal("scrypt"),
      kdfparams: z
        .object({
          dklen: z.literal(32),
          n: z
            .int()
            .min(2)
            .refine((n) => Number.isInteger(Math.log2(n)), "not a power of two"),
          r: z.int().min(1).max(64),
          p: z.int().min(1).max(16),
          salt: z.string().regex(/^([0-9a-fA-F]{2}){8,64}$/u),
        })
        .refine(({ n, r }) => 128 * n * r <= MAX_SCRYPT_BYTES, "needs too much memory"),
      mac: hex(32),
    }),
  }),
);

/**
 * Stores a key encrypted, mode 0600, whole or not at all; never replaces a file (KEYSTORE_EXISTS). Makes a new key if
 * none is given; clears the one that is.
 */
export async function createKeystore(
  path: string,
  password: string,
  options: { readonly scryptN?: number; readonly privateKey?: Uint8Array } = {},
): Promise<Keys> {
  const privateKey = options.privateKey ?? secp256k1.utils.randomSecretKey();
  const keys = keysFromPrivateKey(privateKey);
  const kdfparams = {
    dklen: 32,
    n: options.scryptN ?? SCRYPT_N,
    r: SCRYPT_R,
    p: 1,
    salt: randomBytes(32).toString("hex"),
  };
  const key = await deriveKey(password, kdfparams);
  const encrypted = Keystore.encrypt(privateKey, key, {
    kdf: "scrypt",
    kdfparams,
    iv: Uint8Array.from(randomBytes(16)),
  });
  privateKey.fill(0);
  const content = { address: keys.address.slice(2), ...encrypted };
  await writeNew(path, `${JSON.stringify(content, null, 2)}\n`);
  return keys;
}

/** Throws KEYSTORE_MISSING, KEYSTORE_PASSWORD_WRONG, or CONFIG_INVALID for a file that is no keystore. */
export async function openKeystore(path: string, password: string): Promise<Keys> {
  const { crypto, id, version } = await readKeystore(path);
  const key = await deriveKey(password, crypto.kdfparams);
  let privateKey: Uint8Array;
  try {
    privateKey = Keystore.decrypt({ crypto, id, version }, key, { as: "Bytes" });
  } catch {
    // The MAC covers password and ciphertext alike, so a damaged file looks the same; the cause could show neither better.
    throw new ConclaveError(
      "KEYSTORE_PASSWORD_WRONG",
      `Open keystore ${path} failed: wrong password (or a damaged file)`,
      { path },
    );
  }
  try {
    return keysFromPrivateKey(privateKey);
  } catch {
    throw invalid(path, "the decrypted bytes are not a secp256k1 key");
  } finally {
    privateKey.fill(0);
  }
}

async function readKeystore(path: string): Promise<z.infer<typeof fileSchema>> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "ENOENT") throw cause;
    throw new ConclaveError(
      "KEYSTORE_MISSING",
      `Open keystore ${path} failed: no such file; correct the path, or make one with "conclave account new", for an agent with "conclave agent init"`,
      { path },
      cause,
    );
  }
  if (text.length > MAX_FILE_BYTES) throw invalid(path, `it has more than ${MAX_FILE_BYTES} bytes`);
  const value = parseJson(text);
  if (value === undefined) throw invalid(path, "it is not JSON");
  const parsed = fileSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw invalid(path, `${issue?.path.join(".") ?? ""}: ${issue?.message ?? "invalid"}`);
}

/** The specification says `crypto`, ethers and some others write `Crypto`. */
function lowerCaseCrypto(value: unknown): unknown {
  if (typeof value !== "object" || value === null || !("Crypto" in value)) return value;
  const { Crypto: crypto, ...rest } = value;
  return { crypto, ...rest };
}

/** Native scrypt: ox's asynchronous one ignores r and p of the file. NFKC as ethers does, so that keyboards do not matter. */
async function deriveKey(
  password: string,
  { n, r, p, salt }: { readonly n: number; readonly r: number; readonly p: number; readonly salt: string },
): Promise<`0x${string}`> {
  const options = { N: n, r, p, maxmem: 128 * r * (n + p + 2) };
  return await new Promise((resolve, reject) => {
    scrypt(password.normalize("NFKC"), Buffer.from(salt, "hex"), 32, options, (error, key) =>
      error === null ? resolve(`0x${key.toString("hex")}`) : reject(error),
    );
  });
}

/** The name appears only once the content is on disk, and never over another file. */
async function writeNew(path: string, content: string): Promise<void> {
  const directory = dirname(path);
  await makeFolder(directory, 0o700);
  const temporary = `${path}.${randomUUID()}.tmp`;
  const file = await open(temporary, "wx", 0o600);
  try {
    await file.writeFile(content);
    await file.sync();
    await link(temporary, path);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "EEXIST") throw cause;
    throw new ConclaveError(
      "KEYSTORE_EXISTS",
      `Create keystore ${path} failed: the file exists and is never overwritten; choose another path or move it away`,
      { path },
      cause,
    );
  } finally {
    await file.close();
    await unlink(temporary);
  }
  const handle = await open(directory, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function invalid(path: string, reason: string): ConclaveError {
  return new ConclaveError(
    "CONFIG_INVALID",
    `Read keystore ${path} failed: ${reason}; a keystore v3 file with scrypt is needed`,
    { keystore: path },
  );
}
