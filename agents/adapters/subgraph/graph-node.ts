/**
 * Where a graph-node is. Its URL may hold a key, so errors name only its origin. It has a file of its own since the SDK's declarations name it,
 * which must not name zod.
 */
export interface Endpoint {
  readonly url: string;
  /** Timeout of one try. */
  readonly timeoutMs?: number;
}
