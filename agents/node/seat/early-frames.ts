import { limits } from "../../core/limits.ts";
import type { Address } from "../../core/types.ts";
import type { Clock } from "../../ports/clock.ts";

/**
 * Frames of attempts that this agent does not know yet: the newest of each peer, for some minutes. They stay encoded,
 * because a hostile payload takes many times its size once it is decoded.
 */
export interface EarlyFrames {
  add(from: Address, attempt: string, frame: Uint8Array): void;
  /** Removes and returns the frames that wait for an attempt. */
  take(attempt: string): readonly { readonly from: Address; readonly frame: Uint8Array }[];
}

/**
 * Why a waiting frame was given up: nobody opened the attempt in time, or the share of the peer or of all peers was
 * full.
 */
export type GivenUp = "other-attempt" | "early-overflow";

const BYTES_PER_PEER = 524_288;
const PEERS = 128;
const KEPT_MS = 300_000;

interface Early {
  readonly attempt: string;
  readonly frame: Uint8Array;
  readonly at: number;
}

/** @param giveUp runs for every frame that is not kept any longer */
export function createEarlyFrames(
  clock: Clock,
  giveUp: (from: Address, attempt: string, reason: GivenUp) => void,
): EarlyFrames {
  /** Ordered by the last frame of each peer. */
  const byPeer = new Map<Address, Early[]>();

  const isFresh = (from: Address, { attempt, at }: Early): boolean => {
    if (at >= clock.now() - KEPT_MS) return true;
    giveUp(from, attempt, "other-attempt");
    return false;
  };

  const dropPeer = (from: Address, frames: readonly Early[], reason: GivenUp): void => {
    byPeer.delete(from);
    for (const { attempt } of frames) giveUp(from, attempt, reason);
  };

  const dropExpired = (): void => {
    const oldest = clock.now() - KEPT_MS;
    for (const [peer, frames] of byPeer) {
      // Frames of a peer are ordered by arrival, peers by their last frame.
      if ((frames.at(-1)?.at ?? 0) >= oldest) return;
      dropPeer(peer, frames, "other-attempt");
    }
  };

  return {
    add(from, attempt, frame) {
      const frames = (byPeer.get(from) ?? []).filter((one) => isFresh(from, one));
      frames.push({ attempt, frame: frame.slice(), at: clock.now() });
      let bytes = frames.reduce((sum, one) => sum + one.frame.length, 0);
      while (bytes > BYTES_PER_PEER || frames.length > limits.bufferedFramesPerPeer) {
        const [oldest] = frames.splice(0, 1);
        if (oldest === undefined) break;
        bytes -= oldest.frame.length;
        giveUp(from, oldest.attempt, "early-overflow");
      }
      byPeer.delete(from);
      byPeer.set(from, frames);
      dropExpired();
      for (const [peer, others] of byPeer) if (byPeer.size > PEERS) dropPeer(peer, others, "early-overflow");
    },

    take(attempt) {
      dropExpired();
      const taken: { readonly from: Address; readonly frame: Uint8Array }[] = [];
      for (const [from, frames] of byPeer) {
        const fresh = frames.filter((one) => isFresh(from, one));
        const rest = fresh.filter((one) => one.attempt !== attempt);
        for (const { attempt: own, frame } of fresh) if (own === attempt) taken.push({ from, frame });
        if (rest.length === 0) byPeer.delete(from);
        else byPeer.set(from, rest);
      }
      return taken;
    },
  };
}
