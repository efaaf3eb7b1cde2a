import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { gpuBuildWay, ownPlace } from "../../agents/cli/doctor/engine-builds.ts";

const PACKAGE = { isCheckout: false, platform: "linux", arch: "x64" };
const engine = JSON.parse(readFileSync("node_modules/node-llama-cpp/package.json", "utf8")) as {
  readonly version: string;
  readonly optionalDependencies: Readonly<Record<string, string>>;
};
const { version } = engine;

describe("conclave doctor: builds of the engine for a GPU", () => {
  it("names the script of a checkout", () => {
    assert.equal(ownPlace().isCheckout, true);
    assert.match(gpuBuildWay({ version, drivers: ["cuda"] }, ownPlace()), /^run npm run gpu/);
  });

  it("names packages that npm has to whoever installed the package, and no script", () => {
    for (const platform of ["linux", "win32"])
      for (const drivers of [["cuda", "vulkan"], ["vulkan"], []] as const) {
        const way = gpuBuildWay({ version, drivers }, { ...PACKAGE, platform });
        assert.doesNotMatch(way, /npm run|npm ci|docs\//);
        const packages = [...way.matchAll(/(@node-llama-cpp\/[\w-]+)@([\d.]+)/g)];
        for (const [, name, wanted] of packages) assert.equal(engine.optionalDependencies[name ?? ""], wanted, name);
        assert.ok(packages.length > 0);
        assert.ok(packages.every(([name]) => name.includes(drivers[0] ?? "vulkan")));
      }
  });

  it("names a model server where the engine has no such build", () => {
    for (const place of [
      { ...PACKAGE, arch: "arm64" },
      { ...PACKAGE, platform: "freebsd" },
    ])
      assert.match(gpuBuildWay({ version, drivers: ["vulkan"] }, place), /^use a model server/);
  });
});
