import { limits } from "../core/limits.ts";
import type { Address } from "../core/types.ts";
import type { Clock } from "../ports/clock.ts";

/** Frames of attempts that this agent does not know (yet): the newest of each peer, for some minutes. */
export interface EarlyFrames {
  add(from: Address, attempt: string, frame: Uint8Array): void;
  /** Removes and returns what waits for an attempt. */
  take(attempt: string): readonly { readonly from: Address; readonly frame: Uint8Array }[];
}

const BYTES_PER_PEER = 524_288;
const PEERS = 128;
const KEPT_MS = 300_000;

interface Early {
  readonly attempt: string;
  readonly frame: Uint8Array;
  readonly at: number;
}

export function createEarlyFrames(clock: Clock): EarlyFrames {
  /** The peer heard last stands last. */
  const byPeer = new Map<Address, Early[]>();

  const dropExpired = (): void => {
    const oldest = clock.now() - KEPT_MS;
    for (const [peer, frames] of byPeer) {
      // Within a peer in order of arrival; peers in order of their last one.
      if ((frames.at(-1)?.at ?? 0) >= oldest) return;
      byPeer.delete(peer);
    }
  };

  return {
    add(from, attempt, frame) {
      const now = clock.now();
      const frames = (byPeer.get(from) ?? []).filter((one) => one.at >= now - KEPT_MS);
      frames.push({ attempt, frame: frame.slice(), at: now });
      let bytes = frames.reduce((sum, one) => sum + one.frame.length, 0);
      while (bytes > BYTES_PER_PEER || frames.length > limits.bufferedFramesPerPeer)
        bytes -= frames.shift()?.frame.length ?? bytes;
      byPeer.delete(from);
      byPeer.set(from, frames);
      dropExpired();
      for (const peer of byPeer.keys()) if (byPeer.size > PEERS) byPeer.delete(peer);
    },

    take(attempt) {
      dropExpired();
      const taken: { readonly from: Address; readonly frame: Uint8Array }[] = [];
      for (const [from, frames] of byPeer) {
        const rest = frames.filter((one) => one.attempt !== attempt);
        for (const { attempt: own, frame, at } of frames)
          if (own === attempt && at >= clock.now() - KEPT_MS) taken.push({ from, frame });
        if (rest.length === 0) byPeer.delete(from);
        else byPeer.set(from, rest);
      }
      return taken;
    },
  };
}
