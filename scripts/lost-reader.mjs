// If the reader of stdout or stderr is gone (`| head -1`), output is dropped; the work continues, and its exit code
// counts. bootstrap.mjs imports this file into itself and into every script that it runs; the package conclave starts
// with it, too.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error) => {
    if (error.code !== "EPIPE") throw error;
  });
}

/** Value for --import. */
export const lostReader = import.meta.url;
