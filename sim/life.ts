import type { Clock } from "../agents/ports/clock.ts";
import type { ContentStore } from "../agents/ports/content-store.ts";
import type { SourceReader } from "../agents/ports/source-reader.ts";
import type { Journal } from "../agents/ports/journal.ts";
import type { Model } from "../agents/ports/model.ts";
import type { Network } from "../agents/ports/network.ts";
import type { SessionPorts } from "../agents/node/seat/host.ts";

/** SM4: one life of a process: once it is over, nothing that the process still tries has any effect. */
export interface Life {
  readonly alive: () => boolean;
  end(): void;
  /**
   * Wraps the ports of a process of this life. Every use of one is an effect, and `onEffect` may end the life before
   * it.
   */
  guard(ports: SessionPorts): SessionPorts;
}

export function createLife(onEffect: () => void): Life {
  let alive = true;
  const never = <T>(): Promise<T> => new Promise(() => {});
  /** True if the effect takes place. */
  const permits = (): boolean => {
    if (alive) onEffect();
    return alive;
  };

  const guardNetwork = (network: Network): Network => ({
    ...network,
    send: (to, frame) => permits() && network.send(to, frame),
    onFrame: (listener) => network.onFrame((from, frame) => alive && listener(from, frame)),
    onConnect: (listener) => network.onConnect((peer) => alive && listener(peer)),
  });
  const guardClock = (clock: Clock): Clock => ({
    now: () => clock.now(),
    schedule: (afterMs, callback) => (permits() ? clock.schedule(afterMs, () => alive && callback()) : () => {}),
  });
  const guardJournal = (journal: Journal): Journal => ({
    truncatedBytes: journal.truncatedBytes,
    read: () => journal.read(),
    append: (record) => (permits() ? journal.append(record) : never()),
    close: () => (alive ? journal.close() : never()),
  });
  const guardModel = (model: Model): Model => ({
    ...model,
    ask: (request, signal) => (permits() ? model.ask(request, signal) : never()),
  });
  const guardStore = (store: ContentStore): ContentStore => ({
    ...store,
    put: (bytes, signal) => (permits() ? store.put(bytes, signal) : never()),
    get: (digest, signal) => (permits() ? store.get(digest, signal) : never()),
  });

  const guardSources = (sources: SourceReader): SourceReader => ({
    read: (source, signal) => (permits() ? sources.read(source, signal) : never()),
  });

  return {
    alive: () => alive,
    end: () => {
      alive = false;
    },
    guard: (ports) => ({
      network: guardNetwork(ports.network),
      clock: guardClock(ports.clock),
      journal: guardJournal(ports.journal),
      model: guardModel(ports.model),
      budget: ports.budget,
      store: guardStore(ports.store),
      sources: guardSources(ports.sources),
      signer: ports.signer,
      log: ports.log,
    }),
  };
}
