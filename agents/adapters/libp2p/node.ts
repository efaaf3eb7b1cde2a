import { noise } from "@libp2p/noise";
import { yamux } from "@libp2p/yamux";
import { gossipsub, type GossipSub } from "@libp2p/gossipsub";
import { identify, identifyPush, type Identify, type IdentifyPush } from "@libp2p/identify";
import type { ConnectionGater, Libp2p, PrivateKey } from "@libp2p/interface";
import { ping, type Ping } from "@libp2p/ping";
import { tcp } from "@libp2p/tcp";
import type { Datastore } from "interface-datastore";
import { createLibp2p } from "libp2p";
import { ConclaveError } from "../../core/errors.ts";
import { announcementOptions } from "./announcements.ts";
import type { NetworkBounds } from "./bounds.ts";
import { shortReason } from "./events.ts";
import { STREAM_WINDOW_BYTES } from "./frames.ts";

export type AgentServices = {
  readonly identify: Identify;
  /** Tells connected peers of protocols that are added later, such as bitswap. */
  readonly identifyPush: IdentifyPush;
  readonly ping: Ping;
  readonly pubsub: GossipSub;
};

export type AgentLibp2p = Libp2p<AgentServices>;

export interface NodeOptions {
  readonly identity: PrivateKey;
  readonly listen: readonly string[];
  readonly datastore?: Datastore;
  readonly gater?: ConnectionGater;
  readonly bounds: NetworkBounds;
}

/** Starts a node with TCP, noise and yamux, and without peer discovery. Throws NETWORK_FAILED if it cannot listen. */
export async function startNode(options: NodeOptions): Promise<AgentLibp2p> {
  const { bounds } = options;
  try {
    return await createLibp2p<AgentServices>({
      privateKey: options.identity,
      nodeInfo: { name: "conclave", userAgent: "conclave" },
      addresses: { listen: [...options.listen] },
      ...(options.datastore === undefined ? {} : { datastore: options.datastore }),
      transports: [tcp()],
      connectionEncrypters: [noise()],
      streamMuxers: [
        yamux({
          maxInboundStreams: bounds.streamsPerConnection,
          streamOptions: { initialStreamWindowSize: STREAM_WINDOW_BYTES, maxStreamWindowSize: STREAM_WINDOW_BYTES },
        }),
      ],
      ...(options.gater === undefined ? {} : { connectionGater: options.gater }),
      connectionManager: {
        maxConnections: bounds.connections,
        // Many agents may share a host; on a development network all of them do.
        inboundConnectionThreshold: bounds.connectionsPerSecondPerHost,
        maxIncomingPendingConnections: bounds.connectionsPerSecondPerHost,
        dialTimeout: bounds.openTimeoutMs,
      },
      services: {
        identify: identify(),
        identifyPush: identifyPush(),
        ping: ping(),
        pubsub: gossipsub(announcementOptions(bounds)),
      },
    });
  } catch (error) {
    throw new ConclaveError(
      "NETWORK_FAILED",
      `Choose another listen address than ${options.listen.join(", ")}: ${shortReason(error)}`,
      { listen: options.listen.join(",") },
      error,
    );
  }
}
