import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { TOLERANCE, differencesOf } from "../bench/gas/gas-file.ts";

describe("the gas figures that are kept", () => {
  const kept = { request: 64_811, commit: 78_377 };

  it("are those that were measured, within the tolerance", () => {
    assert.deepEqual(differencesOf(kept, { commit: 78_377 - TOLERANCE, request: 64_811 + TOLERANCE }), []);
  });

  it("differ where more or less gas is used", () => {
    const measured = { request: 64_811 + TOLERANCE + 1, commit: 78_377 - TOLERANCE - 1 };
    assert.deepEqual(differencesOf(kept, measured), [
      { figure: "request", kept: kept.request, measured: measured.request },
      { figure: "commit", kept: kept.commit, measured: measured.commit },
    ]);
  });

  it("differ where a figure is missing or new", () => {
    assert.deepEqual(differencesOf(kept, { request: 64_811, draw: 80_151 }), [
      { figure: "commit", kept: kept.commit, measured: null },
      { figure: "draw", kept: null, measured: 80_151 },
    ]);
  });
});
