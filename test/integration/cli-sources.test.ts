import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { cidString } from "../../agents/core/encoding/codec.ts";
import { sha256 } from "../../agents/core/encoding/bytes.ts";
import { documentBlock } from "../../agents/core/sources/named.ts";
import { startCliWorld, type CliWorld } from "./cli-world.ts";

const RULES = "Export rules, version 3. Exports above 500 need a licence. Gifts are exempt — ask “Zoll”.\n";
const names = ["a", "b", "c", "d"];
const question = ["--question", "Does an export of 720 need a licence?"] as const;
const asking = (...more: readonly string[]): readonly string[] =>
  ["request", "--dir", "a", "--kind", "boolean"].concat(more.includes("--question") ? [] : question, more);

let world: CliWorld;

describe("documents from the command line", () => {
  before(async () => {
    world = await startCliWorld();
    for (const name of names) await world.enlist(name, "100");
    await writeFile(join(world.folder, "rules.txt"), RULES);
  });
  after(() => world.close());

  it("SG1, SG3: a source that is not a document, or that nobody would read, is refused before anything is paid", async () => {
    await writeFile(join(world.folder, "latin1.txt"), Buffer.from([0x47, 0xfc, 0x6e]));
    await writeFile(join(world.folder, "long.txt"), "x".repeat(15_361));
    const wrong = [
      [asking("--protocol", "council", "--source", "rules.txt"), /council reads no sources/, "TERMS_INVALID"],
      [asking("--protocol", "escalating", "--source", "nowhere.txt"), /can be read/],
      [asking("--protocol", "escalating", "--source", "latin1.txt"), /UTF-8 text of at most 15360 bytes/],
      [asking("--protocol", "escalating", "--source", "long.txt"), /UTF-8 text of at most 15360 bytes/],
      [
        asking("--protocol", "escalating", "--source", "rules.txt", "rules.txt"),
        /names a source twice/,
        "TERMS_INVALID",
      ],
      [asking("--protocol", "escalating", "--question", "Why?\nsource: bafyx"), /is a CIDv1/, "TERMS_INVALID"],
    ] as const;
    for (const [args, message, expected = "USAGE"] of wrong) {
      const { code, message: said } = await world.failure(...args);
      assert.deepEqual([code, message.test(said)], [expected, true], said);
    }
    const nobody = await world.failure(...asking("--protocol", "escalating", "--source", "rules.txt"));
    assert.equal(nobody.code, "NETWORK_FAILED");
    assert.match(nobody.message, /^Hand out documents: /);
  });

  it("SG5, SG4: agents fetch the asker's file by content, answer from it, and the transcript holds the passage", async () => {
    const stop = new AbortController();
    const agents = names.map((name) =>
      world.run(["agent", "run", "--dir", name, "--json", "--log-level", "error"], { signal: stop.signal }),
    );
    try {
      await Promise.race([endpoints(), Promise.all(agents).then((ended) => assert.fail(JSON.stringify(ended)))]);
      const asked = await world.json(...asking("--protocol", "escalating", "--source", "rules.txt"));
      assert.deepEqual([asked.code, asked.value["answer"]], [0, "yes"], JSON.stringify(asked.value));
      const cid = cidString(sha256(documentBlock(RULES) as Uint8Array));
      assert.ok(String(asked.value["question"]).endsWith(`\nsource: ${cid}`));
      const proof = await world.json("verify", "1", "--deployment", "deployment.json");
      // The transcript holds GATHER and CLOSE of 4 seats, and the council's four phases.
      assert.deepEqual([proof.value["ok"], proof.value["messages"]], [true, 2 * 4 + 4 * 4]);
    } finally {
      stop.abort(new Error("test is over"));
      await Promise.all(agents);
    }
  });
});

async function endpoints(): Promise<void> {
  for (const name of names) {
    const status = async (): Promise<unknown> => (await world.json("agent", "status", "--dir", name)).value["endpoint"];
    while (JSON.stringify(await status()) === "[]") await sleep(200);
  }
}
