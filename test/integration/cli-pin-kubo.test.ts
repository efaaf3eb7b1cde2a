import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";
import { cidString } from "../../agents/core/encoding/cid.ts";
import { sha256 } from "../../agents/core/encoding/bytes.ts";
import { startKuboLoopback, type KuboLoopback } from "../adapters/kubo-loopback.ts";
import { fromHere as source, startPinWorld, transcriptAt, type PinWorld } from "./pin-world.ts";

let world: PinWorld;
let cli: PinWorld["cli"];
let blocks: readonly Uint8Array[];
let cid: string;
let id: string;
let kubo: KuboLoopback;

before(async () => {
  world = await startPinWorld(1);
  ({ cli } = world);
  ({ blocks, cid, id } = transcriptAt(world, 0));
  kubo = await startKuboLoopback();
});

beforeEach(async () => {
  await kubo.close();
  kubo = await startKuboLoopback();
});

after(async () => {
  await kubo.close();
  await world.close();
});

function assertKept(): void {
  for (const bytes of blocks) assert.equal(kubo.holds(bytes), true);
  assert.match(kubo.pins.get(cid) ?? "", /^conclave operator:\d+$/);
}

describe("AV3: conclave pin --into-kubo", () => {
  it("keeps a verified request; a repetition stores and pins nothing twice", async () => {
    const { code, value } = await cli.json("pin", id, "--into-kubo", kubo.url, ...source);
    assert.deepEqual([code, value], [0, { cid, blocks: blocks.length, place: "the Kubo node" }]);
    assertKept();
    const name = kubo.pins.get(cid);
    kubo.requests.length = 0;
    assert.equal((await cli.json("pin", id, "--into-kubo", kubo.url, ...source)).code, 0);
    assert.equal(kubo.pins.get(cid), name);
    assert.deepEqual(
      kubo.requests.filter((line) => /block\/put|pin\/add/.test(line)),
      [],
    );
  });

  it("keeps a CID from another Kubo node, without a chain, and a CAR", async () => {
    const other = await startKuboLoopback();
    for (const bytes of blocks) other.keep(bytes);
    const { far } = world;
    assert.equal((await far.json("pin", cid, "--kubo", other.url, "--into-kubo", kubo.url)).code, 0);
    assertKept();
    await other.close();

    await kubo.close();
    kubo = await startKuboLoopback();
    assert.equal((await cli.json("transcript", id, "--car", "one.car", ...source)).code, 0);
    const imported = await far.json("pin", "--car", join(world.folder, "one.car"), "--into-kubo", kubo.url);
    assert.deepEqual([imported.code, imported.value["blocks"]], [0, blocks.length]);
    assertKept();
  });

  it("leaves the pin of another program as it is, and says so when it is asked to end it", async () => {
    for (const bytes of blocks) kubo.keep(bytes);
    kubo.pins.set(cid, "somebody's");
    assert.equal((await cli.json("pin", id, "--into-kubo", kubo.url, ...source)).code, 0);
    assert.equal(kubo.pins.get(cid), "somebody's");
    assert.equal((await cli.failure("unpin", cid, "--from-kubo", kubo.url)).code, "PIN_UNKNOWN");
  });

  it("pins nothing that is refused, and names an absent node, a wrong URL, and a node whose disk broke a block", async () => {
    const foreign = await cli.failure("pin", cid, "--store", ".", "--chain-id", "1", "--into-kubo", kubo.url);
    assert.equal(foreign.code, "TRANSCRIPT_FOREIGN");
    assert.equal(kubo.pins.size, 0);
    const none = await cli.failure("pin", id, "--into-kubo", "nowhere", ...source);
    assert.deepEqual([none.code, none.data["option"]], ["USAGE", "--into-kubo"]);
    assert.match(none.message, /^Read --into-kubo: its value \(not shown\) is invalid; give the http or https URL/);

    const victim = blocks[2] ?? assert.fail();
    kubo.blocks.set(cidString(sha256(victim)), Uint8Array.of(0xa0));
    kubo.pins.set(cidString(sha256(victim)), "");
    // The fault is the disk's, not that of a signed message.
    for (const what of [cid, id]) {
      const broken = await cli.failure("pin", what, "--into-kubo", kubo.url, ...source);
      assert.deepEqual([broken.code, broken.data["cid"]], ["STORE_INVALID", cidString(sha256(victim))], what);
      assert.match(broken.message, /ipfs repo verify --drop/);
    }
    assert.equal(kubo.pins.has(cid), false);

    const { url } = kubo;
    await kubo.close();
    const away = await cli.failure("pin", id, "--into-kubo", url, ...source);
    assert.equal(away.code, "NETWORK_FAILED");
    assert.ok(away.message.includes(`Check the Kubo node at ${url}`), away.message);
    kubo = await startKuboLoopback();
  });
});
