const PERIOD_MS = 5000;

/** Returns a number of bytes in MB, as disks and downloads are measured. */
export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

/** Tells of a download: when it begins, every few seconds, and when it breaks off. */
export function createProgress(
  file: string,
  tell: (line: string) => void,
): {
  readonly onProgress: (bytes: number, of: number | null) => void;
  readonly onRetry: (reason: string) => void;
} {
  let last: { readonly ms: number; readonly bytes: number } | null = null;
  return {
    onProgress(bytes, of) {
      const ms = performance.now();
      if (last !== null && ms - last.ms < PERIOD_MS) return;
      const speed = last === null ? "" : `, ${megabytes(((bytes - last.bytes) * 1000) / (ms - last.ms))} a second`;
      const part = of === null ? megabytes(bytes) : `${Math.floor((100 * bytes) / of)} % of ${megabytes(of)}`;
      last = { ms, bytes };
      tell(`${file}: ${part}${speed}`);
    },
    onRetry: (reason) => {
      last = null;
      tell(`${file}: ${reason}; trying again`);
    },
  };
}
