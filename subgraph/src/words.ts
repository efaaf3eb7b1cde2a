// Reads members of packed words (contracts/types/Types.sol) without a call to the host for each.
import { BigInt, ByteArray, Bytes } from "@graphprotocol/graph-ts";

/** The member that begins at bit `shift` and has `bits` bits, at most 64. */
export function u64At(word: BigInt, shift: i32, bits: i32): u64 {
  let value: u64 = 0;
  // Little endian; zeros above the highest byte are left out.
  for (let index = shift / 8; 8 * index < shift + bits && index < word.length; index++) {
    const place = 8 * index - shift;
    const byte = <u64>word[index];
    value |= place < 0 ? byte >> u64(-place) : byte << u64(place);
  }
  return bits == 64 ? value : value & (((<u64>1) << u64(bits)) - 1);
}

/** The same of a member that fits an Int. */
export function i32At(word: BigInt, shift: i32, bits: i32): i32 {
  return <i32>u64At(word, shift, bits);
}

/** The same of any width; both multiples of 8. */
export function bigAt(word: BigInt, shift: i32, bits: i32): BigInt {
  const bytes = new ByteArray(bits / 8);
  for (let i = 0; i < bytes.length; i++) {
    const index = shift / 8 + i;
    bytes[i] = index < word.length ? word[index] : 0;
  }
  return BigInt.fromUnsignedBytes(bytes);
}

/** A two's complement number, the highest byte first. */
export function signedIn(word: Bytes): BigInt {
  const bytes = new Bytes(word.length);
  for (let i = 0; i < word.length; i++) bytes[word.length - 1 - i] = word[i];
  return BigInt.fromSignedBytes(bytes);
}

/** An address or the like from the lowest bits, the highest byte first. */
export function bytesAt(word: BigInt, size: i32): Bytes {
  const bytes = new Bytes(size);
  for (let i = 0; i < size; i++) bytes[size - 1 - i] = i < word.length ? word[i] : 0;
  return bytes;
}
