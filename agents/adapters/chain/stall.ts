/** Time without a new block after which people are told so. */
export const STALL_MS = 30_000;

/** What people are told then. */
export const STALLED = `no new block for ${STALL_MS / 1000} s, so nothing goes on: the node is behind, or it mines on demand only (start anvil with --block-time 1, or use \`conclave dev\`)`;

/** Returns a function that takes the head each time it is read, and calls `onStall` once for each pause that is too long. */
export function createStallWatch(onStall: () => void): (head: bigint) => void {
  let last: bigint | null = null;
  let sinceMs = 0;
  let told = false;
  return (head) => {
    const nowMs = performance.now();
    if (head !== last) [last, sinceMs, told] = [head, nowMs, false];
    if (told || nowMs - sinceMs < STALL_MS) return;
    told = true;
    onStall();
  };
}
