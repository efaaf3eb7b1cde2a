import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/** All that is assigned to the public of IPv6; what the ranges of a library do not name lies outside. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR("2000::/3");

/** Public by its range, but a machine in Azure gets its own settings and secrets from it. */
const AZURE_HOST = "168.63.129.16";

/** EV6: whether an address is one of the public internet's: no private, shared, special, mapped or tunnelled one. */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0 || address === AZURE_HOST) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== "unicast") return false;
  return parsed instanceof ipaddr.IPv4 || parsed.match(GLOBAL_UNICAST);
}
