import { buildModule } from "@nomicfoundation/ignition-core";
import { UNBOUNDED } from "../../agents/ports/chain.ts";

/** The subscription that pays for the example: the first one of an oracle that was just deployed. */
export const EXAMPLE_SUBSCRIPTION = 1;

/** The example consumer, and the subscription that pays for it. The deployer owns both and funds the subscription. */
export default buildModule("PolicyDesk", (m) => {
  const names = [
    "fee",
    "duration",
    "appeals",
    "retries",
    "callbackGasLimit",
    "committeeSize",
    "assurance",
    "protocol",
  ] as const;
  const settings = Object.fromEntries(names.map((name) => [name, m.getParameter<bigint>(name)]));
  const oracle = m.contractAt("DecisionOracle", m.getParameter<string>("oracle"));
  const desk = m.contract("PolicyDesk", [
    oracle,
    m.getAccount(0),
    { subscriptionId: EXAMPLE_SUBSCRIPTION, ...settings },
  ]);
  const created = m.call(oracle, "createSubscription", [], { after: [desk] });
  m.call(oracle, "setConsumer", [EXAMPLE_SUBSCRIPTION, desk, UNBOUNDED, UNBOUNDED], { after: [created] });
  return { desk };
});
