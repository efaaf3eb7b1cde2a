import { chainEvidenceSuite } from "./chain-evidence.suite.ts";
import { createMemoryHarness } from "./chain-memory.ts";
import { createNodeHarness } from "./chain-node.ts";
import { chainRoundsSuite } from "./chain-rounds.suite.ts";
import { chainServicesSuite } from "./chain-services.suite.ts";
import { chainSuite } from "./chain.suite.ts";

for (const suite of [chainSuite, chainEvidenceSuite, chainRoundsSuite, chainServicesSuite]) {
  suite("memory", createMemoryHarness);
  suite("viem on anvil", createNodeHarness);
}
