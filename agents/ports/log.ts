/** Structured log lines; pino fits. Never pass keys, passwords or whole prompts. */
export interface Log {
  debug(data: object, message: string): void;
  info(data: object, message: string): void;
  warn(data: object, message: string): void;
  error(data: object, message: string): void;
}
