import { once } from "node:events";
import { createServer } from "node:http";
import { connect, type AddressInfo } from "node:net";

/** Runs `use` with the URL of a proxy whose every tunnel leads to that port. */
export async function withProxy<T>(port: number, use: (proxyUrl: string) => Promise<T>): Promise<T> {
  const proxy = createServer();
  proxy.on("connect", (_, socket) => {
    const inner = connect(port, "127.0.0.1", () => socket.write("HTTP/1.1 200 OK\r\n\r\n"));
    for (const one of [inner, socket]) one.on("error", () => undefined);
    inner.pipe(socket).pipe(inner);
  });
  await once(proxy.listen(0, "127.0.0.1"), "listening");
  try {
    return await use(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}`);
  } finally {
    proxy.close();
  }
}
