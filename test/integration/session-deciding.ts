import { CERTIFICATE } from "../../agents/core/seat/certify/messages.ts";
import type { Seat } from "./seat.ts";
import { until } from "../support/until.ts";

/** Delivers the seats' messages to each other until all have a certificate and `also` holds; then closes them. */
export async function decide(seats: readonly Seat[], also: () => boolean = () => true): Promise<void> {
  const delivered = seats.map(() => 0);
  try {
    await until(() => {
      for (const [from, { sent }] of seats.entries()) {
        for (const message of sent.slice(delivered[from]))
          for (const [to, other] of seats.entries()) if (to !== from) other.session.deliver(message);
        delivered[from] = sent.length;
      }
      return also() && seats.every(({ sent }) => sent.some(({ header }) => header.phase === CERTIFICATE));
    });
  } finally {
    for (const { session } of seats) await session.close();
  }
}
