import { useQuery } from "@tanstack/react-query";
import type { ReactElement, ReactNode } from "react";
import { formatUnits } from "viem";
import type { RequestUpdate } from "../../../sdk/src/index.ts";
import { CHOICES, hasOptions, KINDS, LABELS } from "../ask/question.ts";
import { exact, plural, protocolName, seconds, shortHex } from "../shared/format.ts";
import { useDashboard } from "../dashboard.tsx";

type Terms = RequestUpdate["request"]["terms"];

/** What was asked for, and for how much. */
export function AskedTerms({ request: { terms, consumer } }: Pick<RequestUpdate, "request">): ReactElement {
  const { conclave, settings } = useDashboard();
  const { data: fixed } = useQuery({ queryKey: ["terms", settings], queryFn: () => conclave.terms() });
  const token = terms.currency === "native" ? { symbol: "ETH", decimals: 18 } : fixed?.feeToken;
  return (
    <>
      <dl className="facts">
        <Fact name="Kind">{KINDS[terms.kind].name}</Fact>
        <Fact name="Protocol">{protocolName(terms.protocol)}</Fact>
        <Fact name="Seats">{terms.committeeSize}</Fact>
        {token !== undefined && <Fact name="Fee paid">{exact(terms.fee, token.decimals, token.symbol)}</Fact>}
        <Fact name="Asked by">
          <span className="mono" title={consumer}>
            {shortHex(consumer)}
          </span>
        </Fact>
      </dl>
      <details>
        <summary>All terms</summary>
        <dl className="facts">
          {restOf(terms).map(([name, value]) => (
            <Fact key={name} name={name}>
              {value}
            </Fact>
          ))}
        </dl>
      </details>
    </>
  );
}

/** The terms that few ask for, by the names that they have in the form. */
function restOf(terms: Terms): readonly (readonly [name: string, value: ReactNode])[] {
  const { kind, finality, callbackGasLimit } = terms;
  return [
    ...(hasOptions(kind) ? [["Options", terms.options] as const] : []),
    ...(kind === "number"
      ? [
          [LABELS.decimals, terms.decimals] as const,
          [LABELS.tolerance, formatUnits(terms.tolerance, terms.decimals)] as const,
        ]
      : []),
    [LABELS.assurance, CHOICES.assurance[terms.assurance]],
    ["Time to decide, and to appeal", seconds(terms.duration)],
    [LABELS.appeals, atMost(terms.appeals)],
    [LABELS.retries, atMost(terms.retries)],
    ["Time before it starts", terms.delay === 0 ? "None" : seconds(terms.delay)],
    ["Final at once", finality === 0 ? "No" : `From ${finality} % sure`],
    [LABELS.nonAnswers, CHOICES.nonAnswers[terms.nonAnswers]],
    [LABELS.security, CHOICES.security[terms.security]],
    ["Callback", callbackGasLimit === 0 ? "None" : `With ${plural(callbackGasLimit, "unit")} of gas`],
  ];
}

function atMost(count: number): string {
  return count === 0 ? "None" : `${count} at most`;
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }): ReactElement {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
