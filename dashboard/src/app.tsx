import { useQuery, useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useEffect, useRef, type ReactElement, type ReactNode } from "react";
import { Link, Route, Router, Switch, useLocation } from "wouter";
import { navigate, useHashLocation } from "wouter/use-hash-location";
import { HistoryPage } from "./history/history-page.tsx";
import { findSettings, forgetSettings, keepSettings } from "./settings/stored.ts";
import { shortId } from "./shared/format.ts";
import { ChainTrouble } from "./shared/source.tsx";
import { WalletMenu } from "./wallet/wallet-menu.tsx";
import { Boundary } from "./boundary.tsx";
import { DashboardProvider } from "./dashboard.tsx";

const decisionPage = async () => ({ default: (await import("./decision/decision-page.tsx")).DecisionPage });
const DecisionPage = lazy(decisionPage);
const AskPage = lazy(async () => ({ default: (await import("./ask/ask-page.tsx")).AskPage }));
const AgentsPage = lazy(async () => ({ default: (await import("./agents/agents-page.tsx")).AgentsPage }));
const FaultsPage = lazy(async () => ({ default: (await import("./faults/faults-page.tsx")).FaultsPage }));
const SettingsPage = lazy(async () => ({ default: (await import("./settings/settings-page.tsx")).SettingsPage }));
const AgentPage = lazy(async () => ({ default: (await import("./agents/agent-page.tsx")).AgentPage }));

// A link to a decision does not wait for the settings before its page is loaded.
if (location.hash.startsWith("#/request/")) void decisionPage().catch(() => undefined);

/** The dashboard: everything below one address, by hash routes. */
export function App(): ReactElement {
  const queries = useQueryClient();
  const { data: found, error } = useQuery({
    queryKey: ["settings"],
    queryFn: ({ signal }) => findSettings(signal),
    staleTime: Infinity,
  });
  if (error !== null) throw error;
  if (found === undefined) return <p className="loading">Loading…</p>;
  const changed = async (): Promise<void> => {
    await queries.invalidateQueries();
    navigate("/");
  };
  const form = (
    <SettingsPage
      found={found}
      onSave={(settings) => {
        keepSettings(settings);
        void changed();
      }}
      onForget={() => {
        forgetSettings();
        void changed();
      }}
    />
  );
  const { settings } = found;
  return (
    // The router calls it.
    // eslint-disable-next-line react/hooks
    <Router hook={useHashLocation}>
      {settings === null ? (
        <Frame tools={null}>{form}</Frame>
      ) : (
        <DashboardProvider key={JSON.stringify(settings)} settings={settings}>
          <Frame tools={<WalletMenu />}>
            <ChainTrouble />
            <Pages form={form} />
          </Frame>
        </DashboardProvider>
      )}
    </Router>
  );
}

function Pages({ form }: { readonly form: ReactElement }): ReactElement {
  return (
    <Switch>
      <Route path="/">
        <HistoryPage />
      </Route>
      <Route path="/request/:id">{({ id }) => <DecisionPage key={id} id={id} />}</Route>
      <Route path="/ask">
        <AskPage />
      </Route>
      <Route path="/agents">
        <AgentsPage />
      </Route>
      <Route path="/agents/faults">
        <FaultsPage />
      </Route>
      <Route path="/agents/:id">{({ id }) => <AgentPage key={id} id={id} />}</Route>
      <Route path="/settings">{form}</Route>
      <Route>
        <div className="narrow">
          <h1>There is no such page</h1>
          <p>
            <Link href="/">All decisions</Link>
          </p>
        </div>
      </Route>
    </Switch>
  );
}

const NAVIGATION = [
  ["/", "Decisions"],
  ["/ask", "Ask"],
  ["/agents", "Agents"],
  ["/settings", "Settings"],
] as const;

function isWithin(path: string, href: string): boolean {
  return href === "/" ? path === "/" || path.startsWith("/request/") : path.startsWith(href);
}

/** Names a page, for the tabs and the history of the browser. */
function titleOf(path: string): string {
  const [, place, id = ""] = path.split("/");
  if (place === "request" && /^\d{1,48}$/.test(id)) return `Request ${shortId(BigInt(id))}`;
  if (place === "agents" && /^\d{1,9}$/.test(id)) return `Agent ${id}`;
  if (place === "agents" && id === "faults") return "Faults";
  return NAVIGATION.find(([href]) => href === path)?.[1] ?? "No such page";
}

function Frame({ tools, children }: { readonly tools: ReactNode; readonly children: ReactNode }): ReactElement {
  const [path] = useLocation();
  const main = useRef<HTMLElement>(null);
  const shown = useRef(path);
  useEffect(() => {
    document.title = `${titleOf(path)} – Conclave`;
  }, [path]);
  // Who uses a keyboard or a screen reader begins each page at its top.
  useEffect(() => {
    if (shown.current === path) return;
    shown.current = path;
    scrollTo(0, 0);
    main.current?.focus({ preventScroll: true });
  }, [path]);
  return (
    <>
      <button type="button" className="skip" onClick={() => main.current?.focus()}>
        Skip to the content
      </button>
      <header className="top">
        <Link href="/" className="mark">
          Conclave
        </Link>
        <nav aria-label="Pages">
          {NAVIGATION.map(([href, name]) => (
            <Link key={href} href={href} aria-current={isWithin(path, href) ? "page" : undefined}>
              {name}
            </Link>
          ))}
        </nav>
        {tools}
      </header>
      <main ref={main} tabIndex={-1}>
        <Boundary key={path}>
          <Suspense fallback={<p className="loading">Loading…</p>}>{children}</Suspense>
        </Boundary>
      </main>
    </>
  );
}
