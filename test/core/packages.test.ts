import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { parse } from "yaml";

import { protocols } from "../../agents/core/protocols/index.ts";
import { assertSameMembers } from "../support/assertions.ts";

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

interface Job {
  readonly permissions?: unknown;
  readonly needs?: string;
  readonly steps?: readonly { readonly uses?: string; readonly run?: string }[];
}

function publishing(): { readonly permissions: unknown; readonly jobs: Readonly<Record<string, Job>> } {
  return parse(read(".github/workflows/publish.yml")) as ReturnType<typeof publishing>;
}

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
    const { permissions, jobs } = publishing();
    assert.deepEqual(permissions, { contents: "read" });
    assert.equal(jobs["pack"]?.permissions, undefined);
    assert.deepEqual(jobs["publish"]?.permissions, { contents: "read", "id-token": "write" });
  });

  it("are packed by one job, and published by another one that runs no code of theirs: it could publish anything", () => {
    const { jobs } = publishing();
    const packing = (jobs["pack"]?.steps ?? []).map(({ run = "" }) => run).join("\n");
    for (const { folder } of published.filter((one) => one.folder !== "."))
      assert.ok(packing.includes(`--workspace ${folder} `), folder);
    const { needs, steps = [] } = jobs["publish"] ?? {};
    assert.equal(needs, "pack");
    assert.deepEqual(
      steps.map(({ uses = "", run = "" }) => [uses.replace(/@.*/, ""), run.includes("npm publish")]),
      [
        ["actions/setup-node", false],
        ["actions/download-artifact", false],
        ["", true],
      ],
    );
    assert.doesNotMatch(steps.at(-1)?.run ?? "", /npm (?:ci|install|run|test|exec)|npx/);
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

describe("the workflow of every night", () => {
  interface Workflow {
    readonly on: Readonly<Record<string, unknown>>;
    readonly permissions: unknown;
    readonly jobs: Readonly<
      Record<
        string,
        {
          readonly if: string;
          readonly strategy?: {
            readonly matrix: {
              readonly include?: readonly { readonly run: string }[];
              readonly options?: readonly string[];
            };
          };
          readonly steps: readonly { readonly uses?: string; readonly run?: string }[];
        }
      >
    >;
  }
  const nightly = parse(read(".github/workflows/nightly.yml")) as Workflow;

  it("runs commands that are there, may write nothing, and knows no secret", () => {
    assert.deepEqual(nightly.permissions, { contents: "read" });
    assert.doesNotMatch(read(".github/workflows/nightly.yml"), /secrets\./);
    const runs = Object.values(nightly.jobs).flatMap(({ strategy, steps }) => [
      ...(strategy?.matrix.include ?? []),
      ...steps.filter(({ run }) => run !== "${{ matrix.run }}"),
    ]);
    const commands = runs.flatMap(({ run = "" }) => [...run.matchAll(/npm run ([a-z:-]+)/g)].map(([, name]) => name));
    assert.deepEqual(commands, ["test:fuzz:long", "coverage", "mutate", "slither", "sim", "economics"]);
    const { scripts = {} } = packageFileOf(".");
    for (const name of commands) assert.ok(name !== undefined && name in scripts, `package.json has no script ${name}`);
  });

  it("lets each schedule start its own jobs", () => {
    const schedules = (nightly.on["schedule"] as readonly { readonly cron: string }[]).map(({ cron }) => cron);
    const skipped = Object.values(nightly.jobs).map((job) => /^github\.event\.schedule != '(.+)'$/.exec(job.if)?.[1]);
    assertSameMembers([...new Set(skipped)], schedules);
  });

  it("plays worlds of every protocol, and with sources where it reads them", () => {
    const expected = protocols.flatMap(({ id, readsSources }) => [
      `--protocol ${id}`,
      ...(readsSources ? [`--protocol ${id} --sources all`] : []),
    ]);
    assertSameMembers([...(nightly.jobs["worlds"]?.strategy?.matrix.options ?? [])], expected);
  });
});

describe("the actions of all workflows", () => {
  it("are pinned by a commit, whose version stands beside it, since a tag can be moved; each is the same everywhere", () => {
    const files = readdirSync(join(root, ".github/workflows"));
    const used = files.flatMap((file) =>
      [...read(`.github/workflows/${file}`).matchAll(/uses: *(.*)/g)].map(([, action = ""]) => action),
    );
    assert.ok(used.length > files.length);
    for (const action of used) assert.match(action, /^actions\/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
    const names = used.map((action) => action.replace(/@.*/, ""));
    assert.equal(new Set(used).size, new Set(names).size);
  });
});
