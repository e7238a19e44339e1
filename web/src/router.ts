// The address after #: a path and parameters. `#/candidate/ID?run=NAME`.

import { useEffect, useState } from "preact/hooks";

export interface Route {
  view: string;
  id: string | null;
  params: Record<string, string>;
}

export function parse(hash: string): Route {
  const [path = "", search = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [view = "", ...rest] = path.split("/");
  const id = rest.join("/");
  return {
    view: view || "overview",
    id: id ? safeDecode(id) : null,
    params: Object.fromEntries(new URLSearchParams(search)),
  };
}

function safeDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function address(view: string, id: string | null = null, params: Record<string, string | null | undefined> = {}): string {
  const given = Object.entries(params).filter((pair): pair is [string, string] => Boolean(pair[1]));
  const search = new URLSearchParams(given).toString();
  return `#/${view}${id === null ? "" : `/${encodeURIComponent(id)}`}${search ? `?${search}` : ""}`;
}

export function useRoute(): Route {
  const [route, setRoute] = useState(() => parse(location.hash));
  useEffect(() => {
    const update = () => setRoute(parse(location.hash));
    window.addEventListener("hashchange", update);
    return () => window.removeEventListener("hashchange", update);
  }, []);
  return route;
}

/** Change parameters of the address without a new entry in the history. */
export function replaceParams(route: Route, changes: Record<string, string | null>): void {
  const url = address(route.view, route.id, { ...route.params, ...changes });
  history.replaceState(null, "", url);
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}
