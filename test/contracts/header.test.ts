import { expect } from "chai";
import { encodeRlp, hexlify } from "ethers";
import fc from "fast-check";
import hre from "hardhat";

import { encodeHeader, type RawBlock } from "../../agents/adapters/chain/header.ts";

const { ethers } = await hre.network.create();

/** A word, a byte, nothing, or a member as long as the longest that a chain may have. */
const member = fc.oneof(
  fc.uint8Array({ minLength: 32, maxLength: 32 }),
  fc.uint8Array({ minLength: 0, maxLength: 1 }),
  fc.uint8Array({ minLength: 50, maxLength: 60 }),
  fc.uint8Array({ minLength: 250, maxLength: 600 }),
);
const word = fc.uint8Array({ minLength: 32, maxLength: 32 });

describe("headers", () => {
  it("of the chain's blocks are read", async () => {
    const harness = await ethers.deployContract("HeaderHarness");
    const block = (await ethers.provider.send("eth_getBlockByNumber", ["0x1", false])) as RawBlock;
    expect(await harness.getFunction("prevRandao")(encodeHeader(block))).to.equal(block["mixHash"]);
    await ethers.provider.send("hardhat_mine", ["0x1"]);
    expect(await harness.getFunction("hashOf")(1)).to.equal(block["hash"]);
  });

  it("with any members are read as another encoder wrote them", async () => {
    const harness = await ethers.deployContract("HeaderHarness");
    const prevRandao = harness.getFunction("prevRandao");
    const property = fc.asyncProperty(
      fc.tuple(...Array.from({ length: 13 }, () => member)),
      word,
      fc.array(member, { maxLength: 10 }),
      async (before, mixHash, after) => {
        // A header has a bloom filter, so it is at least this long and its length takes two bytes.
        const members = [...before.slice(0, 6), new Uint8Array(256), ...before.slice(7), mixHash, ...after];
        const header = encodeRlp(members.map((bytes) => hexlify(bytes)));
        expect(await prevRandao(header)).to.equal(hexlify(mixHash));
      },
    );
    await fc.assert(property, { seed: 5, numRuns: 100 });
  });

  it("with a mixHash of any other length are refused", async () => {
    const harness = await ethers.deployContract("HeaderHarness");
    for (const length of [0, 1, 8, 31, 33, 55, 56, 256]) {
      const members = [
        ...Array<string>(12).fill("0x"),
        hexlify(new Uint8Array(256)),
        hexlify(new Uint8Array(length).fill(7)),
      ];
      await expect(harness.getFunction("prevRandao")(encodeRlp([...members, "0x0102"])))
        .to.be.revertedWithCustomError(harness, "MalformedHeader")
        .withArgs(ethers.encodeBytes32String("mixHash"), 3 + 12 + 259);
    }
  });
});
