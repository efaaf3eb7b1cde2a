import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { readCalibration } from "../../agents/adapters/models/calibration-table.ts";
import { modelConfigSchema } from "../../agents/adapters/models/config.ts";
import { createModel } from "../../agents/adapters/models/create-model.ts";
import { runCli } from "../../agents/cli/run-cli.ts";
import { ConclaveError } from "../../agents/core/errors.ts";

const gguf = join(import.meta.dirname, "../../models/conclave-small.gguf");
const folder = mkdtempSync(join(tmpdir(), "conclave-calibrate-"));
after(() => rmSync(folder, { recursive: true }));

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function calibrate(words: readonly string[], stop: AbortController | null = null): Promise<Ran> {
  let [out, err] = ["", ""];
  const code = await runCli(["calibrate", ...words], {
    stdout: (text) => void (out += text),
    stderr: (text) => {
      err += text;
      if (/answers/.test(text)) stop?.abort(new Error("stopped by SIGINT"));
    },
    environment: {},
    cwd: folder,
    signal: stop?.signal ?? new AbortController().signal,
  });
  return { code, out, err };
}

const configWith = (fields: object): ReturnType<typeof modelConfigSchema.parse> =>
  modelConfigSchema.parse({ kind: "llama", path: gguf, ...fields });

describe("conclave calibrate", () => {
  it("CF4, CF6, CF7: measures the embedded model; its config accepts the table, one with another sampling refuses it", async () => {
    const words = ["--model", gguf, "--families", "sum,choose", "--out", "table.json", "--json"];
    const { code, out, err } = await calibrate(words);
    assert.equal(code, 0, err);
    const { path, table } = JSON.parse(out) as { readonly path: string; readonly table: object };
    assert.deepEqual(await readCalibration(path), table);
    assert.deepEqual(readdirSync(folder), ["table.json"]);
    const { curves, measure, questions, model, engine, sampling } = await readCalibration(path);
    assert.deepEqual([measure, questions.count, sampling], ["token-probability", 80, "temperature=0"]);
    assert.match(`${model} ${engine}`, /^conclave-small@\S+ sha256:[0-9a-f]{16} node-llama-cpp@/);
    assert.deepEqual([curves["answer"]?.fitted, curves["answer"]?.heldOut], [64, 16]);
    assert.deepEqual([curves["verdict"]?.fitted, curves["verdict"]?.heldOut], [128, 32]);
    assert.match(err, /80 questions for conclave-small.*\n.*12 of 240 answers\n/);

    const calibrated = await createModel(configWith({ calibration: path }));
    const steps = curves["answer"]?.steps.map(({ right, of }) => Math.floor((1e6 * (right + 1)) / (of + 2))) ?? [];
    const request = {
      system: "",
      user: 'task: propose\nkind: number 0\nquestion: "What is 25 + 38?"',
      schema: {
        properties: [
          { name: "proof", maxLength: 110 },
          { name: "answer", maxLength: 128 },
        ],
      },
      maxTokens: 200,
      seed: 1,
      confidenceOf: "answer",
    };
    const { fields, confidencePpm } = await calibrated.ask(request, new AbortController().signal);
    await calibrated.close();
    assert.equal(fields["answer"], "63");
    assert.ok(steps.includes(confidencePpm ?? -1));

    const hot = createModel(configWith({ calibration: path, temperature: 1 }));
    await assert.rejects(hot, (error) => error instanceof ConclaveError && error.code === "CALIBRATION_WRONG");
    const other = { ...(JSON.parse(readFileSync(path, "utf8")) as object), model: "conclave-small@0.1 sha256:00" };
    writeFileSync(path, JSON.stringify(other));
    const old = createModel(configWith({ calibration: path }));
    await assert.rejects(old, (error) => error instanceof ConclaveError && error.code === "CALIBRATION_WRONG");
  });

  it("Ctrl-C ends it with 130 and leaves no file", async () => {
    const { code, out } = await calibrate(["--model", gguf, "--out", "stopped.json", "--json"], new AbortController());
    assert.equal(code, 130);
    assert.match(out, /INTERRUPTED/);
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.startsWith("stopped")),
      [],
    );
  });

  it("names what is wrong with its input, and measures nothing", async () => {
    writeFileSync(join(folder, "wrong.jsonl"), '{"question":"?","kind":"boolean","answer":"perhaps"}\n');
    const wrong: readonly (readonly [words: readonly string[], code: number, says: RegExp])[] = [
      [["--model", gguf, "--questions", "wrong.jsonl"], 2, /CONFIG_INVALID: .*line 1, answer/],
      [["--model", gguf, "--families", "chess"], 2, /USAGE: .*"chess".*policy/],
      [["--model", gguf, "--temperature", "9"], 2, /--temperature/],
      [["--model", gguf, "--samples", "2"], 2, /--samples.*temperature 0/],
      [["--model", gguf, "--dir", "."], 2, /not both/],
      [["--samples", "0"], 2, /--samples/],
      [["--dir", "nowhere"], 2, /CONFIG_MISSING/],
      [["--model", "no.gguf"], 1, /MODEL_FILE_MISSING/],
    ];
    for (const [words, code, says] of wrong) {
      const ran = await calibrate(words);
      assert.deepEqual([ran.code, ran.out], [code, ""], words.join(" "));
      assert.match(ran.err, says);
    }
    assert.equal(existsSync(join(folder, "calibration.json")), false);
  });
});
