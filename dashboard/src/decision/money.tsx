import { useQuery } from "@tanstack/react-query";
import type { ReactElement, ReactNode } from "react";
import { Link } from "wouter";
import type { Conclave, RequestUpdate } from "../../../sdk/src/index.ts";
import { exact, shortHex } from "../shared/format.ts";
import { SubgraphAlone } from "../shared/source.tsx";
import { Trouble } from "../shared/trouble.tsx";
import { useDashboard } from "../dashboard.tsx";

type Paid = NonNullable<Awaited<ReturnType<Conclave["money"]>>>;

/** Who paid for the request, and who was paid. Only a subgraph knows; what the asker paid, the chain knows, too. */
export function Money({ request }: Pick<RequestUpdate, "request">): ReactElement | null {
  const { id: requestId, terms } = request;
  const { conclave, settings } = useDashboard();
  const money = useQuery({
    queryKey: ["money", settings, String(requestId)],
    enabled: settings.subgraphUrl !== null,
    queryFn: async ({ signal }) => {
      const [paid, { feeToken }] = await Promise.all([conclave.money(requestId, signal), conclave.terms()]);
      return paid === null ? null : { paid, feeToken };
    },
  });
  if (money.error !== null) return <Trouble error={money.error} onRetry={() => void money.refetch()} />;
  if (money.data === undefined || money.data === null) return null;
  const { paid, feeToken } = money.data;
  const inUnit = (value: bigint, currency: Paid["currency"]): string => {
    const unit = currency === "token" ? feeToken : COIN;
    return exact(value, unit.decimals, unit.symbol);
  };
  const [told, held] = [inUnit(paid.fee, paid.currency), inUnit(terms.fee, terms.currency)];
  return (
    <>
      {told !== held && (
        <p className="problem" role="alert">
          The subgraph says that the asker paid {told}, but the chain says {held}. Do not rely on what it says of
          payments.
        </p>
      )}
      <details>
        <summary>Who was paid what</summary>
        <SubgraphAlone />
        <table className="agents">
          <tbody>
            {linesOf(paid).map(({ key, who, value }) => (
              <tr key={key}>
                <th scope="row">{who}</th>
                <td className="right number">{inUnit(value, paid.currency)}</td>
              </tr>
            ))}
          </tbody>
        </table>
        {!paid.settled && <p className="soft small">It is not settled yet: seats are paid when it is.</p>}
      </details>
    </>
  );
}

const COIN = { symbol: "ETH", decimals: 18 };

interface Line {
  readonly key: string;
  readonly who: ReactNode;
  readonly value: bigint;
}

function linesOf({ fee, refund, seats, rounds, callers }: Paid): readonly Line[] {
  const round = (attempt: number): string => (rounds.length > 1 ? `, attempt ${attempt}` : "");
  return [
    { key: "fee", who: "The asker paid", value: fee },
    ...seats.map(({ attempt, seat, agentId, amount }) => ({
      key: `seat ${attempt} ${seat}`,
      who: (
        <>
          Seat {seat}
          {round(attempt)}, <Link href={`/agents/${agentId}`}>agent {agentId}</Link>
        </>
      ),
      value: amount,
    })),
    ...rounds.flatMap(({ attempt, treasury, relayer, relayerPay }) => [
      {
        key: `relayer ${attempt}`,
        who: `Who brought the decision to the chain${round(attempt)}, ${shortHex(relayer)}`,
        value: relayerPay,
      },
      { key: `treasury ${attempt}`, who: `The treasury${round(attempt)}`, value: treasury },
    ]),
    // Each call is an entry of its own, though one account may have made several.
    ...callers.map(({ caller, amount }, index) => ({
      key: `caller ${index}`,
      who: `For the gas of moving it on, ${shortHex(caller)}`,
      value: amount,
    })),
    { key: "refund", who: "Back to the asker", value: refund },
  ];
}
