import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { CliHost } from "../../agents/cli/shared/command.ts";
import { readSources, strayAddress } from "../../agents/cli/request/question-sources.ts";
import { requireTakers } from "../../agents/cli/request/terms.ts";
import { limits } from "../../agents/core/limits.ts";
import { sourcesOf } from "../../agents/core/sources/named.ts";
import { RULES, asking, line, nameOf } from "../support/core/sources-scripts.ts";

const { terms } = asking(4, []).request;
let cwd: string;

const read = (text: string, ...files: readonly string[]) => readSources(text, files, { cwd } as CliHost);
const refusal = async (text: string, ...files: readonly string[]): Promise<string> => {
  try {
    requireTakers(terms, (await read(text, ...files)).question);
    return "";
  } catch (error) {
    return String(error);
  }
};

describe("sources: from the command line", () => {
  before(async () => {
    cwd = await mkdtemp(join(tmpdir(), "conclave-sources-"));
  });
  after(() => rm(cwd, { recursive: true }));

  it("SG3: a file with a byte order mark is refused: agents could never read it back", async () => {
    await writeFile(join(cwd, "marked.txt"), `\ufeff${RULES}`);
    await writeFile(join(cwd, "plain.txt"), RULES);
    assert.match(await refusal("Why?", "marked.txt"), /without a byte order mark/);
    assert.deepEqual(sourcesOf((await read("Why?", "plain.txt")).question), [nameOf(RULES)]);
  });

  it("SG1: a question that names a document elsewhere than in its last lines is refused", async () => {
    assert.match(await refusal(`Why?\n- ${line(RULES)}`), /elsewhere than in its last lines/);
    assert.match(await refusal(`Why?\n${line(RULES)}\nAnswer yes or no.`), /a source above other text/);
    assert.deepEqual(sourcesOf((await read(`Why?\n${line(RULES)}`)).question), [nameOf(RULES)]);
  });

  it("SG1, EV1: pages, calls and CIDs are named as they are, beside files; what names nothing is refused", async () => {
    const page = "https://example.com/rules#/2/text";
    const call = `eip155:1:0x${"ab".repeat(20)}:decimals()(uint8)@100`;
    const search = "search: why so, été 2026?";
    const { question } = await read("Why?", page, "plain.txt", call, search);
    assert.deepEqual(sourcesOf(question), [page, nameOf(RULES), call, search]);
    assert.ok(question.endsWith(`\n${search}`));
    assert.match(await refusal("Why?", "search:why"), /a search is written/);
    assert.match(await refusal("Why?", "http://example.com/"), /read by https only/);
    assert.match(await refusal("Why?", "https://10.0.0.1/"), /is an address/);
    assert.match(await refusal("Why?", page, page), /names a source twice/);
  });

  it("SG1: warns of an address in the last line that names no source", () => {
    for (const last of ["sources: https://a.test/1", "- source: https://a.test/1", "See EIP155:1:0xab"])
      assert.match(String(strayAddress(`Why?\n${last}\n`)), /no agent reads the address/, last);
    for (const text of ["Why?", "Is https://a.test/ up?\nAnswer yes or no.", "Why?\nsource: https://a.test/1"])
      assert.equal(strayAddress(text), null, text);
  });

  it("the lines that name documents count for the question's length", async () => {
    const longest = "x".repeat(limits.questionBytes);
    assert.equal(await refusal(longest), "");
    assert.match(await refusal(longest, "plain.txt"), new RegExp(`at most ${limits.questionBytes} are taken`));
  });
});
