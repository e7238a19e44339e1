// Where documents come from: the server, or the block of data inside a written page. Views do not know which.

import { count } from "./format";
import type { Candidate, Group, Page, Played } from "./types";

export type Params = Record<string, string | number | null | undefined>;

export class Failure extends Error {}

export interface Source {
  readonly live: boolean;
  readonly written?: string;
  /** What a file leaves out, and where it is. */
  readonly left_out?: string[];
  get<T>(name: string, params: Params): Promise<T>;
  play(body: Record<string, unknown>): Promise<Played>;
  /** Calls back with the names of runs that changed, and whether the connection stands. */
  listen(changed: (runs: string[]) => void, connected: (yes: boolean) => void): () => void;
}

function query(params: Params): string {
  const given = Object.entries(params).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return new URLSearchParams(given.map(([key, value]) => [key, String(value)])).toString();
}

async function read<T>(answer: Response): Promise<T> {
  const text = await answer.text();
  if (!answer.ok) {
    let words = text.trim();
    try {
      words = String((JSON.parse(text) as { error: unknown }).error);
    } catch {
      // a refusal of the guard is plain text
    }
    throw new Failure(words || `the server answered ${answer.status}`);
  }
  return JSON.parse(text) as T;
}

export class ServerSource implements Source {
  readonly live = true;

  async get<T>(name: string, params: Params): Promise<T> {
    let answer: Response;
    try {
      answer = await fetch(`api/${name}?${query(params)}`, { credentials: "same-origin" });
    } catch {
      throw new Failure("the server does not answer; is `evoenv watch` still running?");
    }
    return read<T>(answer);
  }

  async play(body: Record<string, unknown>): Promise<Played> {
    const answer = await fetch("api/play", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      credentials: "same-origin",
    });
    return read<Played>(answer);
  }

  listen(changed: (runs: string[]) => void, connected: (yes: boolean) => void): () => void {
    // A browser allows six connections to a server, for all its tabs together: a page that nobody sees holds none.
    let events: EventSource | null = null;
    let again: number | undefined;
    const close = () => {
      window.clearTimeout(again);
      events?.close();
      events = null;
    };
    const open = () => {
      close();
      const opened = new EventSource("api/changes");
      events = opened;
      opened.onopen = () => connected(true);
      opened.onerror = () => {
        connected(false);
        if (opened.readyState === EventSource.CLOSED) again = window.setTimeout(open, 3000);
      };
      opened.addEventListener("change", (event) => {
        const data = JSON.parse((event as MessageEvent<string>).data) as { changed: string[]; gone: string[] };
        changed([...data.changed, ...data.gone]);
      });
    };
    const look = () => (document.visibilityState === "visible" ? events === null && open() : close());
    document.addEventListener("visibilitychange", look);
    window.addEventListener("pagehide", close);
    window.addEventListener("pageshow", look);
    look();
    return () => {
      close();
      document.removeEventListener("visibilitychange", look);
      window.removeEventListener("pagehide", close);
      window.removeEventListener("pageshow", look);
    };
  }
}

interface Written {
  written: string;
  totals: { candidate: number; environment: number; group: number };
  /** Long texts, each once; documents refer to them by number. */
  texts: string[];
  documents: Record<string, unknown>;
  candidates: Candidate[];
  candidate: Record<string, unknown>;
  environment: Record<string, unknown>;
  groups: Group[];
  group: Record<string, unknown>;
}

export class WrittenSource implements Source {
  readonly live = false;
  readonly written: string;
  readonly left_out: string[];
  /** The rows of candidates; their documents have only what a row has not. */
  private readonly rows: Map<string, Candidate>;

  constructor(private readonly data: Written) {
    this.rows = new Map(data.candidates.map((row) => [row.id, row]));
    this.written = data.written;
    this.left_out = leftOut(data);
  }

  async get<T>(name: string, params: Params): Promise<T> {
    if (name === "candidates") return page(filterCandidates(this.data.candidates, params, (id) => this.sourceOf(id)), params) as T;
    if (name === "groups") return page(filterGroups(this.data.groups, params), params) as T;
    if (name === "candidate" || name === "environment" || name === "group") {
      const document = this.data[name][String(params.id)];
      if (document === undefined) {
        throw new Failure("the texts of this one were left out of the file to keep it small; `evoenv watch` shows all of them");
      }
      const row = name === "candidate" ? this.rows.get(String(params.id)) : undefined;
      return { ...row, ...(resolve(document, this.data.texts) as object) } as T;
    }
    const document = this.data.documents[name];
    if (document === undefined) throw new Failure("this is not part of the file");
    return document as T;
  }

  private sourceOf(id: string): string {
    const source = (this.data.candidate[id] as { source?: { text?: string; ref?: number } | null } | undefined)?.source;
    return source?.text ?? this.data.texts[source?.ref ?? -1] ?? "";
  }

  async play(): Promise<Played> {
    throw new Failure("playing needs the sandbox; open the run with `evoenv watch`");
  }

  listen(): () => void {
    return () => undefined;
  }
}

/** A document with its texts put back in. */
function resolve(value: unknown, texts: string[]): unknown {
  if (Array.isArray(value)) return value.map((item) => resolve(item, texts));
  if (value === null || typeof value !== "object") return value;
  const given = value as Record<string, unknown>;
  if (typeof given.ref === "number") return { text: texts[given.ref] ?? "", length: given.length };
  return Object.fromEntries(Object.entries(given).map(([key, item]) => [key, resolve(item, texts)]));
}

function leftOut(data: Written): string[] {
  const { candidate, environment, group } = data.totals;
  const words: string[] = [];
  if (data.candidates.length < candidate) {
    words.push(
      `Listed are ${count(data.candidates.length)} of ${count(candidate)} candidates: all that were admitted and the newest of the rest. The file candidates.csv has all of them.`,
    );
  }
  if (data.groups.length < group) words.push(`Of ${count(group)} groups the newest ${count(data.groups.length)} are listed.`);
  const inside = [data.candidate, data.environment, data.group].map((texts) => Object.keys(texts).length);
  if ((inside[0] ?? 0) < candidate || (inside[1] ?? 0) < environment || (inside[2] ?? 0) < group) {
    words.push(
      `To keep this file small, it has the texts of ${count(inside[0])} of ${count(candidate)} candidates (some of every fate, the newest first), ` +
        `${count(inside[1])} of ${count(environment)} environments and ${count(inside[2])} of ${count(group)} groups. \`evoenv watch\` shows all of them; \`evoenv report --texts MB\` embeds more.`,
    );
  }
  return words;
}

const INSIDE = ["pool", "retired", "entering"];

/** What rows are put in order by; the last comes first in a table. Unknown values count as the least. */
const ORDERS: Record<string, (row: Candidate) => number> = {
  reward: (row) => row.reward ?? -1e9,
  rate: (row) => row.rate ?? -1,
  novelty: (row) => row.novelty ?? -1,
  layer: (row) => row.layer ?? -1,
};

export function filterCandidates(rows: Candidate[], params: Params, source: (id: string) => string): Candidate[] {
  const { fate, layer, code, step, tag } = params;
  const text = params.text ? String(params.text).toLowerCase() : "";
  const kept = rows.filter(
    (row) =>
      (!fate || row.state === fate || (fate === "admitted" && INSIDE.includes(row.state))) &&
      (layer === undefined || layer === null || layer === "" || row.layer === Number(layer)) &&
      (!code || row.codes.includes(String(code))) &&
      (!step || row.step === Number(step)) &&
      (!tag || row.tags.includes(String(tag))) &&
      (!text || `${row.id}\n${row.name}\n${source(row.id)}`.toLowerCase().includes(text)),
  );
  const order = String(params.sort ?? "");
  const value = ORDERS[order];
  if (order === "oldest") return kept.reverse();
  if (order === "name") return kept.sort((a, b) => (a.name === b.name ? 0 : a.name < b.name ? 1 : -1));
  return value ? kept.sort((a, b) => value(a) - value(b)) : kept;
}

function filterGroups(rows: Group[], { role, step, subject }: Params): Group[] {
  return rows.filter(
    (row) => (!role || row.role === role) && (!step || row.step === Number(step)) && (!subject || row.subject === subject),
  );
}

function page<Row>(rows: Row[], { offset, limit }: Params): Page<Row> {
  const first = Number(offset ?? 0);
  return { total: rows.length, offset: first, rows: rows.slice(first, first + Number(limit ?? 100)) };
}

export function openSource(): Source {
  const block = document.getElementById("data");
  return block === null ? new ServerSource() : new WrittenSource(JSON.parse(block.textContent ?? "") as Written);
}
