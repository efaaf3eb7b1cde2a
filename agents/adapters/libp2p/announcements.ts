import { createHash } from "node:crypto";
import { type GossipSub, type GossipsubOpts, type Message, TopicValidatorResult } from "@libp2p/gossipsub";
import type { Libp2p } from "@libp2p/interface";
import { ConclaveError } from "../../core/errors.ts";
import type { NetworkBounds } from "./bounds.ts";
import { shortReason, notify, type NetworkListener } from "./events.ts";
import { createTokenBucket, type TokenBucket } from "./rate.ts";

type Listener = (data: Uint8Array) => void;

export interface Announcements {
  readonly announce: (topic: string, data: Uint8Array) => Promise<void>;
  readonly onAnnouncement: (topic: string, listener: Listener) => () => void;
}

export function announcementOptions(bounds: NetworkBounds): Partial<GossipsubOpts> {
  return {
    allowPublishToZeroTopicPeers: true,
    ignoreDuplicatePublishError: true,
    fallbackToFloodsub: false,
    maxInboundDataLength: bounds.announcementBytes,
    // Otherwise a committee on one host would get too low a score for its own mesh. Scores of peers that have left are
    // kept a minute, not an hour: a bad one is a new key away from a good one, and keys come without a bound.
    scoreParams: { IPColocationFactorWeight: 0, retainScore: 60_000 },
    // Spares the signature check of duplicates. The id covers the signature, so that a forgery cannot replace the
    // original.
    fastMsgIdFn(message) {
      const hash = createHash("sha256");
      for (const part of [message.from, message.seqno, message.signature, message.data]) {
        hash.update(`${part?.length ?? 0}:`).update(part ?? new Uint8Array());
      }
      return hash.update(message.topic).digest("base64");
    },
  };
}

/** Creates gossip to and from everybody. Announcements are hints: nothing of value may depend on one. */
export function createAnnouncements(
  libp2p: Libp2p<{ pubsub: GossipSub }>,
  bounds: NetworkBounds,
  report: NetworkListener,
): Announcements {
  const { pubsub } = libp2p.services;
  const listeners = new Map<string, Set<Listener>>();
  const budgets = new Map<string, TokenBucket>();

  function budgetOf(peerId: string): TokenBucket {
    const known = budgets.get(peerId) ?? createTokenBucket(bounds.announcementsPerSecond);
    budgets.set(peerId, known);
    return known;
  }

  libp2p.addEventListener("peer:disconnect", (event) => budgets.delete(event.detail.toString()));
  pubsub.addEventListener("message", (event: CustomEvent<Message>) => {
    notify(listeners.get(event.detail.topic) ?? [], report, event.detail.data);
  });

  return {
    async announce(topic, data) {
      if (data.length > bounds.announcementBytes) {
        throw new ConclaveError(
          "NETWORK_FAILED",
          `Announce at most ${bounds.announcementBytes} bytes, not ${data.length}`,
          {
            bytes: data.length,
          },
        );
      }
      try {
        await pubsub.publish(topic, data);
      } catch (error) {
        throw new ConclaveError(
          "NETWORK_FAILED",
          `Announce on ${topic} again later: ${shortReason(error)}`,
          { topic },
          error,
        );
      }
    },
    onAnnouncement(topic, listener) {
      // A wrapper, so that one function can subscribe twice.
      const entry: Listener = (data) => listener(data);
      const existing = listeners.get(topic);
      if (existing === undefined) {
        listeners.set(topic, new Set([entry]));
        pubsub.topicValidators.set(topic, (source, message) => {
          // A provably invalid message is punished; too many may only be the forwarder's bad luck.
          if (message.data.length > bounds.announcementBytes) return TopicValidatorResult.Reject;
          return budgetOf(source.toString()).tryTake() ? TopicValidatorResult.Accept : TopicValidatorResult.Ignore;
        });
        pubsub.subscribe(topic);
      } else {
        existing.add(entry);
      }
      return () => {
        const set = listeners.get(topic);
        if (set === undefined || !set.delete(entry) || set.size > 0) return;
        listeners.delete(topic);
        pubsub.unsubscribe(topic);
        pubsub.topicValidators.delete(topic);
      };
    },
  };
}
