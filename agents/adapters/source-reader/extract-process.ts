// The process of one extraction: V8 ends a whole process, not a thread, where one allocation is too large.
import { extractInThread } from "./extract-thread.ts";
import type { ExtractionJob } from "./extraction.ts";

// Without its agent nobody waits for the text.
process.once("disconnect", () => process.exit());
process.once("message", (job: ExtractionJob) => void extractInThread(job).then((made) => process.send?.(made)));
