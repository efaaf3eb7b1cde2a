import { installHooks } from "./hooks.ts";
installHooks({ realSignatures: false, mutant: null });
const { createPlan } = await import("./plan.ts");
const { runWorld } = await import("./world.ts");
const { FAULTS, BYZANTINE_KINDS } = await import("./options.ts");
const [seed = "1", n = "4", byz = "1", protocol = "mbft", f = "all", k = "all", verbose = ""] = process.argv.slice(2);
const plan = createPlan(
  {
    protocol,
    n: Number(n),
    byzantine: Number(byz),
    faults: f === "all" ? FAULTS : f === "none" ? [] : (f.split(",") as never),
    byzantineKinds: k === "all" ? BYZANTINE_KINDS : (k.split(",") as never),
    kind: null,
    errorPpm: 0,
  },
  Number(seed),
);
const t = await runWorld(plan);
console.log({
  byz: plan.byzantine,
  faults: plan.faults,
  heal: plan.healAt,
  links: plan.links,
  partitions: plan.partitions,
  crashes: plan.crashes,
  think: plan.thinkMs,
  lat: plan.latencyMs,
  kind: plan.attempt.request.terms.kind,
  assurance: plan.attempt.request.terms.assurance,
  truth: plan.truth,
  ended: t.endedAt,
  due: t.dueAt,
});
for (const s of t.seats)
  console.log(
    s.seat,
    s.byzantine,
    s.certificates.map((c) =>
      [
        c.at,
        c.certificate.decision.status,
        c.certificate.decision.answer,
        c.certificate.decision.round,
        c.certificate.decision.transcript.slice(0, 10),
      ].join(),
    ),
    s.silent,
    s.journalBytes,
    s.backlog,
    s.evidence.length,
  );
console.log([...t.messages].map(([k, m]) => `${k}:${m.length}`).join(" "));
