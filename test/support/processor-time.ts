/** Runs the work, and returns how many milliseconds of processor time it took: other processes on the machine add nothing to that. */
export function processorMs(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
