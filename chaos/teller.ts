/** Prints lines for people with the time since this call. */
export function teller(about: string): (line: string) => void {
  const startedAt = performance.now();
  return (line) => {
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    process.stderr.write(`${about} +${seconds} s: ${line}\n`);
  };
}
