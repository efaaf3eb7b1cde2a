import { concat, hexToBytes, keccak256, word } from "../../../agents/core/encoding/bytes.ts";
import { LAYOUTS, placeOf } from "../../../agents/core/encoding/layouts.ts";
import { packWord } from "../../../agents/core/encoding/words.ts";
import type { RoundFields } from "../../../agents/core/request/rounds.ts";
import type { Address, Digest, Round } from "../../../agents/core/types.ts";

/** How many of the upper bits of a hash make a link. */
const LINK_BITS = placeOf(LAYOUTS.round, "link").bits;

/** Packs a round into a word. Throws a RangeError if a field does not fit its bits. */
export function packRound({ link, appeals, deadline }: RoundFields): Round {
  return packWord(LAYOUTS.round, { link, appeals, deadline }) as Round;
}

/**
 * The link of the next round, as contracts/libraries/RoundLib.sol computes it.
 * @param relay the packed word
 * @param appellant null if nobody appealed: the committee hung and another one is tried, or it was not sure enough
 */
export function linkAfter(
  round: Round,
  committeeHash: Digest,
  structHash: Digest,
  relay: bigint,
  appellant: Address | null,
): bigint {
  const words = [word(round), hexToBytes(committeeHash), hexToBytes(structHash), word(relay)];
  return BigInt(keccak256(concat(...words, word(BigInt(appellant ?? 0n))))) >> BigInt(256 - LINK_BITS);
}
