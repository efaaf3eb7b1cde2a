import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import type { SeatIndex } from "../../agents/core/types.ts";
import { PROVEN_SERVICES, type ChainReader } from "../../agents/ports/chain.ts";
import { drawn, type ChainHarness } from "./chain-questions.ts";

/** Checks what settled requests change in an agent's record besides its reputation. */
export function chainServicesSuite(name: string, createHarness: () => Promise<ChainHarness>): void {
  describe(`chain, services: ${name}`, () => {
    let harness: ChainHarness;
    let reader: ChainReader;
    before(async () => {
      harness = await createHarness();
      reader = await harness.reader();
    });
    after(() => harness.stop());

    /** Settles a request for which all agents sit; `unpaid` gets nothing, `slashed` is slashed. */
    const settle = async (unpaid: number | null, slashed: number | null, steps = -1): Promise<void> => {
      const writer = await harness.writer(0);
      const { request, awaited, committee, certifying } = await drawn(harness, { committeeSize: harness.keys.length });
      const seatOf = (agentId: number | null): number => committee.findIndex((seat) => seat.agentId === agentId);
      const isUnpaid = (seat: number): boolean => seat === seatOf(unpaid) || seat === seatOf(slashed);
      const certificate = certifying({
        shares: committee.map((_, seat) => (isUnpaid(seat) ? 0 : 85)),
        reputationChanges: slashed === null ? [] : [{ seat: seatOf(slashed) as SeatIndex, steps }],
      });
      await writer.commit(request, awaited, certificate);
    };
    const proven = async (): Promise<readonly number[]> =>
      (await reader.agents()).filter((agent) => agent.proven).map(({ agentId }) => agentId);

    it("ADR 10: an agent paid in sixteen settled requests is proven; one that got nothing or was slashed has not served", async () => {
      const [unpaid, slashed, ...others] = (await reader.agents()).map(({ agentId }) => agentId);
      assert.ok(unpaid !== undefined && slashed !== undefined);
      await settle(unpaid, slashed);
      assert.deepEqual(await Promise.all([unpaid, slashed, ...others].map((agentId) => harness.services(agentId))), [
        0,
        0,
        ...others.map(() => 1),
      ]);
      for (let service = 1; service < PROVEN_SERVICES - 1; service += 1) await settle(null, null);
      assert.deepEqual(await proven(), []);
      await settle(null, null);
      assert.deepEqual(await proven(), others);
      // More services do not count, and a slash takes none back.
      await settle(null, others[0] ?? null);
      assert.equal((await proven()).length, harness.keys.length);
      assert.equal(await harness.services(slashed), PROVEN_SERVICES);
      assert.equal((await reader.agentBySigner(harness.keys[2]?.address ?? reader.domain.oracle))?.reputation, 800_000);
    });

    it("RE4: the deepest fall of a week counts", async () => {
      const week = 604_800;
      const agentId = (await reader.agents()).at(-1)?.agentId ?? 0;
      const fallen = async (steps: number): Promise<number | undefined> => {
        await settle(null, agentId, steps);
        return (await reader.agents()).at(-1)?.reputation;
      };
      await harness.passTime(week - ((await reader.head()).timestamp % week));
      assert.deepEqual([await fallen(-1), await fallen(-3), await fallen(-2)], [800_000, 512_000, 512_000]);
      await harness.passTime(week);
      assert.equal(await fallen(-1), 409_600);
    });

    it("SE11: a small committee slashes a seat at most once", async () => {
      await harness.passTime(604_800);
      const writer = await harness.writer(0);
      const { request, awaited, committee, certifying } = await drawn(harness, { committeeSize: 4 });
      const reputations = async (): Promise<readonly (number | undefined)[]> => {
        const agents = await reader.agents();
        return committee.map(({ agentId }) => agents.find((agent) => agent.agentId === agentId)?.reputation);
      };
      const earlier = await reputations();
      const reputationChanges = committee.map((_, seat) => ({ seat: seat as SeatIndex, steps: -3 }));
      await writer.commit(request, awaited, certifying({ reputationChanges }));
      assert.deepEqual(
        await reputations(),
        earlier.map((reputation) => Math.floor((reputation ?? 0) * 0.8)),
      );
    });
  });
}
