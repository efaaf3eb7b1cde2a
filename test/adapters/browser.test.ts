// What the SDK takes of the agents runs in browsers. test/packages proves it of the built package; this needs a second.
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { build } from "esbuild";

describe("what web pages load", () => {
  for (const entry of ["index.ts", "verify/index.ts", "verify/worker.ts"])
    it(`needs nothing of Node: sdk/src/${entry}`, async () => {
      const { errors, warnings, metafile } = await build({
        absWorkingDir: join(import.meta.dirname, "../.."),
        entryPoints: [`sdk/src/${entry}`],
        bundle: true,
        platform: "browser",
        format: "esm",
        conditions: ["browser"],
        external: ["node:*"],
        outdir: "never-written",
        write: false,
        metafile: true,
        logLevel: "silent",
      });
      assert.deepEqual([errors, warnings], [[], []]);
      const ofNode = Object.entries(metafile.inputs).flatMap(([file, { imports }]) =>
        imports.filter(({ path }) => path.startsWith("node:")).map(({ path }) => `${file} imports ${path}`),
      );
      assert.deepEqual(ofNode, []);
    });
});
