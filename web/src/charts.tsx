// Charts along steps, drawn by uPlot: lines or stacked columns, with the numbers under the pointer.

import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { count, visible } from "./format";

export interface Line {
  label: string;
  values: (number | null | undefined)[];
  colour: string;
  dash?: number[];
  /** Show dots, joined by a thin line: measurements at some steps only. */
  dots?: boolean;
  /** A range around each value: drawn as a band, or around dots as intervals. */
  low?: (number | null | undefined)[];
  high?: (number | null | undefined)[];
}

interface Props {
  title: string;
  hint?: string;
  x: number[];
  /** What stands at the positions of x, if not their numbers. */
  labels?: string[];
  xLabel?: string;
  /** A vertical line at a position along x, with words. */
  marker?: [number, string] | null;
  id?: string;
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
  const { title, hint, x, lines, labels, kind = "lines", share = false, unit = "", height = 190, xLabel = "step" } = props;
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [at, setAt] = useState<number | null>(null);
  const theme = useTheme();
  const shown = lines.filter((line) => line.values.some((value) => value !== null && value !== undefined));
  const ranged = useRef(shown);
  ranged.current = shown;
  const shape = JSON.stringify([theme, kind, share, labels, x.length > 60, shown.map((line) => [line.label, line.colour, line.dash, line.dots])]);
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
    // the whole stack first, so that what lies further down is drawn over it; what is negative hangs below the axis
    const stacks = [x.map(() => 0), x.map(() => 0)];
    const columns = shown.map((line) =>
      line.values.map((value, index) => {
        const stack = stacks[(value ?? 0) < 0 ? 1 : 0] ?? [];
        return (stack[index] = (stack[index] ?? 0) + (value ?? 0));
      }),
    );
    return [x, ...columns.reverse()] as uPlot.AlignedData;
  }

  function options(width: number): uPlot.Options {
    const soft = colour("soft");
    const rule = colour("rule");
    const axis = { stroke: soft, grid: { stroke: rule, width: 1 }, ticks: { stroke: rule, width: 1, size: 4 }, font: "12px system-ui, sans-serif" };
    const drawn = kind === "columns" ? [...shown].reverse() : shown;
    const range = (_: uPlot, low: number | null, high: number | null): [number, number] => {
      if (share) return [0, 1];
      const known = (values: (number | null | undefined)[] = []) => values.filter((value): value is number => value !== null && value !== undefined);
      const bottom = Math.min(0, low ?? 0, ...ranged.current.flatMap((line) => known(line.low)));
      const top = Math.max(props.upTo ?? 0, high ?? 1, bottom + 1e-9, ...ranged.current.flatMap((line) => known(line.high)));
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
        { ...axis, grid: { show: false }, size: 30, incrs: [1, 2, 5, 10, 20, 25, 50, 100, 200, 500, 1000, 2000, 5000, 10000], space: Math.max(44, 9 * Math.max(0, ...(labels ?? []).map((label) => label.length))), ...(labels && { values: (_: uPlot, values: number[]) => values.map((value) => labels[value] ?? "") }) },
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
            width: line.dots ? 1 : 2,
            dash: line.dash,
            spanGaps: true,
            points: { show: line.dots || x.length <= 60, size: line.dots ? 9 : 5, fill: ink, stroke: ink },
          };
        }),
      ],
      hooks: {
        setCursor: [(self: uPlot) => setAt(self.cursor.idx ?? null)],
        drawAxes: [(self: uPlot) => ranged.current.forEach((line) => drawRange(self, x, line)), (self: uPlot) => props.marker && drawMarker(self, props.marker)],
      },
    };
  }

  const index = at !== null && at < x.length ? at : null;
  return (
    <figure class="chart" id={props.id}>
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
        <span class="at">{index === null ? xLabel : `${xLabel} ${labels?.[index] ?? x[index]}`}</span>
        {shown.map((line) => (
          <span key={line.label}>
            <i class={line.dots ? "dot" : kind === "columns" ? "box" : "line"} style={{ "--hue": `var(--${line.colour})`, background: line.dots || kind === "columns" ? undefined : stroke(line.dash) }} />
            {line.label}
            <b>{index === null && labels ? "" : value(line, index, share, unit)}</b>
          </span>
        ))}
      </p>
      {!empty && (
        <Numbers
          columns={[xLabel, ...shown.map((line) => line.label)]}
          rows={x.map((at, row) => [labels?.[row] ?? at, ...shown.map((line) => line.values[row] ?? null)])}
        />
      )}
    </figure>
  );
}

/** A line's strokes and gaps as the background of its mark in the legend. */
function stroke(dash: number[] | undefined): string {
  if (!dash) return "var(--hue)";
  let at = 0;
  const stops = dash.map((length, index) => `${index % 2 ? "transparent" : "var(--hue)"} ${at}px ${(at += length)}px`);
  return `repeating-linear-gradient(90deg, ${stops.join(", ")})`;
}

const ROWS_AT_MOST = 500;

/** The numbers behind a chart, made when they are asked for. */
export function Numbers({ columns, rows, more = 0 }: { columns: string[]; rows: (string | number | null)[][]; more?: number }) {
  const [open, setOpen] = useState(false);
  const left = more + Math.max(0, rows.length - ROWS_AT_MOST);
  return (
    <details class="numbers" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>The numbers as a table</summary>
      {open && (
        <div class="scroll small">
          <table class="plain">
            <thead>
              <tr>
                {columns.map((label) => (
                  <th key={label} scope="col">
                    {visible(label)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.slice(0, ROWS_AT_MOST).map((row, index) => (
                <tr key={index}>
                  {row.map((cell, column) => (
                    <td key={column}>{typeof cell === "number" ? String(+cell.toFixed(5)).replace("-", "−") : visible(cell ?? "–")}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {open && left > 0 && <p class="hint">{count(left)} more rows; the CSV of `evoenv report` has all.</p>}
    </details>
  );
}

/** The range around a line as a band, or around dots as intervals; below the lines. */
function drawRange(plot: uPlot, x: number[], line: Line): void {
  const { low, high } = line;
  if (!low || !high) return;
  const known = x.map((_, index) => index).filter((index) => typeof low[index] === "number" && typeof high[index] === "number");
  const place = (index: number, values: (number | null | undefined)[]): [number, number] => [
    plot.valToPos(x[index] ?? 0, "x", true),
    plot.valToPos(values[index] ?? 0, "y", true),
  ];
  const context = plot.ctx;
  context.save();
  context.beginPath();
  context.rect(plot.bbox.left, plot.bbox.top, plot.bbox.width, plot.bbox.height);
  context.clip();
  context.beginPath();
  if (line.dots) {
    for (const index of known) {
      context.moveTo(...place(index, low));
      context.lineTo(...place(index, high));
    }
    context.strokeStyle = colour(line.colour);
    context.lineWidth = 1.5 * devicePixelRatio;
    context.globalAlpha = 0.7;
    context.stroke();
  } else {
    known.forEach((index) => context.lineTo(...place(index, high)));
    known.reverse().forEach((index) => context.lineTo(...place(index, low)));
    context.closePath();
    context.fillStyle = colour(line.colour);
    context.globalAlpha = 0.16;
    context.fill();
  }
  context.restore();
}

function drawMarker(plot: uPlot, [at, words]: [number, string]): void {
  const context = plot.ctx;
  const left = plot.valToPos(at, "x", true);
  context.save();
  context.strokeStyle = context.fillStyle = colour("soft");
  context.lineWidth = devicePixelRatio;
  context.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
  context.beginPath();
  context.moveTo(left, plot.bbox.top);
  context.lineTo(left, plot.bbox.top + plot.bbox.height);
  context.stroke();
  context.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
  context.textAlign = "left";
  context.textBaseline = "top";
  context.fillText(words, left + 5 * devicePixelRatio, plot.bbox.top + 2 * devicePixelRatio);
  context.restore();
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
