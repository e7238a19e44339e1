// A table of any length: only the rows in sight exist, and pages of rows are fetched as they come into sight.

import type { ComponentChildren } from "preact";
import { useContext, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { LiveContext } from "./live";
import type { Params } from "./source";
import type { Page } from "./types";

const ROW = 38;
const BLOCK = 100;

export interface Column<Row> {
  key: string;
  label: string;
  /** A CSS grid track. */
  width: string;
  cell: (row: Row) => ComponentChildren;
  align?: "right";
  /** Left out on narrow screens. */
  wide?: boolean;
}

interface Props<Row> {
  name: string;
  params: Params;
  run: string;
  columns: Column<Row>[];
  href: (row: Row) => string;
  label: string;
  id: (row: Row) => string;
  empty: string;
  onTotal?: (total: number) => void;
}

/** Newest first: the server counts from the oldest on, so that rows keep their numbers while new ones arrive. */
export function VirtualTable<Row>(props: Props<Row>) {
  const { source, versions } = useContext(LiveContext);
  const frame = useRef<HTMLDivElement>(null);
  const key = JSON.stringify([props.name, props.params]);
  const [state, setState] = useState<{ key: string; total: number | null; blocks: Map<number, Row[]>; error: string | null }>({ key, total: null, blocks: new Map(), error: null });
  const current = state.key === key ? state : { key, total: null, blocks: new Map<number, Row[]>(), error: null };
  const [scroll, setScroll] = useState(0);
  const [height, setHeight] = useState(560);
  const [active, setActive] = useState(0);
  const focusWanted = useRef(false);
  const pending = useRef(new Set<string>());
  const version = versions[props.run] ?? 0;
  const wide = useWide();
  const columns = props.columns.filter((column) => wide || !column.wide);
  const total = current.total ?? 0;

  const fetchBlock = (block: number) => {
    const mark = `${key}#${block}`;
    if (pending.current.has(mark)) return;
    pending.current.add(mark);
    source.get<Page<Row>>(props.name, { ...props.params, offset: block * BLOCK, limit: BLOCK }).then(
      (page) => {
        pending.current.delete(mark);
        setState((old) => {
          const blocks = new Map(old.key === key ? old.blocks : []);
          blocks.set(block, page.rows);
          return { key, total: page.total, blocks, error: null };
        });
      },
      (error: unknown) => {
        pending.current.delete(mark);
        const words = error instanceof Error ? error.message : String(error);
        setState((old) => ({ ...(old.key === key ? old : current), key, error: words }));
      },
    );
  };

  // the first look at a query, and whenever the run changes: how many there are, and what is in sight
  useEffect(() => {
    if (current.total === null) fetchBlock(0);
    else {
      const timer = window.setTimeout(() => {
        // the block at the end of the list is where new rows arrive
        const wanted = blocksInSight().add(Math.floor(total / BLOCK));
        // what is out of sight may have changed, too: it is fetched again when it comes into sight
        setState((old) => (old.key === key ? { ...old, blocks: new Map([...old.blocks].filter(([block]) => wanted.has(block))) } : old));
        for (const block of wanted) fetchBlock(block);
      }, 300);
      return () => window.clearTimeout(timer);
    }
    return undefined;
  }, [key, version]);

  useEffect(() => {
    if (frame.current !== null) frame.current.scrollTop = 0;
    setActive(0);
  }, [key]);

  useEffect(() => {
    if (current.total !== null) props.onTotal?.(current.total);
  }, [current.total]);

  useLayoutEffect(() => {
    const element = frame.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => setHeight(element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  const first = Math.max(0, Math.floor(scroll / ROW) - 6);
  const last = Math.min(total, Math.ceil((scroll + height) / ROW) + 6);
  const blocksInSight = () => {
    const blocks = new Set<number>();
    for (let index = first; index < last; index += 1) blocks.add(Math.floor((total - 1 - index) / BLOCK));
    return blocks;
  };

  useEffect(() => {
    if (current.total === null) return;
    for (const block of blocksInSight()) if (!current.blocks.has(block)) fetchBlock(block);
  }, [first, last, total, key, current.total === null]);

  useLayoutEffect(() => {
    if (!focusWanted.current) return;
    const row = frame.current?.querySelector<HTMLElement>(`[data-index="${active}"]`);
    if (row) {
      focusWanted.current = false;
      row.focus({ preventScroll: true });
    }
  });

  const move = (index: number) => {
    const next = Math.min(Math.max(index, 0), total - 1);
    const element = frame.current;
    if (element === null || total === 0) return;
    if (next * ROW < element.scrollTop) element.scrollTop = next * ROW;
    else if ((next + 1) * ROW > element.scrollTop + element.clientHeight) element.scrollTop = (next + 1) * ROW - element.clientHeight;
    focusWanted.current = true;
    setActive(next);
  };

  const onKeyDown = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor(height / ROW) - 1);
    const moves: Record<string, number> = {
      ArrowDown: active + 1,
      ArrowUp: active - 1,
      PageDown: active + page,
      PageUp: active - page,
      Home: 0,
      End: total - 1,
    };
    const target = moves[event.key];
    if (target !== undefined && !event.altKey && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      move(target);
    }
  };

  const template = columns.map((column) => column.width).join(" ");
  const rows = [];
  for (let index = first; index < last; index += 1) {
    const number = total - 1 - index;
    const row = current.blocks.get(Math.floor(number / BLOCK))?.[number % BLOCK];
    const place = { transform: `translateY(${index * ROW}px)`, gridTemplateColumns: template };
    rows.push(
      row === undefined ? (
        <div key={number} role="row" class="row waiting" style={place} aria-rowindex={index + 2}>
          <span role="cell">…</span>
        </div>
      ) : (
        <div key={number} role="row" class="row" style={place} data-id={props.id(row)} aria-rowindex={index + 2}>
          {columns.map((column, at) => (
            <span key={column.key} role="cell" class={column.align ?? ""}>
              {at > 0 ? (
                column.cell(row)
              ) : (
                <a class="open" href={props.href(row)} data-index={index} tabIndex={index === active ? 0 : -1} onFocus={() => setActive(index)}>
                  {column.cell(row)}
                </a>
              )}
            </span>
          ))}
        </div>
      ),
    );
  }
  return (
    <div class="table" role="table" aria-label={props.label} aria-rowcount={total + 1} aria-colcount={columns.length}>
      <div role="row" class="row head" style={{ gridTemplateColumns: template }} aria-rowindex={1}>
        {columns.map((column) => (
          <span key={column.key} role="columnheader" class={column.align ?? ""}>
            {column.label}
          </span>
        ))}
      </div>
      <div class="rows" ref={frame} onScroll={(event) => setScroll(event.currentTarget.scrollTop)} onKeyDown={onKeyDown} role="rowgroup">
        <div class="all" style={{ height: `${total * ROW}px` }} role="presentation">
          {rows}
        </div>
        {current.total === 0 && <p class="nothing">{props.empty}</p>}
        {current.error && <p class="nothing bad">{current.error}</p>}
      </div>
    </div>
  );
}

export function useWide(): boolean {
  const query = matchMedia("(min-width: 760px)");
  const [wide, setWide] = useState(query.matches);
  useEffect(() => {
    const update = () => setWide(query.matches);
    query.addEventListener("change", update);
    return () => query.removeEventListener("change", update);
  }, []);
  return wide;
}
