// Loaded before an agent's own code: ends the agent in order when the process that started it is gone, however that ended.
import { whenOrphaned } from "../../agents/cli/shared/when-orphaned.ts";

whenOrphaned(() => process.kill(process.pid, "SIGTERM"));
