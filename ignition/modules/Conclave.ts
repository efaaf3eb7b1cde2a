import { buildModule } from "@nomicfoundation/ignition-core";
import { toFunctionSelector } from "viem";

/** The role that may stop new requests. Only the administrator may set prices. */
const PAUSER_ROLE = 2n;

/** The struct `PriceTerms` of contracts/types/Types.sol. */
type Prices = Record<"unitPrice" | "gasRate" | "gasPriceCap" | "treasuryPpm", bigint>;

/**
 * Deploys access manager, registry, oracle (which deploys its settlement) and slasher in this order, with no other
 * deployment between them. The registry is bound for ever to the addresses of the oracle and the slasher, which follow
 * from the deployer's nonce. `npm run deploy` computes them.
 */
export default buildModule("Conclave", (m) => {
  const token = m.getParameter<string>("token");
  const manager = m.contract("ConclaveAccessManager", [m.getAccount(0)]);
  const terms = {
    stakeToken: token,
    minStake: m.getParameter<bigint>("minStake"),
    maxStake: m.getParameter<bigint>("maxStake"),
    unbondingDelay: m.getParameter<number>("unbondingDelay"),
    epochBlocks: m.getParameter<number>("epochBlocks"),
    oracle: m.getParameter<string>("oracle"),
    slasher: m.getParameter<string>("slasher"),
    treasury: m.getParameter<string>("treasury"),
  };
  const registry = m.contract("AgentRegistry", [terms], { after: [manager] });
  const protocols = m.getParameter<bigint>("protocols");
  const prices = [m.getParameter<Prices>("tokenPrices"), m.getParameter<Prices>("nativePrices")];
  const oracle = m.contract("DecisionOracle", [manager, registry, token, protocols, ...prices]);
  const slasher = m.contract("Slasher", [registry], { after: [oracle] });

  const pausing = ["pauseRequests(uint8)", "unpauseRequests(uint8)"].map((signature) => toFunctionSelector(signature));
  m.call(manager, "setTargetFunctionRole", [oracle, pausing, PAUSER_ROLE], { after: [slasher] });
  m.call(manager, "grantRole", [PAUSER_ROLE, m.getParameter<string>("admin"), 0], { after: [slasher] });
  return { manager, registry, oracle, slasher };
});
