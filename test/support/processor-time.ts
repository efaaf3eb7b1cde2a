/** Runs the work, and returns how many milliseconds of processor time it took: other processes on the machine add nothing to that. */
export async function processorMs(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
