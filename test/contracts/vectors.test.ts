import { execFileSync } from "node:child_process";
import { join } from "node:path";

describe("test/vectors/eip712.json", () => {
  it("is what ethers makes of it", () => {
    const script = join(import.meta.dirname, "../../scripts/vectors.ts");
    execFileSync(process.execPath, [script, "--check"], { stdio: "pipe" });
  });
});
