// Where whoever reads stdout or stderr has gone (`| head -1`), what is printed is lost; the work goes on, and its exit code counts.
// Imported by bootstrap.mjs into itself and before every script that it runs.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error) => {
    if (error.code !== "EPIPE") throw error;
  });
}

/** For --import. */
export const lostReader = import.meta.url;
