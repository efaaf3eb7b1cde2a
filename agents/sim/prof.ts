import { installHooks } from "./hooks.ts";
installHooks({ realSignatures: false, mutant: null });
const { runSeed } = await import("./batch.ts");
const { FAULTS, BYZANTINE_KINDS } = await import("./options.ts");
const [count = "100", n = "4", byz = "1", faults = "all", protocol = "mbft"] = process.argv.slice(2);
const options = {
  protocol,
  n: Number(n),
  byzantine: Number(byz),
  faults: faults === "all" ? FAULTS : [],
  byzantineKinds: BYZANTINE_KINDS,
  kind: null,
  errorPpm: 0,
};
for (let i = 1; i < 30; i++) await runSeed(options, i);
let cpu = 0;
for (let i = 1; i <= Number(count); i++) cpu += (await runSeed(options, i)).cpuMs;
console.log(
  Number(count),
  (cpu / Number(count)).toFixed(2),
  "ms each,",
  ((1000 * Number(count)) / cpu).toFixed(1),
  "per s",
);
