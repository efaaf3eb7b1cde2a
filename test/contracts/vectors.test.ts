import { execFileSync } from "node:child_process";
import { join } from "node:path";

describe("test/vectors/eip712.json", () => {
  it("holds the values that ethers computes", () => {
    const script = join(import.meta.dirname, "../../scripts/vectors.ts");
    execFileSync(process.execPath, [script, "--check"], { stdio: "pipe" });
  });
});
