// Documents that keep themselves up to date: fetched when wanted, again when the run changed, never twice at once.

import { createContext } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import type { Params, Source } from "./source";

export interface Live {
  source: Source;
  /** How often each run has changed since the page was opened. */
  versions: Record<string, number>;
  connected: boolean;
}

export const LiveContext = createContext<Live>(null as unknown as Live);

const REFRESH_MS = 1000;
const REFRESH_AT_MOST_MS = 15_000;
// a document that is expensive to make is asked for less often: the run that is watched has better use for the processor
const REST = 20;

export interface Loaded<T> {
  data: T | null;
  error: string | null;
}

/** Null as name fetches nothing. While a new version is fetched, the old one stays; an error keeps it, too. */
export function useDocument<T>(name: string | null, params: Params, options: { still?: boolean } = {}): Loaded<T> {
  const { source, versions, connected } = useContext(LiveContext);
  const key = name === null ? null : `${name}?${JSON.stringify(params)}`;
  const [state, setState] = useState<Loaded<T> & { key: string | null }>({ key: null, data: null, error: null });
  const wanted = useRef(key);
  wanted.current = key;
  const asked = useRef({ key: "", at: 0, took: 0, flying: false });
  const version = options.still ? 0 : (versions[String(params.run ?? "")] ?? 0);

  useEffect(() => {
    if (name === null || key === null) return;
    let timer = 0;
    const load = () => {
      // never twice at once: what takes longer than the pause is waited for
      if (asked.current.key === key && asked.current.flying) {
        timer = window.setTimeout(load, REFRESH_MS);
        return;
      }
      const began = { key, at: Date.now(), took: 0, flying: true };
      asked.current = began;
      const finish = (data: T | null, error: string | null) => {
        began.took = Date.now() - began.at;
        began.flying = false;
        if (wanted.current !== key) return;
        setState((old) => ({ key, data: data ?? (old.key === key ? old.data : null), error }));
      };
      source.get<T>(name, params).then(
        (data) => finish(data, null),
        (error: unknown) => finish(null, error instanceof Error ? error.message : String(error)),
      );
    };
    const rest = Math.min(REFRESH_AT_MOST_MS, Math.max(REFRESH_MS, REST * asked.current.took));
    const wait = asked.current.key === key ? Math.max(0, asked.current.at + rest - Date.now()) : 0;
    timer = window.setTimeout(load, wait);
    return () => window.clearTimeout(timer);
    // a lost connection that comes back counts as a change
  }, [key, version, connected, source]);

  return state.key === key ? state : { data: null, error: null };
}
