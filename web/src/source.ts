// Where documents come from: the server, or the block of data inside a written page. Views do not know which.

import type { Candidate, Group, Page, Played } from "./types";

export type Params = Record<string, string | number | null | undefined>;

export class Failure extends Error {}

export interface Source {
  readonly live: boolean;
  readonly written?: string;
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

  constructor(private readonly data: Written) {
    this.written = data.written;
  }

  async get<T>(name: string, params: Params): Promise<T> {
    if (name === "candidates") return page(filterCandidates(this.data.candidates, params, this.data.candidate), params) as T;
    if (name === "groups") return page(filterGroups(this.data.groups, params), params) as T;
    if (name === "candidate" || name === "environment" || name === "group") {
      const document = this.data[name][String(params.id)];
      if (document === undefined) {
        throw new Failure("the texts of this one were left out of the file to keep it small; `evoenv watch` shows all of them");
      }
      return document as T;
    }
    const document = this.data.documents[name];
    if (document === undefined) throw new Failure("this is not part of the file");
    return document as T;
  }

  async play(): Promise<Played> {
    throw new Failure("playing needs the sandbox; open the run with `evoenv watch`");
  }

  listen(): () => void {
    return () => undefined;
  }
}

const INSIDE = ["pool", "retired", "entering"];

export function filterCandidates(rows: Candidate[], params: Params, texts: Record<string, unknown>): Candidate[] {
  const { fate, layer, code, step, tag } = params;
  const text = params.text ? String(params.text).toLowerCase() : "";
  const source = (id: string) => (texts[id] as { source?: { text: string } | null } | undefined)?.source?.text ?? "";
  return rows.filter(
    (row) =>
      (!fate || row.state === fate || (fate === "admitted" && INSIDE.includes(row.state))) &&
      (layer === undefined || layer === null || layer === "" || row.layer === Number(layer)) &&
      (!code || row.codes.includes(String(code))) &&
      (!step || row.step === Number(step)) &&
      (!tag || row.tags.includes(String(tag))) &&
      (!text || `${row.id}\n${row.name}\n${source(row.id)}`.toLowerCase().includes(text)),
  );
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
