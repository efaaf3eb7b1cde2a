import { protocolByCode } from "../../core/protocols/index.ts";
import type { Assured } from "../../core/protocol.ts";

/** What a certificate says about its answer, in words, by the protocol's assurance. */
export const meaningOf: Readonly<Record<Assured, string>> = {
  byzantine: "with fewer than a third of the seats faulty, the answer is one that honest seats support",
  chair: "the transcript is authentic and the answer is the chair's, which nobody need support",
};

/** Returns the protocol's name, or its code if this program does not know it. */
export function protocolName(code: number): string {
  return protocolByCode(code)?.id ?? String(code);
}
