/** What the embedded engine found on this machine. */
export interface EngineReport {
  /** Where the model's layers are computed. */
  readonly backend: "cpu" | "cuda" | "vulkan" | "metal";
  readonly devices: readonly string[];
  readonly vramBytes: number;
  readonly cores: number;
  /** Backends whose drivers are installed, whether or not this checkout has their builds of the engine. */
  readonly drivers: readonly ("cuda" | "vulkan" | "metal")[];
}
