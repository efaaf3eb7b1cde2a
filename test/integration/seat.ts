import { createSystemClock } from "../../agents/adapters/clock/system-clock.ts";
import { keysFromPrivateKey } from "../../agents/adapters/keystore/keys.ts";
import { createMemorySourceReader } from "../../agents/adapters/memory/source-reader.ts";
import { createMemoryContentStore } from "../support/memory/content-store.ts";
import { createMemoryJournals } from "../../agents/adapters/memory/journal.ts";
import { createMemoryModel } from "../../agents/adapters/memory/model.ts";
import type { Protocol } from "../../agents/core/protocol.ts";
import { mbft } from "../../agents/core/protocols/mbft/index.ts";
import { decodeMessage } from "../../agents/core/encoding/transcript.ts";
import type { Attempt, Message, SeatIndex } from "../../agents/core/types.ts";
import type { AgentTiming } from "../../agents/node/config.ts";
import type { SessionPorts } from "../../agents/node/seat/host.ts";
import { openSession, type Session } from "../../agents/node/seat/session.ts";
import { createRequestBudget } from "../../agents/node/seat/token-budget.ts";
import type { Network } from "../../agents/ports/network.ts";
import { keyOf } from "../support/core/committee.ts";
import { fastTiming, silentLog, truthful } from "./world.ts";

/** Short waits: a seat alone waits for what the test does not deliver. */
export const seatTiming: AgentTiming = {
  ...fastTiming,
  phaseMs: 10_000,
  graceMs: 1_000,
  certifyMs: 500,
  certifyDeltaMs: 100,
};

/** One seat alone: its peers are the messages that the test delivers. */
export interface Seat {
  readonly session: Session;
  /** Messages sent, once per receiver. */
  readonly sent: readonly Message[];
  /** Reads all records, the opening one included. */
  readonly journal: () => Promise<Uint8Array[]>;
}

export interface SeatOptions {
  readonly records?: readonly Uint8Array[];
  readonly truth?: string;
  readonly protocol?: Protocol;
  readonly ports?: Partial<SessionPorts>;
}

export async function openSeatOf(attempt: Attempt, seat: number, options: SeatOptions = {}): Promise<Seat> {
  const clock = createSystemClock();
  const journal = options.ports?.journal ?? (await createMemoryJournals().open("seat"));
  for (const record of options.records ?? []) await journal.append(record);
  const sent: Message[] = [];
  const network = { send: (_, frame) => sent.push(decodeMessage(frame)!) } as Pick<Network, "send"> as Network;
  const store = options.ports?.store ?? createMemoryContentStore({ clock });
  const ports: SessionPorts = {
    network,
    store,
    sources: createMemorySourceReader(store),
    model: createMemoryModel(truthful(options.truth ?? "yes"), { confidence: () => 900_000 }),
    budget: createRequestBudget(Infinity),
    signer: keysFromPrivateKey(keyOf(seat)),
    clock,
    log: silentLog,
    ...options.ports,
    journal,
  };
  const nobody = {
    onBroadcast: () => {},
    onCertified: () => {},
    onEvidence: () => {},
    onConflict: () => {},
    onUnread: () => {},
    onSilence: () => {},
  };
  const session = await openSession(options.protocol ?? mbft, attempt, seat as SeatIndex, seatTiming, ports, nobody);
  return {
    session,
    sent,
    journal: async () => {
      const all: Uint8Array[] = [];
      for await (const record of journal.read()) all.push(record);
      return all;
    },
  };
}
