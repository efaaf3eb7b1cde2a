import { buildModule } from "@nomicfoundation/ignition-core";

/** The example consumer, owned by the deployer. */
export default buildModule("PolicyDesk", (m) => {
  const names = ["fee", "duration", "callbackGasLimit", "committeeSize", "assurance", "protocol"] as const;
  const settings = Object.fromEntries(names.map((name) => [name, m.getParameter<bigint>(name)]));
  return { desk: m.contract("PolicyDesk", [m.getParameter<string>("oracle"), m.getAccount(0), settings]) };
});
