import { encode } from "../core/encoding/codec.ts";
import { encodeRequestId, hexToBytes } from "../core/encoding/bytes.ts";
import type { Attempt, Digest, Domain } from "../core/types.ts";

/** Topic on which certified transcripts are announced to observers. */
export function announcementTopic(domain: Domain): string {
  return `conclave/2/${domain.chainId}/${domain.oracle}/certified`;
}

/** Encodes which transcript the attempt's certificate is about (TR5). */
export function encodeAnnouncement({ request, attempt }: Attempt, root: Digest): Uint8Array {
  return encode({ requestId: encodeRequestId(request.id), attempt, root: hexToBytes(root) });
}
