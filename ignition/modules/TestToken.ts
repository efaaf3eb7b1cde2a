import { buildModule } from "@nomicfoundation/ignition-core";

/** A token that any account can mint, for local chains. */
export default buildModule("TestToken", (m) => ({ token: m.contract("TestToken") }));
