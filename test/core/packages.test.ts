import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { parse } from "yaml";

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly private?: boolean;
  readonly license?: string;
  readonly files?: readonly string[];
  readonly scripts?: Readonly<Record<string, string>>;
  readonly publishConfig?: { readonly access: string; readonly provenance: boolean };
  readonly workspaces?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
}

const root = join(import.meta.dirname, "../..");
const read = (path: string): string => readFileSync(join(root, path), "utf8");
const manifestOf = (folder: string) => JSON.parse(read(join(folder, "package.json"))) as Manifest;
const { version, workspaces = [] } = manifestOf(".");
const all = [".", ...workspaces].map((folder) => ({ folder, manifest: manifestOf(folder) }));
const published = all.filter(({ manifest }) => manifest.private !== true);

describe("the packages that are published (ADR 22)", () => {
  it("have one version with all others, and name exact versions of what they need", () => {
    assert.ok(published.length > 0);
    for (const { manifest } of all) assert.equal(manifest.version, version, manifest.name);
    for (const { manifest } of published)
      for (const [name, range] of Object.entries(manifest.dependencies ?? {}))
        assert.match(range, /^\d+\.\d+\.\d+$/, `${manifest.name} needs ${name}`);
  });

  it("are public, with provenance, a list of files, our licence and no script at installation", () => {
    for (const { folder, manifest } of published) {
      assert.deepEqual(manifest.publishConfig, { access: "public", provenance: true }, manifest.name);
      assert.match(manifest.name, /^(?:@conclave\/[a-z]+|conclave)$/);
      assert.ok((manifest.files ?? []).length > 0, manifest.name);
      assert.equal(read(join(folder, "LICENSE")), read("LICENSE"), manifest.name);
      for (const name of ["preinstall", "install", "postinstall", "prepare"])
        assert.equal(manifest.scripts?.[name], undefined, `${manifest.name} runs ${name}`);
    }
  });

  it("are in the changelog under their version", () => {
    const [, latest = ""] = read("CHANGELOG.md").split(/^## /m);
    assert.ok(latest.startsWith(version), latest);
    for (const { manifest } of published) assert.ok(latest.includes(`\`${manifest.name}\``), manifest.name);
  });

  it("are published by a workflow that may write nothing else, with the rights of one job", () => {
    const { permissions, jobs } = parse(read(".github/workflows/publish.yml")) as {
      readonly permissions: unknown;
      readonly jobs: Readonly<Record<string, { readonly permissions: unknown }>>;
    };
    assert.deepEqual(permissions, { contents: "read" });
    assert.deepEqual(jobs["publish"]?.permissions, { contents: "read", "id-token": "write" });
  });
});
