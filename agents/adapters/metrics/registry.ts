import { Counter, Gauge, type CollectFunction, type Registry } from "prom-client";

/** Series of one registry, made in one line each; what is read from elsewhere is read when the metrics are asked for. */
export interface Series {
  /** `read`: of the moment. */
  readonly gauge: (name: string, help: string, read: () => number) => void;
  /** `read`: the whole sum; it never shrinks. */
  readonly total: (name: string, help: string, read: () => number) => void;
  /** The same by the values of one label, all of which are known beforehand. */
  readonly totals: <Value extends string>(
    name: string,
    help: string,
    label: string,
    read: () => Readonly<Record<Value, number>>,
  ) => void;
}

export function seriesOf(registry: Registry): Series {
  const registers = [registry];
  return {
    gauge(name, help, read) {
      const collect: CollectFunction<Gauge> = function collect() {
        this.set(read());
      };
      void new Gauge({ name, help, registers, collect });
    },
    total(name, help, read) {
      const collect: CollectFunction<Counter> = function collect() {
        this.reset();
        this.inc(read());
      };
      void new Counter({ name, help, registers, collect });
    },
    totals(name, help, label, read) {
      const collect: CollectFunction<Counter> = function collect() {
        this.reset();
        for (const [value, count] of Object.entries<number>(read())) this.inc({ [label]: value }, count);
      };
      void new Counter({ name, help, registers, labelNames: [label], collect });
    },
  };
}
