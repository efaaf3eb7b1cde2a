import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LEAST_JUDGED, MAX_RATIO, MIN_FASTER, medianRound, missedBounds } from "../bench/verify/bounds.ts";

describe("the bounds of npm run bench:verify", () => {
  it("are judged from 1,000 decisions on", () => {
    assert.equal(LEAST_JUDGED, 1000);
    assert.deepEqual(missedBounds(LEAST_JUDGED, MAX_RATIO, MIN_FASTER), []);
    assert.deepEqual(missedBounds(LEAST_JUDGED, 2.14, MIN_FASTER), ["ratio 2.14 is more than 2.1"]);
    assert.deepEqual(missedBounds(LEAST_JUDGED, MAX_RATIO, 4.999), [
      "4.99 times the decisions of noble is less than 5",
    ]);
    assert.deepEqual(missedBounds(LEAST_JUDGED, 2.1001, MIN_FASTER), ["ratio 2.11 is more than 2.1"]);
  });

  it("are not judged below: most of the time is then what every run costs once", () => {
    assert.equal(missedBounds(LEAST_JUDGED - 1, 8.7, 1.9), null);
  });

  it("are judged by the round with the median ratio", () => {
    assert.equal(medianRound([{ cpuRatio: 2.44 }, { cpuRatio: 1.9 }, { cpuRatio: 2.2 }]).cpuRatio, 2.2);
  });
});
