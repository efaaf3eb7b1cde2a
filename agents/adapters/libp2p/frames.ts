import type { Stream } from "@libp2p/interface";
import { LengthPrefixedDecoder, type LengthPrefixedStream, lpStream } from "@libp2p/utils";
import type { Uint8ArrayList } from "uint8arraylist";

/** Committee traffic: one stream per direction, frames prefixed by their length, accepted by an empty frame. */
export const FRAMES_PROTOCOL = "/conclave/frames/1";

/** Most bytes that the muxer hands over at once; see `yamux` in node.ts. */
export const STREAM_WINDOW_BYTES = 262_144;

const LENGTH_BYTES = 4;
/** Most bytes read from an acceptor, which sends four. */
const ACCEPTANCE_BYTES = 64;

/** The length as four bytes, big endian: unlike a varint it is never ambiguous and never endless. */
const fixedLength = {
  lengthDecoder(data: Uint8Array | Uint8ArrayList): number {
    // A RangeError tells the decoder to wait for more bytes.
    if (data.byteLength < LENGTH_BYTES) throw new RangeError("incomplete length");
    const bytes = data.subarray(0, LENGTH_BYTES);
    return new DataView(bytes.buffer, bytes.byteOffset, LENGTH_BYTES).getUint32(0);
  },
  lengthEncoder(length: number): Uint8Array {
    const bytes = new Uint8Array(LENGTH_BYTES);
    new DataView(bytes.buffer).setUint32(0, length);
    return bytes;
  },
  encodingLength: () => LENGTH_BYTES,
};

/**
 * Creates a decoder. It throws on a frame that is longer than `frameBytes`, or empty, since empty ones would cost the
 * reader more than the sender.
 */
export function createFrameDecoder(frameBytes: number): LengthPrefixedDecoder {
  return new LengthPrefixedDecoder({
    encodingLength: fixedLength.encodingLength,
    lengthDecoder(data) {
      const length = fixedLength.lengthDecoder(data);
      if (length === 0) throw new Error("empty frame");
      return length;
    },
    maxDataLength: frameBytes,
    maxBufferSize: frameBytes + LENGTH_BYTES + 2 * STREAM_WINDOW_BYTES,
  });
}

/** Creates the end that sends frames and reads only the acceptance. */
export function createFrameWriter(stream: Stream): LengthPrefixedStream<Stream> {
  return lpStream(stream, {
    ...fixedLength,
    maxBufferSize: ACCEPTANCE_BYTES,
    maxDataLength: 0,
    maxLengthLength: LENGTH_BYTES,
  });
}

/** The empty frame that the accepting end sends once. */
export const acceptance: Uint8Array = fixedLength.lengthEncoder(0);
