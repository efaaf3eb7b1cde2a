import { expect } from "chai";
import { TypedDataEncoder, id } from "ethers";
import hre from "hardhat";

import { ask, decide } from "../support/contracts/course.ts";
import { commitEvidence } from "../support/contracts/equivocation.ts";
import { hashRequest, messageTypes, testKey } from "../support/contracts/typed-data.ts";
import { deployWorld, minStake, registerAgents, registration, treasury } from "../support/contracts/world.ts";

const { ethers, networkHelpers } = await hre.network.create();
const { loadFixture } = networkHelpers;

const slot = {
  committeeHash: id("committee"),
  attempt: 0,
  protocol: 1,
  phase: 11,
  round: 3,
  seat: 5,
};

/** Makes an agent with stake in both pots, and two payloads that its key signed for one slot. */
async function equivocator() {
  const world = await deployWorld(ethers);
  const [, reporter] = await ethers.getSigners();
  const key = testKey("equivocator");
  await world.registry.register(registration(world, world.deployer.address, key, 3n * minStake));
  await registerAgents(world, 6);
  const { request } = await decide(world, await ask(world, { fee: 0n }));
  const requestHash = hashRequest(request);
  await world.registry.startUnbonding(1, minStake);
  const sign = (payloadDigest: string): string =>
    key.sign(TypedDataEncoder.hash(world.domain, messageTypes, { ...slot, requestHash, payloadDigest })).serialized;
  const [first, second] = [id("yes"), id("no")];
  const proof = [request, slot, first, sign(first), second, sign(second)] as const;
  return { world, reporter: reporter!, proof, requestHash };
}

describe("Slasher", () => {
  it("announces the proof, the reporter and every amount", async () => {
    const { world, reporter, proof, requestHash } = await loadFixture(equivocator);
    const { slasher, registry, token } = world;
    await commitEvidence(slasher.connect(reporter), [proof[3], proof[5]]);
    await expect(slasher.connect(reporter).submitMessages(...proof))
      .to.emit(slasher, "EquivocationProven")
      .withArgs(1, proof[0].id, reporter.address, 0, 0, requestHash)
      .and.to.emit(registry, "StakeSlashed")
      .withArgs(1, reporter.address, minStake / 5n, minStake / 10n, minStake / 20n);
    expect(await slasher.isConsumed(1, proof[0].id, 0)).to.equal(true);
    expect(await slasher.isConsumed(1, proof[0].id, 1)).to.equal(false);
    expect(await registry.owedTo(treasury)).to.equal(minStake / 4n);
    await expect(registry.connect(reporter).claim(treasury))
      .to.emit(registry, "Claimed")
      .withArgs(reporter.address, treasury, minStake / 20n);
    expect(await token.balanceOf(treasury)).to.equal(minStake / 20n);
  });

  it("serves one registry and its oracle", async () => {
    const { world } = await loadFixture(equivocator);
    const { slasher, registry, oracle } = world;
    const [event] = await slasher.queryFilter(slasher.filters["SlasherDeployed"]!());
    const { args } = event as unknown as { readonly args: readonly string[] };
    expect([...args]).to.deep.equal([registry.target, oracle.target]);
  });
});
