import type { Connection } from "./connection.ts";

export async function readHead(
  connection: Connection,
  signal?: AbortSignal,
): Promise<{ readonly number: bigint; readonly timestamp: number }> {
  const { number, timestamp } = await connection.call("Read the newest block", signal, (client) => client.getBlock());
  return { number, timestamp: Number(timestamp) };
}
