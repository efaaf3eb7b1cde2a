import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { commands as product, type CommandGroup } from "../../agents/cli/commands.ts";
import type { CommandEntry } from "../../agents/cli/shared/command.ts";
import { dev } from "../../devnet/dev/entry.ts";
import { assertAtLeast } from "../support/assertions.ts";

const root = join(import.meta.dirname, "../..");
const commands = [...product, dev];
const pages = [
  "README.md",
  "CONTRIBUTING.md",
  ...globSync(["docs/**/*.md", "{lab,models,sim,devnet}/*.md"], { cwd: root }),
];
const read = (page: string): string => readFileSync(join(root, page), "utf8");

/** Options that every command takes. */
const ALWAYS = ["--json", "--help"];

/** The command that words call, and its full name. */
interface Called {
  readonly name: string;
  readonly entry: CommandEntry;
}

const wordOf = ({ name }: CommandEntry | CommandGroup): string => name.split(" ")[0] as string;

/** Every command by its full name, such as "agent run". */
const byName = new Map(
  commands.flatMap((one) =>
    "commands" in one
      ? one.commands.map((entry): readonly [string, CommandEntry] => [`${one.name} ${wordOf(entry)}`, entry])
      : [[wordOf(one), one] as const],
  ),
);

/** The command that words call; the group's own where its second word is an argument; null without one. */
function calledBy([first = "", second = ""]: readonly string[]): Called | null {
  const group = commands.find((one): one is CommandGroup => "commands" in one && one.name === first);
  const fallback = group?.commands.find(({ isDefault }) => isDefault);
  const isArgument = !/^[a-z]/.test(second);
  const name = group === undefined ? first : `${first} ${isArgument && fallback ? wordOf(fallback) : second}`;
  const entry = byName.get(name);
  return entry === undefined ? null : { name, entry };
}

/** Command lines of `conclave` on a page: lines of code blocks, and quoted texts. */
function linesOf(page: string): readonly string[] {
  const text = read(page);
  const blocks = [...text.matchAll(/^```[^\n]*\n([^]*?)^```/gm)].map(([, block]) => block as string);
  const quoted = [...text.replaceAll(/^```[^]*?^```/gm, "").matchAll(/`([^`]+)`/g)].map(([, quote]) => quote as string);
  return [...blocks.flatMap((block) => block.replaceAll(/\\\n\s*/g, "").split("\n")), ...quoted]
    .flatMap((line) => line.replace(/\s#\s.*$/, "").split("&&"))
    .map((line) => line.replaceAll(/\s+/g, " ").trim())
    .filter((line) => /^(?:npx )?conclave [a-z]/.test(line) && !/^conclave \w+:/.test(line));
}

/** What a command line of the docs has that the program has not; null without a fault. */
async function faultOf(line: string): Promise<string | null> {
  const words = line
    .replace(/^(?:npx )?conclave /, "")
    .replaceAll(/"[^"]*"/g, "TEXT")
    .split(" ");
  if (words[0] === "help" || (words.length > 1 && words[1] === "--help")) return null;
  const called = calledBy(words.filter((word) => !word.startsWith("-")));
  if (called === null) return "no such command";
  const known = (await called.entry.load()).options.flatMap(({ flags }) => flags.match(/--[a-z][a-z0-9-]*/g) ?? []);
  const unknown = words.filter((word) => /^--[a-z]/.test(word) && ![...ALWAYS, ...known].includes(word));
  return unknown.length === 0 ? null : `${called.name} has no ${unknown.join(", ")}`;
}

/** Commands that a page lists in the first column of its tables, by their full names. */
function listedOn(page: string): readonly string[] {
  const text = read(page);
  const table = text.slice(text.indexOf("\n## Commands\n"));
  return [...table.matchAll(/^\| (`[^|]+`) \|/gm)].flatMap(([, cell]) => {
    const names = [...(cell as string).matchAll(/`([^`]+)`/g)].map(([, name]) => (name as string).split(" "));
    const group = commands.find((one) => "commands" in one && one.name === names[0]?.[0])?.name;
    return names.map(
      (words, at) =>
        calledBy(at === 0 || group === undefined || words[0] === group ? words : [group, ...words])?.name ??
        words.join(" "),
    );
  });
}

describe("commands in the docs", () => {
  it("exist, with the options that the docs give them", async () => {
    const lines = pages.flatMap((page) => linesOf(page).map((line) => ({ page, line })));
    assertAtLeast(lines.length, 100);
    const faults = await Promise.all(lines.map(async ({ page, line }) => ({ page, line, fault: await faultOf(line) })));
    assert.deepEqual(
      faults.filter(({ fault }) => fault !== null),
      [],
    );
  });

  it("would not pass unnoticed if there were no such command or option", async () => {
    assert.equal(await faultOf("conclave agent fly --dir X"), "no such command");
    assert.equal(await faultOf("npx conclave verify 3 --quickly"), "verify has no --quickly");
    assert.equal(await faultOf("conclave agent 3"), null);
  });

  it("are all listed for the reader who needs them", () => {
    const listed = ["docs/asking.md", "docs/operating.md", "docs/auditing.md"].flatMap(listedOn);
    assert.deepEqual(
      [...new Set(listed)].toSorted(),
      [...byName.keys()].filter((name) => name !== dev.name).toSorted(),
    );
  });
});
