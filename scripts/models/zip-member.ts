import { createReadStream, createWriteStream } from "node:fs";
import { open } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { createInflateRaw } from "node:zlib";

const HEADER_BYTES = 30;
const SIGNATURE = 0x04034b50;
const DEFLATED = 8;
const MAX_MEMBERS = 10_000;

/**
 * Unpacks one member of a zip file. The file and the member are pinned by digest, so this reads the headers in front of
 * the members and no more: sizes stand in them, and nothing is encrypted or larger than 4 GiB.
 */
export async function unpackMember(zip: string, member: string, target: string): Promise<void> {
  const file = await open(zip);
  try {
    const header = Buffer.alloc(HEADER_BYTES);
    for (let at = 0, count = 0; count < MAX_MEMBERS; count++) {
      await file.read(header, 0, HEADER_BYTES, at);
      if (header.readUInt32LE(0) !== SIGNATURE) break;
      const [size, nameBytes] = [header.readUInt32LE(18), header.readUInt16LE(26)];
      const name = Buffer.alloc(nameBytes);
      await file.read(name, 0, nameBytes, at + HEADER_BYTES);
      const start = at + HEADER_BYTES + nameBytes + header.readUInt16LE(28);
      if (name.toString() === member && header.readUInt16LE(8) === DEFLATED) {
        const packed = createReadStream(zip, { start, end: start + size - 1 });
        await pipeline(packed, createInflateRaw(), createWriteStream(target));
        return;
      }
      at = start + size;
    }
  } finally {
    await file.close();
  }
  throw new Error(`Unpack ${zip}: it holds no ${member}`);
}
