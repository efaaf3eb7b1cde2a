import { readFile } from "node:fs/promises";
import { parseEnv } from "node:util";
import type { LocalAccount } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { openKeystore } from "../../agents/adapters/keystore/keystore.ts";
import { readPassword } from "../../agents/adapters/keystore/password.ts";
import { keystoreAddress } from "../../agents/cli/shared/keys.ts";
import { isHex } from "../../agents/core/encoding/bytes.ts";
import type { Address } from "../../agents/core/types.ts";
import { usage } from "./price-options.ts";

export const KEY_VARIABLE = "CONCLAVE_DEPLOYER_KEY";
export const PASSWORD_VARIABLE = "CONCLAVE_DEPLOYER_PASSWORD";

/** The flags that name the deployer's key. */
export interface AccountFlags {
  readonly keystore?: string;
  readonly passwordFile?: string;
  readonly keyFile?: string;
}

/** Opens the deployer's key. Throws USAGE, and what the keystore throws. */
export async function readAccount(flags: AccountFlags): Promise<LocalAccount> {
  if (flags.keystore !== undefined) {
    const prompt = `Password of ${flags.keystore}`;
    const [option, of] = ["--password-file", "the deployer's keystore"];
    const password = await readPassword({ file: flags.passwordFile, env: PASSWORD_VARIABLE, option, of, prompt });
    return (await openKeystore(flags.keystore, password)).viemAccount();
  }
  const variables = flags.keyFile === undefined ? process.env : parseEnv(await readKeyFile(flags.keyFile));
  const key = variables[KEY_VARIABLE]?.toLowerCase();
  if (key === undefined)
    throw usage("--keystore", `or --key-file, or the environment variable ${KEY_VARIABLE}, is needed`);
  if (!isHex(key, 32)) throw usage(KEY_VARIABLE, "is 0x and 64 hexadecimal digits (not shown here)");
  try {
    return privateKeyToAccount(key);
  } catch {
    // Its error quotes the key.
    throw usage(
      KEY_VARIABLE,
      "is no private key of secp256k1: it is 0 or above the order of the curve (not shown here)",
    );
  }
}

/** The deployer, from whose nonce the addresses follow; a keystore states its address without its password. */
export async function addressFrom(flags: AccountFlags): Promise<{ readonly address: Address }> {
  if (flags.keystore !== undefined) return { address: await keystoreAddress(flags.keystore) };
  return readAccount(flags) as Promise<LocalAccount & { readonly address: Address }>;
}

async function readKeyFile(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch {
    throw usage("--key-file", `names ${path}, which cannot be read`);
  }
}
