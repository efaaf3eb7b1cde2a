import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import { isAway } from "./shared/trouble.tsx";
import "./style.css";

/** Time between two tries while the node is away. */
const RETRY_MS = 3_000;

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      // The chain's client tries again by itself.
      retry: false,
      networkMode: "always",
      refetchOnWindowFocus: false,
      refetchInterval: ({ state }) => (isAway(state.error) ? RETRY_MS : false),
    },
    mutations: { networkMode: "always" },
  },
});

const root = document.querySelector("#root");
if (root === null) throw new Error("index.html has no #root");
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <App />
    </QueryClientProvider>
  </StrictMode>,
);
