// Charts along steps, drawn by uPlot: lines or stacked columns, with the numbers under the pointer.

import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";

export interface Line {
  label: string;
  values: (number | null | undefined)[];
  colour: string;
  dash?: number[];
  /** Show dots instead of a line: measurements at some steps only. */
  dots?: boolean;
}

interface Props {
  title: string;
  hint?: string;
  x: number[];
  lines: Line[];
  kind?: "lines" | "columns";
  share?: boolean;
  /** The axis of values always reaches this far. */
  upTo?: number;
  unit?: string;
  empty?: string;
  height?: number;
}

export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim() || "#888";
}

/** Changes whenever the colours of the page do. */
export function useTheme(): string {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const read = () => document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light");
  const [theme, setTheme] = useState(read);
  useEffect(() => {
    const update = () => setTheme(read());
    const observer = new MutationObserver(update);
    observer.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    dark.addEventListener("change", update);
    return () => {
      observer.disconnect();
      dark.removeEventListener("change", update);
    };
  }, []);
  return theme;
}

export function tick(value: number, share = false): string {
  if (share) return `${Math.round(value * 100)}%`;
  if (Math.abs(value) >= 10000) return `${+(value / 1000).toPrecision(3)}k`;
  return String(+value.toPrecision(4)).replace("-", "−");
}

export function Chart(props: Props) {
  const { title, hint, x, lines, kind = "lines", share = false, unit = "", height = 190 } = props;
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [at, setAt] = useState<number | null>(null);
  const theme = useTheme();
  const shown = lines.filter((line) => line.values.some((value) => value !== null && value !== undefined));
  const shape = JSON.stringify([theme, kind, share, x.length > 60, shown.map((line) => [line.label, line.colour, line.dash, line.dots])]);
  const empty = x.length === 0 || shown.length === 0;

  useEffect(() => {
    if (host.current === null || empty) return;
    const element = host.current;
    const made = new uPlot(options(element.clientWidth), dataOf(), element);
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [shape, empty]);

  useEffect(() => plot.current?.setData(dataOf()), [x, lines]);

  function dataOf(): uPlot.AlignedData {
    if (kind === "lines") return [x, ...shown.map((line) => line.values.map((value) => value ?? null))] as uPlot.AlignedData;
    // the whole stack first, so that what lies further down is drawn over it
    const stacked = x.map(() => 0);
    const columns = shown.map((line) => line.values.map((value, index) => (stacked[index] = (stacked[index] ?? 0) + (value ?? 0))));
    return [x, ...columns.reverse()] as uPlot.AlignedData;
  }

  function options(width: number): uPlot.Options {
    const soft = colour("soft");
    const rule = colour("rule");
    const axis = { stroke: soft, grid: { stroke: rule, width: 1 }, ticks: { stroke: rule, width: 1, size: 4 }, font: "12px system-ui, sans-serif" };
    const drawn = kind === "columns" ? [...shown].reverse() : shown;
    const range = (_: uPlot, low: number | null, high: number | null): [number, number] => {
      if (share) return [0, 1];
      const bottom = Math.min(0, low ?? 0);
      const top = Math.max(props.upTo ?? 0, high ?? 1, bottom + 1e-9);
      const room = (top - bottom || 1) * 0.06;
      return [bottom < 0 ? bottom - room : 0, top + room];
    };
    return {
      width,
      height,
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { show: kind === "lines", size: 7 } },
      scales: {
        x: {
          time: false,
          range: (self) => {
            const steps = self.data[0];
            const [low, high] = [steps[0] ?? 0, steps[steps.length - 1] ?? 1];
            return kind === "columns" ? [low - 0.6, high + 0.6] : low === high ? [low - 1, high + 1] : [low, high];
          },
        },
        y: { range },
      },
      axes: [
        { ...axis, grid: { show: false }, size: 30, incrs: [1, 2, 5, 10, 20, 25, 50, 100, 200, 500, 1000, 2000, 5000, 10000], space: 44 },
        { ...axis, size: 46, values: (_, values) => values.map((value) => tick(value, share)) },
      ],
      series: [
        {},
        ...drawn.map((line): uPlot.Series => {
          const ink = colour(line.colour);
          if (kind === "columns") {
            return { stroke: ink, fill: ink, width: 0, points: { show: false }, paths: uPlot.paths.bars?.({ size: [0.76, 44] }) };
          }
          return {
            stroke: ink,
            width: line.dots ? 0 : 2,
            dash: line.dash,
            spanGaps: true,
            points: { show: line.dots || x.length <= 60, size: line.dots ? 9 : 5, fill: ink, stroke: ink },
          };
        }),
      ],
      hooks: { setCursor: [(self: uPlot) => setAt(self.cursor.idx ?? null)] },
    };
  }

  const index = at !== null && at < x.length ? at : null;
  return (
    <figure class="chart">
      <figcaption>
        <h3>{title}</h3>
        {hint && <p class="hint">{hint}</p>}
      </figcaption>
      {empty ? (
        <div class="nothing" style={{ height: `${height}px` }}>
          {props.empty ?? "Nothing to draw yet."}
        </div>
      ) : (
        <div ref={host} class="plot" style={{ height: `${height}px` }} role="img" aria-label={describe(title, x, shown, share)} />
      )}
      <p class="legend" aria-hidden="true">
        <span class="at">{index === null ? "step" : `step ${x[index]}`}</span>
        {shown.map((line) => (
          <span key={line.label}>
            <i class={line.dots ? "dot" : kind === "columns" ? "box" : line.dash ? "dashed" : "line"} style={{ "--hue": `var(--${line.colour})` }} />
            {line.label}
            <b>{value(line, index, share, unit)}</b>
          </span>
        ))}
      </p>
    </figure>
  );
}

function value(line: Line, index: number | null, share: boolean, unit: string): string {
  const last = index ?? line.values.findLastIndex((item) => item !== null && item !== undefined);
  const number = line.values[last];
  if (number === null || number === undefined) return "–";
  const text = share ? `${(number * 100).toFixed(1)}%` : Math.abs(number) >= 100 ? Math.round(number).toLocaleString("en") : tick(+number.toFixed(3));
  return text + unit;
}

function describe(title: string, x: number[], lines: Line[], share: boolean): string {
  const ends = lines.map((line) => {
    const known = line.values.filter((item): item is number => item !== null && item !== undefined);
    return `${line.label} from ${tick(known[0] ?? 0, share)} to ${tick(known[known.length - 1] ?? 0, share)}`;
  });
  return `${title}, steps ${x[0]} to ${x[x.length - 1]}: ${ends.join("; ")}`;
}

export function Bar(props: { label: string; value: number; of: number; words: string; colour: string; href?: string; title?: string }) {
  const width = props.of > 0 ? (100 * props.value) / props.of : 0;
  const inside = (
    <>
      <span class="bar-label">{props.label}</span>
      <span class="bar-track">
        <span class="bar-fill" style={{ width: `${props.value > 0 ? Math.max(width, 0.6) : 0}%`, background: `var(--${props.colour})` }} />
      </span>
      <span class="bar-words">{props.words}</span>
    </>
  );
  return props.href ? (
    <a class="bar-row" href={props.href} title={props.title}>
      {inside}
    </a>
  ) : (
    <div class="bar-row" title={props.title}>
      {inside}
    </div>
  );
}
