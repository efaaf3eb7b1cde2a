/**
 * Returns a number in [0, 1) that depends only on the seed and the place it is drawn for. Both sides of a comparison
 * therefore see the same draws, in whatever order they ask.
 */
export function drawAt(seed: number, ...place: readonly number[]): number {
  let state = mix(seed >>> 0);
  for (const part of place) state = mix(state ^ Math.imul(part + 1, 0x9e37_79b1));
  return state / 2 ** 32;
}

/** A bijection of 32-bit numbers in which every input bit reaches every output bit. */
function mix(value: number): number {
  let bits = value;
  bits = Math.imul(bits ^ (bits >>> 16), 0x21f0_aaad);
  bits = Math.imul(bits ^ (bits >>> 15), 0x735a_2d97);
  return (bits ^ (bits >>> 15)) >>> 0;
}
