/** What the embedded engine found on this machine. */
export interface EngineReport {
  /** Where the model's layers are computed. */
  readonly backend: "cpu" | "cuda" | "vulkan" | "metal";
  readonly devices: readonly string[];
  readonly vramBytes: number;
  readonly cores: number;
  /** Version of node-llama-cpp, which its builds must have, too. */
  readonly version: string;
  /** Backends whose drivers are installed, whether or not their builds of the engine are. */
  readonly drivers: readonly ("cuda" | "vulkan" | "metal")[];
}
