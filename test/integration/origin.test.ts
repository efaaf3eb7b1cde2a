import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryModel } from "../../agents/adapters/memory/model.ts";
import { decodeOrigins } from "../../agents/core/phases/origin.ts";
import { promptsName } from "../../agents/core/prompts/prompt.ts";
import type { PayloadMap } from "../../agents/core/protocol.ts";
import { createInputReader } from "../../agents/node/seat/records.ts";
import type { Model } from "../../agents/ports/model.ts";
import { attemptOf, signMessage } from "../support/core/committee.ts";
import { openSeatOf } from "./seat.ts";
import { truthful } from "./world.ts";
import { until } from "../support/until.ts";
import { assertFields } from "../support/assertions.ts";

const attempt = attemptOf(4);
const made = { model: "m@1 sha256:0011223344556677", engine: "e@2 cpu", sampling: "temperature=0" };

/** A model that names the origin of its answers, as real ones do. */
function original(): Model {
  const model = createMemoryModel(truthful("yes"), { prompts: "general" });
  const ask: Model["ask"] = async (request, signal) => ({
    ...(await model.ask(request, signal)),
    origin: { ...made, engine: "e@2\ncpu", seed: request.seed },
  });
  return { ...model, ask };
}

describe("PH12: the origin of an answer", () => {
  it("stands in the signed message that shows the answer, also after a restart", async () => {
    const seat = await openSeatOf(attempt, 0, { ports: { model: original() } });
    for (const other of [1, 2, 3])
      seat.session.deliver(signMessage(attempt, other, 1, 0, { commitment: new Uint8Array(32) }));
    const message = await until(() => seat.sent.find(({ header }) => header.phase === 2) ?? null);
    await seat.session.close();
    const origins = decodeOrigins((message.payload as PayloadMap)["made"]);
    assert.deepEqual(
      origins?.map(({ seed: _, ...rest }) => rest),
      [{ ...made, engine: "e@2-cpu", prompts: promptsName("general") }],
    );

    const records = await seat.journal();
    const read = createInputReader();
    const observed = records
      .slice(1)
      .map(read)
      .find((input) => input?.kind === "observed");
    assertFields(observed, { "observation.origin.model": made.model });
    const again = await openSeatOf(attempt, 0, { records, ports: { model: original() } });
    const digests = (): readonly string[] => again.sent.map(({ header }) => header.payloadDigest);
    await until(() => digests().includes(message.header.payloadDigest));
    await again.session.close();
  });
});
