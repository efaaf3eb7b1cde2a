import type { HardhatEthers } from "@nomicfoundation/hardhat-ethers/types";

import { ask, commit, draw } from "../../support/contracts/course.ts";
import { deployWorld, registerAgents } from "../../support/contracts/world.ts";

/** Makes the stages of a request, each of which starts many tests. */
export function stages(ethers: HardhatEthers) {
  async function tenAgents() {
    const world = await deployWorld(ethers);
    const [, operator, stranger] = await ethers.getSigners();
    await world.token.mint(operator!.address, 10n ** 24n);
    await world.token.connect(operator!).approve(world.registry.target, 10n ** 24n);
    await registerAgents(world, 10, { operator: operator! });
    return { world, oracle: world.oracle, operator: operator!, stranger: stranger! };
  }

  async function asked() {
    const start = await tenAgents();
    return { ...start, request: await ask(start.world) };
  }

  async function drawn() {
    const start = await asked();
    return { ...start, drawn: await draw(start.world, start.request) };
  }

  async function settled() {
    const start = await drawn();
    return { ...start, committed: await commit(start.world, start.drawn) };
  }

  return { tenAgents, asked, drawn, settled };
}
