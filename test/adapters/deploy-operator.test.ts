// Checks the unit of systemd and the files for Prometheus and Grafana as text, because no test runs those.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { parse } from "yaml";
import { agentRun } from "../../agents/cli/agent/run.ts";

const root = join(import.meta.dirname, "../..");
const read = (path: string): Promise<string> => readFile(join(root, path), "utf8");

/** Values of a unit by section and name. */
function unitOf(text: string): ReadonlyMap<string, readonly string[]> {
  let section = "";
  const found = new Map<string, string[]>();
  for (const line of text.split("\n")) {
    const [, name] = /^\[(\w+)\]$/.exec(line) ?? [];
    section = name ?? section;
    const [, key, value] = /^(\w+)=(.*)$/.exec(line) ?? [];
    if (key === undefined || value === undefined) continue;
    const full = `${section}.${key}`;
    found.set(full, [...(found.get(full) ?? []), value]);
  }
  return found;
}

/** Metrics that an agent serves, from the table that metrics-docs.test.ts compares with them. */
async function served(): Promise<ReadonlySet<string>> {
  const rows = (await read("docs/operating.md")).split("\n").filter((line) => line.startsWith("| `conclave_"));
  return new Set(rows.flatMap((row) => [...row.matchAll(/`(conclave_[a-z_]+)/g)].map(([, name = ""]) => name)));
}

function namedIn(text: string): readonly string[] {
  const names = [...text.matchAll(/\bconclave_[a-z_]+/g)].map(([name]) => name.replace(/_(?:bucket|count|sum)$/, ""));
  return [...new Set(names)];
}

describe("deploy/conclave-agent@.service", () => {
  it("runs one agent for each folder, as a user of its own, with a password that root alone reads", async () => {
    const unit = unitOf(await read("deploy/conclave-agent@.service"));
    const [command = ""] = unit.get("Service.ExecStart") ?? [];
    assert.equal(command, "/usr/local/bin/conclave agent run --dir /var/lib/conclave/%i --password-file %d/password");
    const flags = agentRun.options.map(({ flags: one }) => one.split(" ")[0]);
    for (const [flag] of command.matchAll(/--[a-z-]+/g)) assert.ok(flags.includes(flag), `agent run has no ${flag}`);
    assert.deepEqual(unit.get("Service.User"), ["conclave"]);
    assert.deepEqual(unit.get("Service.LoadCredential"), ["password:/etc/conclave/%i.password"]);
    assert.deepEqual(unit.get("Service.Restart"), ["on-failure"]);
    assert.deepEqual(unit.get("Install.WantedBy"), ["multi-user.target"]);
  });

  it("gives it no right that it does not need, and lets it compile: Node writes code that it runs", async () => {
    const unit = unitOf(await read("deploy/conclave-agent@.service"));
    for (const name of ["NoNewPrivileges", "ProtectHome", "PrivateTmp", "RestrictNamespaces", "LockPersonality"])
      assert.deepEqual(unit.get(`Service.${name}`), ["true"], name);
    assert.deepEqual(unit.get("Service.ProtectSystem"), ["strict"]);
    assert.deepEqual(unit.get("Service.CapabilityBoundingSet"), [""]);
    assert.equal(unit.get("Service.MemoryDenyWriteExecute"), undefined);
  });
});

describe("deploy/monitoring", () => {
  it("asks only for metrics that an agent serves", async () => {
    const known = await served();
    for (const file of ["alerts.yml", "grafana/dashboards/conclave.json"]) {
      const names = namedIn(await read(`deploy/monitoring/${file}`));
      assert.ok(names.length > 4, file);
      for (const name of names) assert.ok(known.has(name), `${file} asks for ${name}`);
    }
  });

  it("has a dashboard whose panels do not overlap and ask the data source that is provided", async () => {
    const { panels } = JSON.parse(await read("deploy/monitoring/grafana/dashboards/conclave.json")) as {
      readonly panels: readonly {
        readonly title: string;
        readonly datasource: { readonly uid: string };
        readonly gridPos: { readonly x: number; readonly y: number };
        readonly targets: readonly { readonly expr: string }[];
      }[];
    };
    const { datasources } = parse(await read("deploy/monitoring/grafana/provisioning/datasources/prometheus.yml")) as {
      readonly datasources: readonly { readonly uid: string; readonly url: string }[];
    };
    for (const { datasource, title, targets } of panels) {
      assert.equal(datasource.uid, datasources[0]?.uid, title);
      for (const { expr } of targets) assert.equal(expr.split("(").length, expr.split(")").length, expr);
    }
    assert.equal(new Set(panels.map(({ gridPos }) => `${gridPos.x} ${gridPos.y}`)).size, panels.length);
  });

  it("has alerts that say what to look at", async () => {
    const { groups } = parse(await read("deploy/monitoring/alerts.yml")) as {
      readonly groups: readonly {
        readonly rules: readonly { readonly alert: string; readonly annotations: { readonly summary: string } }[];
      }[];
    };
    const rules = groups.flatMap((group) => group.rules);
    assert.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length);
    for (const { alert, annotations } of rules)
      assert.match(annotations.summary, /^\{\{ \$labels\.instance \}\}/, alert);
  });

  it("listens on this machine only, keeps no secret, and asks agents at the TCP port that the docs name", async () => {
    const text = await read("deploy/monitoring/docker-compose.yml");
    const { services } = parse(text, { merge: true }) as {
      readonly services: Readonly<
        Record<string, { readonly network_mode: string; readonly ports?: unknown; readonly image: string }>
      >;
    };
    assert.deepEqual(Object.keys(services), ["prometheus", "grafana"]);
    for (const { network_mode: mode, ports, image } of Object.values(services)) {
      assert.deepEqual([mode, ports], ["host", undefined]);
      assert.match(image, /:v?\d+\.\d+\.\d+$/);
    }
    assert.match(text, /--web\.listen-address=127\.0\.0\.1:9090/);
    assert.match(text, /GF_SERVER_HTTP_ADDR: 127\.0\.0\.1/);
    assert.match(text, /GF_SECURITY_ADMIN_PASSWORD: \$\{GRAFANA_PASSWORD:\?/);
    assert.match(await read("deploy/monitoring/prometheus.yml"), /"localhost:9464"/);
    assert.match(await read("docs/operating.md"), /"metrics": \{ "port": 9464 \}/);
  });
});
