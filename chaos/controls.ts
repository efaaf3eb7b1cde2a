// Negative controls: a safety of the product is switched off in the agents of a run, and the examiner must find out.
import { pathToFileURL } from "node:url";
import { join } from "node:path";

export interface Planted {
  readonly file: string;
  /** Texts that occur exactly once in the file, and what replaces them. */
  readonly edits: readonly (readonly [find: string, replace: string])[];
}

export const CONTROLS = {
  /**
   * A journal says that records are durable long before they are written. A killed process keeps what it wrote to a
   * file, so that leaving out fsync alone would show only when the machine itself dies.
   */
  fsync: {
    file: "agents/adapters/journal/file-journal.ts",
    edits: [
      [
        "        await writeAll(file, bytes, end);\n        await file.datasync();\n        end += bytes.length;",
        "        const at = end; end += bytes.length; setTimeout(() => void writeAll(file, bytes, at).catch(() => undefined), 6_000);",
      ],
    ],
  },
  /** Two processes may serve one folder. */
  locks: {
    file: "agents/adapters/lock.ts",
    edits: [['    database.exec("BEGIN EXCLUSIVE");\n', ""]],
  },
  /** An agent whose nonce somebody else used waits for its own transaction, which never comes. */
  nonce: {
    file: "agents/adapters/chain/transactions.ts",
    edits: [
      ['return submission === "nonce-used" ? null : flight;', "return flight;"],
      ["if (seen !== null && seen.mined > flight.nonce && displaced) return null;", ""],
      ["  receiptTimeoutMs: 180_000,\n", "  receiptTimeoutMs: 3_600_000,\n"],
    ],
  },
} as const satisfies Readonly<Record<string, Planted>>;

export type Control = keyof typeof CONTROLS;

/** Options of Node that plant the control in a process. */
export function controlOptions(control: Control): readonly string[] {
  const url = pathToFileURL(join(import.meta.dirname, "plant.ts"));
  url.searchParams.set("control", control);
  return ["--import", url.href];
}
