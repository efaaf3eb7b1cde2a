import type { Helia } from "@helia/interface";
import type { Libp2p, ServiceMap } from "@libp2p/interface";
import type { Libp2pOptions } from "libp2p";

export type DefaultLibp2pServices = ServiceMap;
export type CreateLibp2pOptions<M extends ServiceMap = ServiceMap> = Libp2pOptions<M>;

export interface HeliaWithLibp2p<M extends ServiceMap = ServiceMap> extends Helia {
  libp2p: Libp2p<M>;
}

/** Attaches a running libp2p node; Helia does not stop it. */
export declare function withLibp2p<H extends Helia, M extends ServiceMap>(
  helia: H,
  libp2p: Libp2p<M>,
): H & HeliaWithLibp2p<M>;
