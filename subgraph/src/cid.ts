import { Bytes } from "@graphprotocol/graph-ts";

const ALPHABET = "abcdefghijklmnopqrstuvwxyz234567";

/** The CID (version 1, dag-cbor, sha2-256) of a transcript's root, as text: base32. */
export function cidOf(digest: Bytes): string {
  const bytes = Bytes.fromHexString("0x01711220").concat(digest);
  let text = "b";
  let buffer: u32 = 0;
  let held: u32 = 0;
  for (let i = 0; i < bytes.length; i++) {
    buffer = (buffer << 8) | (<u32>bytes[i]);
    for (held += 8; held >= 5; held -= 5) text += ALPHABET.charAt(<i32>((buffer >> (held - 5)) & 31));
    buffer &= 31;
  }
  return held == 0 ? text : text + ALPHABET.charAt(<i32>((buffer << (5 - held)) & 31));
}
