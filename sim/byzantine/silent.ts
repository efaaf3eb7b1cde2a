import { PROPOSE } from "../../agents/core/seat/certify/messages.ts";
import { decodeMessage } from "../../agents/core/encoding/transcript.ts";
import type { SessionPorts } from "../../agents/node/seat/host.ts";
import type { Network } from "../../agents/ports/network.ts";
import type { Culprit } from "./culprit.ts";

/** Stays silent: always, from some time on, towards some peers, or in one half of its work only. */
export function silent({ network, clock }: SessionPorts, { plan, random, recorder }: Culprit): Network {
  const manner = random.pick(["all", "later", "some", "certify", "deliberation"] as const);
  const from = random.below(8_000);
  const victims = new Set(plan.attempt.committee.filter(() => random.chance(500_000)).map(({ signer }) => signer));
  const isSilent = (to: (typeof plan.attempt.committee)[number]["signer"], frame: Uint8Array): boolean => {
    switch (manner) {
      case "all":
        return true;
      case "later":
        return clock.now() >= from;
      case "some":
        return victims.has(to);
      case "certify":
      case "deliberation":
        return (decodeMessage(frame)?.header.phase ?? 0) >= PROPOSE === (manner === "certify");
    }
  };
  return {
    ...network,
    send(to, frame) {
      if (isSilent(to, frame)) recorder.count("silent");
      else network.send(to, frame);
    },
  };
}
