import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { describe, it } from "node:test";
import { commands as product } from "../../agents/cli/commands.ts";
import { runCli } from "../../agents/cli/run-cli.ts";
import type { CliHost } from "../../agents/cli/shared/command.ts";
import { dev } from "../../devnet/dev/entry.ts";
import { assertSameMembers } from "../support/assertions.ts";
import { never } from "./model.suite.ts";

async function scriptOf(): Promise<string> {
  let said = "";
  const stdout = (text: string): void => void (said += text);
  const host: CliHost = { stdout, stderr: assert.fail, environment: {}, cwd: ".", signal: never() };
  assert.equal(await runCli(["completion"], host, [dev, ...product]), 0);
  return said;
}

/** What bash offers after these words, of which the last is not finished. */
function offered(script: string, words: readonly string[]): readonly string[] {
  const ask = '\nCOMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _conclave; echo "${COMPREPLY[*]}"';
  const said = execFileSync("bash", ["-uc", script + ask, "bash", "conclave", ...words], { encoding: "utf8" });
  return said.split(/\s+/).filter((word) => word !== "");
}

describe("conclave completion", () => {
  it("lets bash complete every command by its words, and leaves all else to files", async () => {
    const script = await scriptOf();
    const wordOf = ({ name }: { readonly name: string }): string => name.split(" ")[0] ?? "";
    assertSameMembers(offered(script, [""]), [dev, ...product].map(wordOf));
    for (const one of product)
      if ("commands" in one) assertSameMembers(offered(script, [one.name, ""]), one.commands.map(wordOf));
    assert.deepEqual(offered(script, ["acc"]), ["account"]);
    assert.deepEqual(offered(script, ["agent", "ro"]), ["rotate"]);
    for (const words of [["xyz"], ["verify", ""], ["agent", "run", ""]]) assert.deepEqual(offered(script, words), []);
  });
});
