import type { Protocol } from "../../protocol.ts";
import { withRefusals } from "../../request/refusal.ts";
import { conclude, explain } from "./conclude.ts";
import { EVENT, eventsPerSeat, lastPlace, refuseHashgraph, stagesOf } from "./config.ts";
import { start, step } from "./drive.ts";
import { decodeEvent, renderingOf } from "./payloads.ts";
import { VERSION } from "./prompts.ts";
import type { HashgraphState } from "./state.ts";

/** hashgraph (docs/spec/hashgraph.md): gossip about gossip. Virtual voting decides which answers count. */
export const hashgraph: Protocol<HashgraphState> = withRefusals({
  id: "hashgraph",
  code: 6,
  version: VERSION,
  title: "Hashgraph: gossip about gossip, virtual voting",
  assurance: "byzantine",
  readsSources: true,
  // HG6: a third event of a slot is no parent.
  readsVoidSlots: true,
  refuseRequest: refuseHashgraph,
  // A stage takes its model calls, a grace and a spread; the consensus order takes as long, twice.
  phasesAtMost: (attempt) => 3 * (stagesOf(attempt).length + 2),
  rejectPayload: (attempt, slot, payload) => {
    if (slot.phase !== EVENT) return "unknown-phase";
    if (slot.round >= eventsPerSeat(attempt)) return "no-such-round";
    return decodeEvent(attempt, slot, payload) === null ? "malformed-payload" : null;
  },
  render: (attempt, slot, payload) => renderingOf(slot.seat, decodeEvent(attempt, slot, payload)),
  start,
  step,
  closed: ({ concluded, graph }) => (concluded ? lastPlace(graph.attempt) : null),
  conclude,
  explain,
});
