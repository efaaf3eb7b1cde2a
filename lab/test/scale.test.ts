import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { neighboursOf } from "../../agents/node/peers.ts";
import type { Address, AgentId } from "../../agents/core/types.ts";
import { timingConfigSchema } from "../../agents/node/config.ts";
import { assertAbove, assertBelow, assertClose, assertIncludes } from "../../test/support/assertions.ts";
import { JITTER, REGIONS, SIZES, halfTripMs } from "../scale/assumptions.ts";
import { demandOf, neighbourCount, processorOf, worldOf } from "../scale/demand.ts";
import { gasOf } from "../scale/gas.ts";
import { readGas, readInputs } from "../scale/inputs.ts";
import { SETTLED_AT_ONCE, limitsOf } from "../scale/limits.ts";
import { scaleTables } from "../scale/tables.ts";
import { certification, protocolCosts } from "../complexity/formulas.ts";
import { replaceSection } from "../shared/generated-section.ts";

const root = join(import.meta.dirname, "../..");
const [inputs, gas] = [readInputs(), readGas()];
const load = { agents: 10_000, perSecond: 1, n: 31 };

describe("docs/scale.md", () => {
  it("holds the tables that the kept inputs and the gas yield", () => {
    const document = readFileSync(join(root, "docs/scale.md"), "utf8");
    for (const [name, table] of Object.entries(scaleTables(inputs, gas)))
      assert.equal(replaceSection(document, name, table), document, `npm run lab -- scale --write: ${name}`);
  });
});

describe("scale", () => {
  it("measured messages are those of the protocol and of certification", () => {
    const mbft = protocolCosts.find(({ id }) => id === "mbft");
    for (const n of SIZES) {
      const messages = (mbft?.agree.messages.of(n) as number) + (certification.of(n) as number);
      assert.equal(processorOf(inputs, n).messages, messages);
      // Each goes to all other seats once, and some are handed on.
      assertAbove(worldOf(inputs, n, "wan").frames, 0.99 * messages * (n - 1), `n = ${n}`);
      assertBelow(worldOf(inputs, n, "wan").frames, 3 * messages * (n - 1), `n = ${n}`);
    }
  });

  it("a decision over a WAN takes at least the delays of its certification, and no time-out", () => {
    const { phaseMs } = timingConfigSchema.parse({});
    for (const n of SIZES) {
      const { firstMs, lastMs } = worldOf(inputs, n, "wan");
      assertAbove(firstMs.median, 3 * halfTripMs(0, 1));
      assertBelow(lastMs.worst, phaseMs);
    }
  });

  it("twice the decisions need twice of everything, and twice the agents half of it for each", () => {
    const one = demandOf(inputs, gas, load);
    const twice = demandOf(inputs, gas, { ...load, perSecond: 2 });
    const spread = demandOf(inputs, gas, { ...load, agents: 20_000 });
    for (const name of ["seatsPerDay", "bytesPerSecond", "coreShare", "storePerDay", "storeKept"] as const) {
      assertClose(twice[name] / one[name], 2, 1e-9, name);
      assertClose(spread[name] / one[name], 0.5, 1e-9, name);
    }
    assertClose(twice.rollupShare / one.rollupShare, 2, 1e-9);
    assert.equal(spread.rollupShare, one.rollupShare);
  });

  it("a limit is used up at the rate that it names", () => {
    const one = demandOf(inputs, gas, load);
    const rateOf = (what: string): number =>
      limitsOf(inputs, one).find((limit) => limit.what.startsWith(what))?.perSecond as number;
    const at = (perSecond: number) => demandOf(inputs, gas, { ...load, perSecond });
    assertClose(Math.max(...at(rateOf("gas of the L1, low")).blockShares), 1, 1e-9);
    assertClose(at(rateOf("gas of a rollup")).rollupShare, 1, 1e-9);
    assertClose(at(rateOf("blobs")).blobShare, 1, 1e-9);
    assertClose(at(rateOf("an agent's processor")).coreShare, 1, 1e-9);
    assertClose(at(rateOf("calls")).rpcPerSecond, 25, 1e-9);
    const rates = limitsOf(inputs, one).map(({ perSecond }) => perSecond);
    assert.deepEqual(
      rates,
      rates.toSorted((a, b) => a - b),
    );
  });

  it("gas is read from the file, and lies on a line elsewhere", () => {
    const of = (n: number): number => 100_000 + 1_000 * n;
    const figures = Object.fromEntries(
      [4, 7, 13, 31].flatMap((n) => {
        const one = `${n} seats, 1000 proven, 1 commits with 1 headers`;
        const many = `${n} seats, 1000 proven, 20 commits with 1 headers, an appeal allowed`;
        return [
          [`all in, ${one}`, of(n)],
          [`finalize, ${one}, an appeal allowed`, 10],
          [`settle, ${many}`, 20],
        ];
      }),
    );
    assert.deepEqual([4, 10, 31, 64].map(gasOf(figures).allIn), [4, 10, 31, 64].map(of));
    assert.equal(gasOf(figures).withAppeal(7), of(7) + 30);
    assert.throws(() => gasOf({}), /has no figure/);
  });

  it("what it says of the code is so", () => {
    const settler = readFileSync(join(root, "agents/node/request/settler.ts"), "utf8");
    assertIncludes(settler, `const SETTLED_AT_ONCE = ${SETTLED_AT_ONCE};`);
    assertIncludes(readFileSync(join(root, "agents/node/request/keeper.ts"), "utf8"), "const TICK_MS = 500;");
    for (const agents of [100, 1_000]) {
      const all = Array.from({ length: agents }, (_, index) => ({
        agentId: index as AgentId,
        signer: `0x${index}` as Address,
        endpoint: ["/memory"],
        active: true,
      }));
      assert.equal(neighboursOf("0x7" as Address, all as never).length, neighbourCount(agents));
    }
    for (let region = 0; region < REGIONS; region++)
      for (let other = 0; other < REGIONS; other++)
        assertBelow(halfTripMs(region, other) * (1 + JITTER), 500, `${region} ${other}`);
  });
});
