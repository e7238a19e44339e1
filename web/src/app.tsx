// The frame: which run, which view, light or dark, and whether the connection stands.

import { useEffect, useMemo, useState } from "preact/hooks";
import { LiveContext, useDocument } from "./live";
import { Problem } from "./parts";
import { address, useRoute } from "./router";
import type { Source } from "./source";
import type { RunRow } from "./types";
import { CandidateView } from "./views/candidate";
import { CandidatesView } from "./views/candidates";
import { ConfigurationView } from "./views/configuration";
import { EnvironmentView } from "./views/environment";
import { EnvironmentsView } from "./views/environments";
import { MapView } from "./views/map";
import { OverviewView } from "./views/overview";
import { RolloutView } from "./views/rollout";
import { RolloutsView } from "./views/rollouts";
import { visible } from "./format";

const VIEWS: [string, string, string[]][] = [
  ["overview", "Overview", []],
  ["candidates", "Candidates", ["candidate"]],
  ["environments", "Environments", ["environment"]],
  ["rollouts", "Rollouts", ["rollout"]],
  ["map", "Map", []],
  ["configuration", "Configuration", []],
];
const THEMES = ["auto", "light", "dark"] as const;

function remembered(): (typeof THEMES)[number] {
  try {
    const theme = localStorage.getItem("evoenv-theme");
    return theme === "light" || theme === "dark" ? theme : "auto";
  } catch {
    return "auto"; // storage may be forbidden, for a file on disk say
  }
}

export function App({ source }: { source: Source }) {
  const [versions, setVersions] = useState<Record<string, number>>({});
  const [connected, setConnected] = useState(true);
  useEffect(
    () =>
      source.listen(
        (runs) => setVersions((old) => ({ ...old, ...Object.fromEntries(["", ...runs].map((run) => [run, (old[run] ?? 0) + 1])) })),
        setConnected,
      ),
    [source],
  );
  const live = useMemo(() => ({ source, versions, connected }), [source, versions, connected]);
  return (
    <LiveContext.Provider value={live}>
      <Frame source={source} connected={connected} />
    </LiveContext.Provider>
  );
}

function Frame({ source, connected }: { source: Source; connected: boolean }) {
  const route = useRoute();
  const [theme, setTheme] = useState(remembered);
  const { data, error } = useDocument<{ directory: string; runs: RunRow[] }>("runs", {});
  const runs = data?.runs ?? [];
  const chosen = route.params.run;
  const [first, setFirst] = useState<string | null>(null);
  useEffect(() => {
    if (first === null && runs[0]) setFirst(runs[0].name);
  }, [runs, first]);
  const run = chosen ?? first;

  useEffect(() => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    try {
      localStorage.setItem("evoenv-theme", theme);
    } catch {
      // as above
    }
  }, [theme]);

  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (event.altKey || event.ctrlKey || event.metaKey || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) return;
      const view = VIEWS[Number(event.key) - 1];
      if (view && run) location.hash = address(view[0], null, { run });
      else if (event.key === "/") {
        const search = document.querySelector<HTMLInputElement>("input[type=search]");
        if (search) {
          event.preventDefault();
          search.focus();
        }
      }
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [run]);

  const current = VIEWS.find(([key, , inner]) => key === route.view || inner.includes(route.view));
  useEffect(() => {
    document.title = `${run ?? "no run"} – ${current?.[1] ?? "EvoEnv"} – EvoEnv`;
  }, [run, current]);
  useEffect(() => {
    window.scrollTo(0, 0);
    const nav = document.querySelector("nav");
    const tab = nav?.querySelector<HTMLElement>("[aria-current]");
    if (nav && tab) nav.scrollLeft = tab.offsetLeft - nav.offsetLeft - (nav.clientWidth - tab.clientWidth) / 2; // narrow screens show some of the tabs
  }, [route.view, route.id]);

  return (
    <>
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), document.getElementById("main")?.focus())}>
        Skip to the content
      </a>
      <header>
        <div class="top">
          <p class="brand">
            EvoEnv <span>{source.live ? "watch" : "report"}</span>
          </p>
          {runs.length > 1 ? (
            <label class="chooser">
              <span class="sr">Run</span>
              <select
                id="run"
                value={run ?? ""}
                onChange={(event) => (location.hash = address(current?.[0] ?? "overview", null, { run: event.currentTarget.value }))}
              >
                {runs.map((row) => (
                  <option key={row.name} value={row.name}>
                    {visible(row.name)}
                    {row.running ? " (running)" : ""}
                  </option>
                ))}
              </select>
            </label>
          ) : (
            <p class="chooser one">{visible(run ?? "")}</p>
          )}
          <nav aria-label="Views">
            {VIEWS.map(([key, label], index) => (
              <a
                key={key}
                href={address(key, null, { run: run ?? undefined })}
                aria-current={current?.[0] === key ? "page" : undefined}
                aria-keyshortcuts={String(index + 1)}
                title={`${label} (key ${index + 1})`}
              >
                {label}
              </a>
            ))}
          </nav>
          <button
            id="theme"
            type="button"
            onClick={() => setTheme((old) => THEMES[(THEMES.indexOf(old) + 1) % THEMES.length] ?? "auto")}
            aria-label={`Colour theme: ${theme}`}
          >
            {theme === "auto" ? "◐" : theme === "light" ? "☀" : "☾"}
          </button>
        </div>
      </header>
      <p class={connected ? "connection" : "connection lost"} role="status">
        {connected ? "" : "The connection is lost. What you see is the last that was read; trying again …"}
      </p>
      <main id="main" tabIndex={-1}>
        {run ? (
          <View key={`${route.view} ${run}`} view={route.view} id={route.id} run={run} runs={runs} />
        ) : error ? (
          <Problem error={error} />
        ) : data ? (
          <p class="waiting-words">There is no run yet. It appears here as soon as it has begun.</p>
        ) : (
          <p class="waiting-words">Looking for runs…</p>
        )}
      </main>
      <footer>
        {source.live
          ? "This page only reads. Keys: 1 to 6 change the view, / searches, arrows move in tables."
          : `Written by evoenv report on ${source.written}. This file makes no network request; figures as PNG and CSV stand beside it in figures/.`}
      </footer>
    </>
  );
}

function View({ view, id, run, runs }: { view: string; id: string | null; run: string; runs: RunRow[] }) {
  switch (view) {
    case "overview":
      return <OverviewView run={run} runs={runs} />;
    case "candidates":
      return <CandidatesView run={run} />;
    case "candidate":
      return <CandidateView run={run} id={id ?? ""} />;
    case "environments":
      return <EnvironmentsView run={run} />;
    case "environment":
      return <EnvironmentView run={run} id={id ?? ""} />;
    case "rollouts":
      return <RolloutsView run={run} />;
    case "rollout":
      return <RolloutView run={run} id={id ?? ""} />;
    case "map":
      return <MapView run={run} />;
    case "configuration":
      return <ConfigurationView run={run} />;
    default:
      return <Problem error={`There is no view called “${view}”.`} />;
  }
}
