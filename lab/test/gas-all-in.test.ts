import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import type { HardhatEthers } from "@nomicfoundation/hardhat-ethers/types";
import { network } from "hardhat";

import { askerOf, commitAll, decideAll, setAllInPrices, type Parts } from "../bench/gas/all-in.ts";
import { deployWorld, registerAgents, type World } from "../../test/support/contracts/world.ts";
import { assertAbove, assertClose } from "../../test/support/assertions.ts";

/** What two requests of one consumer may differ by. */
const NOISE = 100;

describe("the gas of a whole decision", () => {
  let world: World;
  before(async () => {
    // The plugin adds `ethers` to the connection.
    const { ethers } = (await network.create()) as unknown as { readonly ethers: HardhatEthers };
    world = await deployWorld(ethers);
    await registerAgents(world, 14);
    await setAllInPrices(world);
  });

  /** Parts of decisions after a first one, which writes slots that later ones change. */
  async function partsOf(appeals: 0 | 1, batch: number): Promise<Parts> {
    const askOne = await askerOf(world, 4, { appeals });
    await decideAll(world, askOne, 1, 1);
    return decideAll(world, askOne, batch, 1);
  }

  it("is that of a request and a commit, if its first decision is final", async () => {
    const { request, draw, commit, finalize, settle } = await partsOf(0, 1);
    assert.deepEqual({ draw, finalize, settle }, { draw: 0, finalize: 0, settle: 0 });
    assertAbove(request, 50_000);
    assertAbove(commit, 100_000);
  });

  it("has transactions that finalize and settle, if an appeal is allowed; less gas each for two of one transaction", async () => {
    const alone = await partsOf(1, 1);
    const both = await partsOf(1, 2);
    for (const part of ["finalize", "settle"] as const) {
      assertAbove(both[part], 20_000);
      assertAbove(alone[part], both[part] + 5_000);
    }
    assert.deepEqual([alone.draw, both.draw], [0, 0]);
  });

  it("counts any other transaction before the commit as a draw", async () => {
    const askOne = await askerOf(world, 4);
    await decideAll(world, askOne, 1, 1);
    const plain = await decideAll(world, askOne, 1, 1);
    let sent = 0n;
    const askAndSend = async () => {
      const asked = await askOne();
      const mint = await world.token.mint(world.deployer.address, 1n);
      sent = (await mint.wait()).gasUsed as bigint;
      return asked;
    };
    const parts = await decideAll(world, askAndSend, 1, 1);
    assert.equal(parts.draw, Number(sent));
    assertClose(parts.request, plain.request, NOISE);
    assert.deepEqual([parts.finalize, parts.settle], [0, 0]);
  });

  it("lets the calls of a batch share one header, and refuses questions that cannot", async () => {
    const askOne = await askerOf(world, 4);
    const { asked } = await commitAll(world, askOne, 3, 1);
    assert.equal(new Set(asked.map(({ seedBlock }) => seedBlock)).size, 1);
    await assert.rejects(commitAll(world, askOne, 26, 1), /26 questions have 2 seed blocks instead of one/);
  });
});
