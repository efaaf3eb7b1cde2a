import type { UnreadableProof } from "../../ports/evidence.ts";
import { printable, type Row } from "./output.ts";

export function unreadableRows(unreadable: readonly UnreadableProof[]): readonly Row[] {
  return unreadable.map(({ path, requestId }) => {
    const text = `${printable(path)} is no proof as agents keep them, about request ${requestId}, whose transcripts stay: restore it, or move it away`;
    return ["unreadable", text];
  });
}
