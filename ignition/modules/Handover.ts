import { buildModule } from "@nomicfoundation/ignition-core";

const ADMIN_ROLE = 0n;

/**
 * Makes another account the only administrator of the access manager. Its acts wait for `delay` seconds, so that
 * everybody can see them.
 */
export default buildModule("Handover", (m) => {
  const manager = m.contractAt("ConclaveAccessManager", m.getParameter<string>("manager"));
  const granted = m.call(manager, "grantRole", [
    ADMIN_ROLE,
    m.getParameter<string>("admin"),
    m.getParameter<number>("delay"),
  ]);
  m.call(manager, "renounceRole", [ADMIN_ROLE, m.getAccount(0)], { after: [granted] });
  return { manager };
});
