import { createMemoryJournals } from "../../agents/adapters/memory/journal.ts";
import { hashgraph } from "../../agents/core/protocols/hashgraph/index.ts";
import type { SessionPorts } from "../../agents/node/seat/host.ts";
import type { ByzantineKind } from "../options.ts";
import { censoring } from "./censor.ts";
import { claiming } from "./claim.ts";
import type { Culprit } from "./culprit.ts";
import { doubleVoting } from "./double-vote.ts";
import { equivocating } from "./equivocate.ts";
import { late } from "./late.ts";
import { malformed } from "./malformed.ts";
import { bentModel, minds, type MindName } from "./minds.ts";
import { replaying } from "./replay.ts";
import { scheduled } from "./scheduled.ts";
import { silent } from "./silent.ts";
import { split } from "./split.ts";
import { threefold } from "./threefold.ts";

/**
 * Returns the ports of a Byzantine seat: bent ones around the real runtime. Two sets of ports make two runtimes under
 * one key.
 */
export async function misbehave(
  kind: ByzantineKind,
  ports: SessionPorts,
  culprit: Culprit,
): Promise<readonly SessionPorts[]> {
  switch (kind) {
    case "lying":
    case "stealth-vetoer":
    case "sacrificial-vetoer":
    case "accuser":
    case "biased-evaluator":
      return [thinking(kind, ports, culprit)];
    case "silent":
      return [behind(silent, ports, culprit)];
    case "equivocating":
      return [behind(culprit.random.fork("third").chance(400_000) ? threefold : equivocating, ports, culprit)];
    case "double-voter":
      return [behind(doubleVoting, ports, culprit)];
    case "late-revealer":
      return [behind(late, ports, culprit)];
    case "censoring-proposer":
      return [behind(censoring, ports, culprit)];
    case "replayer":
      return [behind(replaying, ports, culprit)];
    case "malformed":
      return [behind(malformed, ports, culprit)];
    case "twin":
      return twins(ports, culprit, 0);
    case "forking-gossiper":
      return gossiping(ports, culprit);
  }
}

/** Shows two faces. Under hashgraph it makes false claims instead in half of the worlds. */
async function gossiping(ports: SessionPorts, culprit: Culprit): Promise<readonly SessionPorts[]> {
  const { plan, random } = culprit;
  const isHashgraph = plan.protocol.id === hashgraph.id;
  const manner = isHashgraph ? random.fork("manner").pick(["twins", "twins", "last", "line"] as const) : "twins";
  return manner === "twins" ? twins(ports, culprit, 300_000) : [behind(claiming(manner), ports, culprit)];
}

type BentNetwork = (ports: SessionPorts, culprit: Culprit) => SessionPorts["network"];

/** Puts a bent network below an honest or lying mind. */
function behind(bend: BentNetwork, ports: SessionPorts, culprit: Culprit): SessionPorts {
  const bent = { ...ports, network: bend(ports, culprit) };
  return culprit.random.chance(400_000) ? bent : thinking("lying", bent, culprit);
}

function thinking(mind: MindName, ports: SessionPorts, { plan, random }: Culprit): SessionPorts {
  return { ...ports, model: bentModel(ports.model, plan, minds[mind](plan), random) };
}

/** Returns two runtimes with one key and two minds; each talks to its part of the committee ("twins", Bano et al.). */
async function twins(ports: SessionPorts, culprit: Culprit, overlapPpm: number): Promise<readonly SessionPorts[]> {
  const journal = await createMemoryJournals().open("twin");
  const { twins: plan } = culprit.plan;
  if (plan !== undefined) {
    const [one, other] = scheduled(ports, culprit, plan);
    return [
      { ...ports, network: one },
      { ...ports, network: other, journal },
    ];
  }
  const [first, second] = split(ports, culprit, overlapPpm);
  return [{ ...ports, network: first }, thinking("lying", { ...ports, network: second, journal }, culprit)];
}
