import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { parse } from "yaml";

interface PackageFile {
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
const packageFileOf = (folder: string) => JSON.parse(read(join(folder, "package.json"))) as PackageFile;
const { version, workspaces = [] } = packageFileOf(".");
const all = [".", ...workspaces].map((folder) => ({ folder, file: packageFileOf(folder) }));
const published = all.filter(({ file }) => file.private !== true);

describe("the packages that are published (ADR 22)", () => {
  it("have one version with all others, and name exact versions of what they need", () => {
    assert.ok(published.length > 0);
    for (const { file } of all) assert.equal(file.version, version, file.name);
    for (const { file } of published)
      for (const [name, range] of Object.entries(file.dependencies ?? {}))
        assert.match(range, /^\d+\.\d+\.\d+$/, `${file.name} needs ${name}`);
  });

  it("are public, with provenance, a list of files, our licence and no script at installation", () => {
    for (const { folder, file } of published) {
      assert.deepEqual(file.publishConfig, { access: "public", provenance: true }, file.name);
      assert.match(file.name, /^(?:@conclave\/[a-z]+|conclave)$/);
      assert.ok((file.files ?? []).length > 0, file.name);
      assert.equal(read(join(folder, "LICENSE")), read("LICENSE"), file.name);
      for (const name of ["preinstall", "install", "postinstall", "prepare"])
        assert.equal(file.scripts?.[name], undefined, `${file.name} runs ${name}`);
    }
  });

  it("are in the changelog under their version", () => {
    const [, latest = ""] = read("CHANGELOG.md").split(/^## /m);
    assert.ok(latest.startsWith(version), latest);
    for (const { file } of published) assert.ok(latest.includes(`\`${file.name}\``), file.name);
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

describe("the workflow of every push", () => {
  it("runs everything that a change must pass, may write nothing, and knows no secret", () => {
    const text = read(".github/workflows/ci.yml");
    const { on, permissions, jobs } = parse(text) as {
      readonly on: Readonly<Record<string, unknown>>;
      readonly permissions: unknown;
      readonly jobs: Readonly<Record<string, { readonly steps: readonly { readonly run?: string }[] }>>;
    };
    assert.deepEqual(Object.keys(on), ["push", "pull_request"]);
    assert.deepEqual(permissions, { contents: "read" });
    assert.deepEqual(Object.keys(jobs), ["ci"]);
    assert.ok(jobs["ci"]?.steps.some(({ run }) => run === ".ci/run"));
    assert.doesNotMatch(text, /secrets\./);
  });
});
