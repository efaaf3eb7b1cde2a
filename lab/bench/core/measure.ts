/**
 * Returns decisions per second of CPU time of this process with all its threads, which hardly depends on the
 * machine's other work: the median of five slices, after one to warm up. `run` returns the number of decisions, and
 * the CPU time that does not count.
 */
export function perSecond(
  run: () => { readonly decisions: number; readonly preparedMs?: number },
  seconds: number,
): number {
  const rates: number[] = [];
  for (let slice = 0; slice < 6; slice++) {
    const started = cpuMs();
    let decisions = 0;
    let preparedMs = 0;
    let spentMs = 0;
    while (spentMs < (seconds / 6) * 1_000) {
      const made = run();
      decisions += made.decisions;
      preparedMs += made.preparedMs ?? 0;
      spentMs = cpuMs() - started - preparedMs;
    }
    rates.push((decisions / spentMs) * 1_000);
  }
  return rates.slice(1).toSorted((a, b) => a - b)[2] as number;
}

export function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
