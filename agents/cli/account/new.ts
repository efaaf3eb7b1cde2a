import { dirname, resolve } from "node:path";
import type { CommandSpec } from "../shared/command.ts";
import { makeFolderOf } from "../shared/folder.ts";
import { agentPlaces, newKeystore, newPassword, passwordFlag } from "../shared/keys.ts";
import { rows } from "../shared/output.ts";

interface Options {
  readonly keystore: string;
  readonly passwordFile?: string;
}

export const accountNew: CommandSpec<Options> = {
  example: "conclave account new --keystore ./keystore.json",
  options: [
    {
      flags: "--keystore <file>",
      description: "file to make; an existing one is never replaced",
      default: "keystore.json",
    },
    passwordFlag,
  ],
  run: async ({ options, host }) => {
    const path = resolve(host.cwd, options.keystore);
    await makeFolderOf("--keystore", dirname(path), 0o700);
    const password = await newPassword(agentPlaces(options.passwordFile, host), host);
    const { address } = await newKeystore(path, password, host);
    return {
      json: { address, keystore: path },
      text: rows([
        ["account", address],
        ["keystore", path],
        ["next", "send it coins for gas, and tokens for fees; on a local chain: conclave account fund ACCOUNT"],
      ]),
    };
  },
};
