import type { HardhatEthers } from "@nomicfoundation/hardhat-ethers/types";

import { appeal, ask, termsFor, type Asked, type Committed } from "../../support/contracts/course.ts";
import { agentOf } from "../../support/contracts/typed-data.ts";
import type { Terms } from "../../support/contracts/typed-data.ts";
import { anyAmount, deployWorld, registerAgents, subscription } from "../../support/contracts/world.ts";

export const agentsOf = (committee: readonly string[]): bigint[] => committee.map((seat) => agentOf(seat));

/** Makes the start of tests with more than one committee. */
export function crowd(ethers: HardhatEthers) {
  /** Makes 60 agents, an appellant with tokens and coins, and a consumer that counts its callbacks. */
  async function sixtyAgents() {
    const world = await deployWorld(ethers);
    const { oracle, token } = world;
    const [, appellant, stranger] = await ethers.getSigners();
    await registerAgents(world, 60);
    await token.mint(appellant!.address, 10n ** 24n);
    await token.connect(appellant!).approve(oracle.target, 10n ** 24n);
    const consumer = await ethers.deployContract("HostileConsumer", [oracle.target]);
    await oracle.setConsumer(subscription, consumer.target, anyAmount, anyAmount);
    const calls = (): Promise<bigint> => consumer.getFunction("calls")() as Promise<bigint>;
    const askFor = (overrides: Partial<Terms>): Promise<Asked> => {
      const terms = termsFor({ callbackGasLimit: 100_000, ...overrides });
      const by = (_: string, question: Uint8Array) => consumer.getFunction("ask").send(subscription, terms, question);
      return ask(world, {}, "Is it safe?", by);
    };
    const appealed = (committed: Committed): Promise<Asked> => appeal(world, committed, oracle.connect(appellant!));
    return { world, oracle, appellant: appellant!, stranger: stranger!, calls, askFor, appealed };
  }

  /** Returns the deadline: one duration after the block of the event. */
  async function deadlineOf({ receipt }: Pick<Committed, "receipt">): Promise<number> {
    return (await ethers.provider.getBlock(receipt.blockNumber))!.timestamp + 3600;
  }

  return { sixtyAgents, deadlineOf };
}
