import { protocols } from "../../core/protocols/index.ts";
import { meaningOf } from "../shared/protocol-words.ts";
import type { CommandSpec } from "../shared/command.ts";
import { grid, rows } from "../shared/output.ts";

export const listProtocols: CommandSpec<object> = {
  example: "conclave protocols --json",
  options: [],
  run: () => {
    const listed = protocols.map(({ id, code, version, title, assurance }) => ({
      id,
      code,
      version,
      title,
      assurance,
    }));
    const lines = listed.map(({ id, code, version, assurance, title }) => [
      id,
      String(code),
      String(version),
      assurance,
      title,
    ]);
    const text = `${grid(["id", "code", "version", "assurance", "title"], lines)}\n\n${rows(Object.entries(meaningOf))}`;
    return Promise.resolve({ json: { protocols: listed }, text });
  },
};
