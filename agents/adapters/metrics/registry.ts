import { Counter, Gauge, type CollectFunction, type Registry } from "prom-client";

/** Makes the series of a registry, each in one line; values from elsewhere are read when the metrics are requested. */
export interface Series {
  /** Makes a gauge; `read` returns the current value. */
  readonly gauge: (name: string, help: string, read: () => number) => void;
  /** Makes a counter; `read` returns the whole sum, which never shrinks. */
  readonly total: (name: string, help: string, read: () => number) => void;
  /** Makes counters by the values of one label, all of which are known beforehand. */
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
