import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import { Boundary } from "./boundary.tsx";
import { keepFocus } from "./shared/focus.ts";
import { retryMs } from "./shared/trouble.tsx";
import "./style.css";

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      // The chain's client tries again by itself.
      retry: false,
      networkMode: "always",
      refetchOnWindowFocus: false,
      refetchInterval: ({ state }) => retryMs(state.error),
    },
    mutations: { networkMode: "always" },
  },
});

keepFocus();
const root = document.querySelector("#root");
if (root === null) throw new Error("index.html has no #root");
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <Boundary>
        <App />
      </Boundary>
    </QueryClientProvider>
  </StrictMode>,
);
