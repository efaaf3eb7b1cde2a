// Loaded before an agent's own code: ends the agent in order when the process that started it is gone, however that ended.
const parent = process.ppid;
const CHECK_MS = 500;

setInterval(() => process.ppid === parent || process.kill(process.pid, "SIGTERM"), CHECK_MS).unref();
