import { execFileSync } from "node:child_process";
import { join } from "node:path";

describe("test/vectors/eip712.json and skill.json", () => {
  it("hold the values that scripts/vectors.ts computes", () => {
    const script = join(import.meta.dirname, "../../scripts/vectors.ts");
    execFileSync(process.execPath, [script, "--check"], { stdio: "pipe" });
  });
});
