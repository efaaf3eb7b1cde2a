// Loaded before an agent's own code: ends the agent in order when the process that started it is gone, however that ended.
const parent = process.ppid;
const CHECK_MS = 500;

const check = setInterval(() => {
  if (process.ppid === parent) return;
  // Once: a second signal would end the agent at once.
  clearInterval(check);
  process.kill(process.pid, "SIGTERM");
}, CHECK_MS).unref();
