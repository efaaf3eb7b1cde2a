import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LEAST_JUDGED, MAX_RATIO, MIN_FASTER, isFast } from "../bench/verify/bounds.ts";

describe("the bounds of npm run bench:verify", () => {
  it("are judged from 1,000 decisions on", () => {
    assert.equal(LEAST_JUDGED, 1000);
    assert.equal(isFast(LEAST_JUDGED, MAX_RATIO, MIN_FASTER), true);
    assert.equal(isFast(LEAST_JUDGED, MAX_RATIO + 0.01, MIN_FASTER), false);
    assert.equal(isFast(LEAST_JUDGED, MAX_RATIO, MIN_FASTER - 0.01), false);
  });

  it("are not judged below: most of the time is then what every run costs once", () => {
    assert.equal(isFast(LEAST_JUDGED - 1, 8.7, 1.9), null);
  });
});
