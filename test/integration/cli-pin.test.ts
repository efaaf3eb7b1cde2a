import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { lstat, mkdir, readFile, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { base58btc } from "multiformats/bases/base58";
import { CID } from "multiformats/cid";
import { create as createMultihash } from "multiformats/hashes/digest";
import { cidOf } from "../../agents/adapters/ipfs/block.ts";
import { createHeliaContentStore } from "../../agents/adapters/ipfs/helia-content-store.ts";
import { LocalBlocks } from "../../agents/adapters/ipfs/local-blocks.ts";
import { createLibp2pNetwork } from "../../agents/adapters/libp2p/network.ts";
import { cidString } from "../../agents/core/encoding/cid.ts";
import { sha256 } from "../../agents/core/encoding/bytes.ts";
import { startPinningServer } from "../adapters/fixtures/pinning-server.ts";
import { signerKey } from "../adapters/network.suite.ts";
import { startPinWorld, transcriptAt, type PinnedTranscript, type PinWorld } from "./pin-world.ts";

const main = join(import.meta.dirname, "../../agents/cli/main.ts");
let world: PinWorld;
let decided: PinnedTranscript;
let cid: string;
let id: string;
let elsewhere: string;
let cli: PinWorld["cli"];
let far: PinWorld["far"];

before(async () => {
  world = await startPinWorld(1);
  decided = transcriptAt(world, 0);
  ({ cid, id } = decided);
  ({ elsewhere, cli, far } = world);
});

after(() => world.close());

interface Served {
  readonly url: string;
  readonly child: ChildProcess;
}

/** `conclave serve` in a process of its own. */
async function serve(folder: string, from: string): Promise<Served> {
  const args = [main, "serve", "--from", from, "--listen", "127.0.0.1:0", "--json"];
  const child = spawn(process.execPath, args, { cwd: folder, stdio: ["ignore", "pipe", "ignore"] });
  const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  return { url: (JSON.parse(line) as { url: string }).url, child };
}

async function kill({ child }: Served): Promise<void> {
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}

/** Asserts that the blocks of this folder prove the decision on the chain. */
async function assertProven(folder: string): Promise<void> {
  const { code, value } = await cli.json("verify", id, "--deployment", "deployment.json", "--store", folder);
  assert.deepEqual([code, value["ok"], value["root"]], [0, true, cid]);
}

describe("conclave pin and serve", () => {
  it("AV3: B gets a transcript that A pinned; after A is gone, a machine fetches it that knows the CID and one peer", async () => {
    const asked = await cli.json("pin", id, "--store", ".", "--into", "a", "--deployment", "deployment.json");
    assert.deepEqual([asked.code, asked.value["cid"], asked.value["blocks"]], [0, cid, decided.blocks.length]);
    const a = await serve(world.folder, "a");
    const b = await far.json("pin", cid, "--gateway", a.url, "--into", "b");
    assert.deepEqual([b.code, b.value["blocks"]], [0, decided.blocks.length]);
    await kill(a);
    await rm(join(world.folder, "a"), { recursive: true });
    assert.equal((await far.failure("pin", cid, "--gateway", a.url, "--into", "c")).code, "NETWORK_FAILED");

    const peer = await serve(elsewhere, "b");
    try {
      const c = await far.json("pin", cid, "--gateway", peer.url, "--into", "c");
      assert.deepEqual([c.code, c.value["blocks"]], [0, decided.blocks.length]);
    } finally {
      await kill(peer);
    }
    await assertProven(join(elsewhere, "c"));
    assert.deepEqual(await readdir(join(elsewhere, "c", "pins")), [cid]);
  });

  it("AV3: a machine fetches a transcript from an agent's node by bitswap", async () => {
    const network = await createLibp2pNetwork({ privateKey: signerKey(0) });
    const store = await createHeliaContentStore({ libp2p: network.libp2p, path: join(elsewhere, "helia") });
    try {
      for (const bytes of decided.blocks) await store.put(bytes);
      const [address] = network.libp2p.getMultiaddrs();
      const { code } = await far.json("pin", cid, "--peer", String(address), "--into", "d");
      assert.equal(code, 0);
    } finally {
      await store.close();
      await network.close();
    }
    await assertProven(join(elsewhere, "d"));
  });

  it("AV4: refuses to pin a root of another chain or oracle, and a root of no transcript", async () => {
    const cases = [
      ["--chain-id", "1"],
      ["--oracle", `0x${"ab".repeat(20)}`],
      ["--deployment", "other.json"],
    ];
    const file = JSON.parse(await readFile(join(world.folder, "deployment.json"), "utf8")) as object;
    await writeFile(join(world.folder, "other.json"), JSON.stringify({ ...file, chainId: 5 }));
    for (const flags of cases) {
      const { code, data } = await cli.failure("pin", cid, "--store", ".", "--into", "refused", ...flags);
      assert.deepEqual([code, data["cid"], data["chainId"]], ["TRANSCRIPT_FOREIGN", cid, 31_337], flags.join(" "));
    }
    const none = await cli.failure("pin", cidString(sha256(decided.blocks[1]!)), "--store", ".", "--into", "refused");
    assert.equal(none.code, "TRANSCRIPT_FOREIGN");
    const shown = await cli.run(["pin", cid, "--store", ".", "--chain-id", "1", "--into", "refused"]);
    assert.match(
      shown.stderr,
      /\nway out: give the CID or CAR of a transcript, and the chain and oracle that it is of/,
    );
    const ours = ["--deployment", "deployment.json"];
    assert.ok(!existsSync(join(world.folder, "refused")));
    assert.equal((await cli.json("pin", cid, "--store", ".", "--into", "here/ours", ...ours)).code, 0);
  });

  it("proves and reads a decision from a CAR alone, and refuses a spoilt one", async () => {
    const here = ["--deployment", "deployment.json"];
    assert.equal((await cli.json("transcript", id, "--car", "kept.car", "--store", ".", ...here)).code, 0);
    const { code, value } = await cli.json("verify", id, "--store", "kept.car", ...here);
    assert.deepEqual([code, value["ok"], value["root"]], [0, true, cid]);
    assert.match((await cli.run(["transcript", id, "--store", "kept.car", ...here])).stdout, /^audit +PROVEN/m);
    const many = await cli.json("verify", "--since", "0", "--store", "kept.car", ...here);
    assert.deepEqual([many.code, many.value["proven"]], [0, 1], JSON.stringify(many.value));
    const car = await readFile(join(world.folder, "kept.car"));
    await writeFile(join(world.folder, "cut.car"), car.subarray(0, -7));
    assert.equal((await cli.failure("verify", id, "--store", "cut.car", ...here)).code, "CAR_INVALID");
    await writeFile(join(world.folder, "bent.car"), Buffer.concat([car.subarray(0, -1), Buffer.of(car.at(-1)! ^ 1)]));
    const bent = await cli.json("verify", id, "--store", "bent.car", ...here);
    const failure = bent.value["failure"] as Readonly<Record<string, string>>;
    assert.deepEqual([bent.code, failure["kind"], failure["step"]], [1, "broken", "messages"]);
    assert.equal(failure["cid"], cidString(sha256(decided.blocks.at(-1) ?? assert.fail())));
    await writeFile(join(world.folder, "empty.car"), "");
    assert.equal((await cli.failure("verify", id, "--store", "empty.car", ...here)).code, "CAR_INVALID");
    const absent = await cli.run(["verify", id, "--store", "absent.car", ...here]);
    assert.match(absent.stderr, /^error CONFIG_INVALID: .*absent\.car.*\nway out: see `conclave verify --help`\n$/);
  });

  it("AV2: a transcript goes through a CAR unchanged; a spoilt, cut or foreign CAR is refused", async () => {
    const source = ["--store", ".", "--deployment", "deployment.json"];
    assert.equal((await cli.json("transcript", id, "--car", "one.car", ...source)).code, 0);
    const { code, value } = await far.json("pin", "--car", join(world.folder, "one.car"), "--into", "e");
    assert.deepEqual([code, value["cid"], value["blocks"]], [0, cid, decided.blocks.length]);
    await assertProven(join(elsewhere, "e"));

    const car = await readFile(join(world.folder, "one.car"));
    for (const [bytes, kind] of [
      [car.subarray(0, -7), "truncated"],
      [Buffer.concat([car.subarray(0, -1), Buffer.of(car.at(-1)! ^ 1)]), "hash"],
    ] as const) {
      await writeFile(join(elsewhere, "bad.car"), bytes);
      const failed = await far.failure("pin", "--car", "bad.car", "--into", "f");
      assert.deepEqual([failed.code, failed.data["kind"]], ["CAR_INVALID", kind]);
    }
    assert.deepEqual(await readdir(join(elsewhere, "f", "pins")), []);
    const foreign = await far.failure("pin", "--car", join(world.folder, "one.car"), "--chain-id", "1", "--into", "f");
    assert.equal(foreign.code, "TRANSCRIPT_FOREIGN");
    assert.equal((await far.failure("pin", "--car", "absent.car")).code, "CONFIG_INVALID");
    const absent = cidString(sha256(Uint8Array.of(7)));
    assert.equal((await far.failure("pin", absent, "--store", "f")).code, "BLOCK_MISSING");
    assert.ok(!existsSync(join(elsewhere, "conclave-pins")));
    const nowhere = await far.failure("pin", "--car", join(world.folder, "one.car"), "--into", "bad.car");
    assert.deepEqual([nowhere.code, nowhere.data["path"]], ["CONFIG_INVALID", join(elsewhere, "bad.car")]);
    assert.ok(!existsSync(join(world.folder, "one.car.part")));
  });

  it("AV2: a CAR does not overwrite a link, folder or pipe, and a picture is not printed as JSON", async () => {
    const source = ["--store", ".", "--deployment", "deployment.json"];
    await symlink("deployment.json", join(world.folder, "link.car"));
    await mkdir(join(world.folder, "folder.car"));
    await symlink("deployment.json", join(world.folder, "other.car.part"));
    const deployed = await readFile(join(world.folder, "deployment.json"), "utf8");
    for (const name of ["link.car", "folder.car", "other.car", "/dev/null"]) {
      const { code, message, data } = await cli.failure("transcript", id, "--car", name, ...source);
      assert.deepEqual([code, data["option"]], ["CONFIG_INVALID", "--car"], name);
      assert.match(message, /it is there, and no regular file; correct --car/);
    }
    assert.ok((await lstat(join(world.folder, "link.car"))).isSymbolicLink());
    assert.equal(await readFile(join(world.folder, "deployment.json"), "utf8"), deployed);
    for (const form of ["--html", "--dot", "--svg"])
      assert.equal((await cli.failure("transcript", id, form, ...source)).code, "USAGE", form);
  });

  it("AV8: a pinning service is asked after the transcript is kept here, with the peers as origins; its pins are listed and removed; nothing shows the key", async () => {
    const key = "a-key-that-nobody-may-see";
    const server = await startPinningServer(key);
    const { endpoint } = server;
    const services = {
      filed: { endpoint, apiKeyFile: "secret/key" },
      named: { endpoint, apiKeyEnv: "PINNING_KEY" },
      absent: { endpoint, apiKeyFile: "secret/none" },
    };
    await mkdir(join(world.folder, "secret"));
    await writeFile(join(world.folder, "secret", "key"), `${key}\n`);
    await writeFile(join(world.folder, "pinning.json"), JSON.stringify(services));
    await writeFile(join(world.folder, "bad.json"), JSON.stringify({ x: { endpoint: `http://${key}@example.org` } }));
    const network = await createLibp2pNetwork({ privateKey: signerKey(1) });
    const store = await createHeliaContentStore({ libp2p: network.libp2p, path: join(elsewhere, "helia-origin") });
    try {
      for (const bytes of decided.blocks) await store.put(bytes);
      const peer = String(network.libp2p.getMultiaddrs()[0]);
      const asked = ["pin", id, "--peer", peer, "--deployment", "deployment.json", "--into", "g", "--service", "filed"];
      const { code, value } = await cli.json(...asked);
      assert.deepEqual([code, value["cid"]], [0, cid], JSON.stringify(value));
      assert.equal((value["service"] as Record<string, unknown>)["id"], "request/1");
      const name = `conclave 31337 ${id}`;
      assert.deepEqual(server.pins[0]?.pin, { cid, name, origins: [peer] });

      // The transcript is kept here already, so pinning it again needs no source and asks for nothing.
      const environment = { PINNING_KEY: key };
      const again = await cli.run(["pin", cid, "--into", "g", "--service", "named"], { environment });
      assert.deepEqual([again.code, server.pins.length], [0, 1], again.stderr);
      assert.match(again.stdout, /pinned by +named/);

      const listed = await cli.json("pinning", "list", "filed");
      const [pin] = listed.value["pins"] as readonly Record<string, unknown>[];
      assert.deepEqual([pin?.["cid"], pin?.["state"], pin?.["name"]], [cid, "pinned", name]);
      assert.equal((await cli.json("pinning", "remove", "filed", cid)).value["removed"], 1);
      assert.equal((await cli.json("pinning", "remove", "filed", cid)).value["removed"], 0);

      server.states = ["failed"];
      const failed = await cli.failure("pin", cid, "--into", "g", "--service", "filed");
      assert.deepEqual([failed.code, failed.data["kind"]], ["PINNING_FAILED", "failed"]);
      assert.deepEqual(await readdir(join(world.folder, "g", "pins")), [cid]);
      for (const [service, ...more] of [["unknown"], ["absent"], ["named"], ["x", "--services", "none.json"]] as const)
        assert.equal((await cli.failure("pinning", "list", service, ...more)).code, "CONFIG_MISSING", service);
      assert.equal((await cli.failure("pinning", "list", "x", "--services", "bad.json")).code, "CONFIG_INVALID");
    } finally {
      await store.close();
      await network.close();
      await server.close();
    }
    assert.ok(!cli.printed.join("").includes(key));
  });

  it("AV3: a block that its source broke or lost is blamed on the source, not on a signer", async () => {
    const victim = decided.blocks[3] ?? assert.fail();
    const away = cidString(sha256(victim));
    const place = join(world.folder, "spoilt");
    const blocks = new LocalBlocks(join(place, "blocks"));
    await blocks.open();
    for (const bytes of decided.blocks) await blocks.put(cidOf(sha256(bytes)), bytes);
    const ours = ["--deployment", "deployment.json", "--store", "spoilt", "--into", "mended"];
    await blocks.put(cidOf(sha256(victim)), victim.with(9, 0));
    const broken = await cli.failure("pin", id, ...ours);
    assert.deepEqual([broken.code, broken.data["cid"]], ["BLOCK_INVALID", away]);
    await blocks.delete(cidOf(sha256(victim)));
    const missing = await cli.failure("pin", id, ...ours);
    assert.deepEqual([missing.code, missing.data["cid"]], ["BLOCK_MISSING", away]);
    assert.deepEqual(await readdir(join(world.folder, "mended", "pins")), []);
    const mended = ["--store", ".", "--deployment", "deployment.json", "--into", "mended"];
    assert.equal((await cli.json("pin", id, ...mended)).code, 0);
  });

  it("a folder that cannot be written is named, with the system's words", async () => {
    const path = join(world.folder, "full");
    await mkdir(join(path, "blocks"), { recursive: true });
    const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".split("");
    // Nothing can be read or written in these shards.
    for (const shard of letters.flatMap((first) => letters.map((second) => first + second)))
      await symlink("nowhere", join(path, "blocks", shard));
    for (const what of [id, cid]) {
      const full = await cli.failure("pin", what, "--store", ".", "--deployment", "deployment.json", "--into", "full");
      assert.deepEqual([full.code, full.data["path"]], ["CONFIG_INVALID", path], full.message);
      assert.match(full.message, /^Write to .*full failed: .*E[A-Z]+: .*; make room or correct --into, then repeat/);
    }
    // /proc is the system's and takes no folder: Node's recursive mkdir would try for ever.
    const none = await cli.failure("pin", cid, "--store", ".", "--into", "/proc/conclave/pins");
    assert.deepEqual([none.code, none.data["path"]], ["CONFIG_INVALID", "/proc/conclave/pins"]);
  });

  it("AV2: a wrong CID is refused by what is wrong: hash function, codec, version, length, spelling", async () => {
    const ours = cidOf(decided.certificate.decision.transcript);
    const { digest, code } = ours.multihash;
    const cases = [
      [
        CID.createV1(ours.code, createMultihash(0x13, new Uint8Array(64))),
        /a CID with hash function sha2-512, where a tr/,
      ],
      [CID.createV1(ours.code, createMultihash(0, digest)), /a CID with hash function identity, where/],
      [CID.createV1(ours.code, createMultihash(0x99, digest)), /a CID with hash function 0x99, where/],
      [CID.createV1(0x55, ours.multihash), /a CID with codec raw, where/],
      [CID.createV0(ours.multihash as Parameters<typeof CID.createV0>[0]), /a CID with version 0, codec dag-pb, where/],
      [
        CID.createV1(ours.code, createMultihash(code, digest.subarray(0, 20))),
        /a CID with a digest of 20 bytes, where/,
      ],
      [ours.toString(base58btc), new RegExp(`write this CID as ${cid}$`)],
      ["bafynonsense", /give a CID, a request's number, or --car FILE$/],
    ] as const;
    for (const [what, words] of cases) {
      const { code: refused, message, data } = await far.failure("pin", String(what), "--store", world.folder);
      assert.deepEqual([refused, data["option"]], ["USAGE", "[what]"], message);
      assert.match(message, words);
    }
    const removed = await far.failure("unpin", String(cases[3][0]));
    assert.match(removed.message, /version 1, codec dag-cbor, hash function sha2-256 and a digest of 32 bytes$/);
  });

  it("asks for missing options, and names option, value and way out of wrong ones", async () => {
    for (const args of [[], ["bafynonsense"], [cid], ["-1"], [cid, "--wait", "30d"]])
      assert.equal((await far.failure("pin", ...args)).code, "USAGE", args.join(" "));
    for (const [option, value] of [
      ["--chain-id", "x"],
      ["--oracle", "0x12"],
      ["--into", ""],
      ["--store", ""],
      ["--peer", "/ip4/127.0.0.1"],
    ] as const) {
      const source = option === "--store" || option === "--peer" ? [] : ["--store", world.folder];
      const { code, data } = await far.failure("pin", cid, ...source, option, value);
      assert.deepEqual([code, data["option"], data["value"]], ["USAGE", option, value], option);
    }
    for (const [command, option] of [
      [["pin", cid], "--kubo"],
      [["pin", cid], "--gateway"],
      [["unpin", cid], "--from-kubo"],
    ] as const) {
      const { code, message, data } = await far.failure(...command, option, "ftp://user:secret@host");
      assert.deepEqual([code, data], ["USAGE", { option }]);
      assert.doesNotMatch(message, /secret/);
    }
    await writeFile(
      join(elsewhere, "services.json"),
      JSON.stringify({ one: { endpoint: "https://a.example", apiKeyEnv: "K" } }),
    );
    for (const service of ["constructor", "two"]) {
      const { code, message, data } = await far.failure("pinning", "list", service, "--services", "services.json");
      assert.deepEqual([code, data["service"]], ["CONFIG_MISSING", service]);
      assert.match(message, /the file only names one/);
    }
    for (const listen of ["8080", "127.0.0.1:99999"]) {
      const { code, data } = await far.failure("serve", "--listen", listen);
      assert.deepEqual([code, data], ["USAGE", { option: "--listen", value: listen }]);
    }
  });

  it("serve and gc refuse a folder without pins, name it, and leave it as it is", async () => {
    await mkdir(join(elsewhere, "plain", "blocks"), { recursive: true });
    await writeFile(join(elsewhere, "file"), "");
    for (const from of ["typo", "file", "plain"])
      for (const command of ["serve", "gc"]) {
        const { code, message, data } = await far.failure(command, "--from", from);
        assert.deepEqual([code, data], ["CONFIG_INVALID", { path: join(elsewhere, from), option: "--from" }]);
        assert.match(message, /nothing is kept there; correct --from/);
      }
    assert.equal((await far.failure("gc", "--from", "")).code, "USAGE");
    assert.equal(existsSync(join(elsewhere, "typo")), false);
    assert.deepEqual(await readdir(join(elsewhere, "plain")), ["blocks"]);
  });
});
