/** Started by llama-probe.ts: says which backend the engine finds, and ends. */
import { getLlama, getLlamaGpuTypes, getModuleVersion, LlamaLogLevel } from "node-llama-cpp";

import type { EngineReport } from "./engine-report.ts";

const logLevel = LlamaLogLevel.disabled;
const llama = await getLlama({ gpu: "auto", build: "never", skipDownload: true, logLevel });
const usable = await getLlamaGpuTypes("supported");
const report: EngineReport = {
  backend: llama.gpu === false ? "cpu" : llama.gpu,
  devices: llama.gpu === false ? [] : await llama.getGpuDeviceNames(),
  vramBytes: llama.gpu === false ? 0 : (await llama.getVramState()).total,
  cores: llama.cpuMathCores,
  version: await getModuleVersion(),
  drivers: usable.filter((one) => one !== false),
};
process.send?.(report, () => process.exit(0));
