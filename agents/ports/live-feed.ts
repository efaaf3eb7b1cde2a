import type { LiveEvent } from "../core/encoding/live-events.ts";
import type { Attempt } from "../core/types.ts";

/**
 * Where an agent tells what the committees that it sits on say, for whoever watches (LV1). It must neither throw nor wait: no watcher
 * may hold up a seat.
 */
export interface LiveFeed {
  /** The agent takes its seat in the attempt. */
  opened(attempt: Attempt): void;
  /** LV2: the event follows from messages that their seats have sent already. */
  tell(attempt: Attempt, event: LiveEvent): void;
  /** The agent has left its seat: nothing more is told of the attempt. */
  closed(attempt: Attempt): void;
}
