// What a written report adds to the overview: the run in words, and figures that need all of its candidates.

import { useState } from "preact/hooks";
import { Bar, Chart, Numbers, type Line } from "../charts";
import { brief, count, percent, visible } from "../format";
import { Rows, Tile, useWidth } from "../parts";
import { address } from "../router";
import type { Audit, Figure, Panel, Series } from "../types";

export function AuditTiles({ audit }: { audit: Audit }) {
  return (
    <dl class="tiles">
      {audit.tiles.map(([label, value, note]) => (
        <Tile key={label} label={label} note={visible(note)}>
          {value}
        </Tile>
      ))}
    </dl>
  );
}

export function Words({ audit }: { audit: Audit }) {
  return (
    <div class="grid words">
      {audit.paragraphs.map(({ title, lines, rows: [head, ...rows] }) => (
        <section key={title} class="chart">
          <h3>{title}</h3>
          {lines.map((line) => (
            <p key={line}>{visible(line)}</p>
          ))}
          {head && <Rows head={head} rows={rows} />}
        </section>
      ))}
    </div>
  );
}

export function FigureView({ figure, run }: { figure: Figure; run: string }) {
  const kinds = figure.panels.map((panel) => panel.kind);
  const wide = kinds.some((kind) => kind === "heat" || kind === "tree" || kind === "spans" || kind === "omitted");
  const drawn = figure.panels.map((panel, index) => <PanelView key={index} panel={panel} figure={figure} run={run} first={index === 0} />);
  if (kinds.every((kind) => kind === "lines" || kind === "columns") && kinds.length > 0) return <>{drawn}</>;
  return (
    <figure class={wide ? "chart across" : "chart"} id={figure.key}>
      <figcaption>
        <h3>{figure.title}</h3>
        <p class="hint">{visible(figure.caption)}</p>
      </figcaption>
      {drawn}
      {figure.panels.length > 0 && <Numbers {...figure.table} />}
    </figure>
  );
}

function PanelView({ panel, figure, run, first }: { panel: Panel; figure: Figure; run: string; first: boolean }) {
  switch (panel.kind) {
    case "lines": {
      // what x is, if it is not the step: in the hint, and a short word in the legend
      const along = panel.x_label === "step" ? "" : `Along x: ${panel.x_label}.`;
      return (
        <Chart
          id={first ? figure.key : undefined}
          title={first ? figure.title : `${figure.title}: ${panel.label}`}
          hint={[first ? visible(figure.caption) : "", along].filter(Boolean).join(" ")}
          x={panel.x}
          xLabel={along ? "x" : "step"}
          lines={panel.series.map(line)}
          share={panel.share}
        />
      );
    }
    case "columns":
      return <Chart id={figure.key} title={figure.title} hint={visible(figure.caption)} x={panel.x.map((_, index) => index)} labels={panel.x} xLabel={panel.x_label} lines={panel.series.map(line)} kind="columns" marker={panel.marker} />;
    case "bars":
      return (
        <div class="bars">
          {panel.bars.map((bar) => (
            <Bar
              key={bar.label}
              label={bar.label}
              value={bar.value}
              of={Math.max(1, ...panel.bars.map((other) => other.value))}
              words={bar.words}
              colour={bar.colour}
              title={bar.tip}
              href={/^L\d\./.test(bar.label) ? address("candidates", null, { run, code: bar.label }) : undefined}
            />
          ))}
        </div>
      );
    case "heat":
      return <Heat panel={panel} />;
    case "spans":
      return <Spans panel={panel} run={run} />;
    case "tree":
      return <Tree panel={panel} run={run} alt={figure.alt} />;
    default:
      return (
        <p class="nothing">
          {count(panel.left_out)} marks are too many for this page: figures/{figure.key}.png and figures/{figure.key}.csv have them.
        </p>
      );
  }
}

const line = (series: Series): Line => ({
  label: visible(series.name),
  colour: series.colour,
  values: series.values,
  dash: series.dash ? series.dash.split(" ").map(Number) : undefined,
  dots: series.dots,
  low: series.low.length > 0 ? series.low : undefined,
  high: series.high.length > 0 ? series.high : undefined,
});

function Heat({ panel }: { panel: Extract<Panel, { kind: "heat" }> }) {
  return (
    <div class="scroll small heat">
      <table>
        <thead>
          <tr>
            <th scope="col">{panel.x_label}</th>
            {panel.columns.map((name, column) => (
              <th key={name} scope="col" class={column === panel.gap_after ? "apart" : ""}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {panel.rows.map((name, row) => (
            <tr key={name}>
              <th scope="row">{visible(name)}</th>
              {panel.values[row]?.map((value, column) => (
                <td key={column} class={column === panel.gap_after ? "apart" : ""} title={panel.tips[row]?.[column]} style={{ "--share": `${Math.round((value ?? 0) * 45)}%` }}>
                  {value === null ? "" : value === 0 ? "·" : percent(value)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Spans({ panel, run }: { panel: Extract<Panel, { kind: "spans" }>; run: string }) {
  const at = (step: number) => `${(100 * step) / Math.max(1, panel.last)}%`;
  return (
    <>
      {panel.left_out > 0 && <p class="hint">The last {count(panel.spans.length)}; the {count(panel.left_out)} before them stand in figures/lifetimes.csv.</p>}
      <div class="spans" tabIndex={0}>
        {panel.spans.map((span) => (
          <a key={span.key} class="span-row" href={address("environment", span.key, { run })} title={visible(span.tip)}>
            <span class="bar-label">{brief(span.label, 60)}</span>
            <span class="bar-track">
              <span class="span-fill" style={{ left: at(span.start), width: `calc(${at(Math.max(0, span.end - span.start))} + 3px)`, background: `var(--${span.colour})` }} />
            </span>
            <span class="bar-words">
              {span.start}–{span.over ? span.end : ""}
            </span>
          </a>
        ))}
      </div>
    </>
  );
}

const ROW = 18;

/** A forest along steps, one environment per row. The line leads from the closest parent; the others show on pointing. */
function Tree({ panel, run, alt }: { panel: Extract<Panel, { kind: "tree" }>; run: string; alt: string }) {
  const [frame, width] = useWidth(700);
  const [pointed, setPointed] = useState<number | null>(null);
  const room = Math.min(190, width * 0.4);
  const x = (step: number) => 10 + (step / Math.max(1, panel.last)) * (width - room - 14);
  const y = (row: number) => (row + 0.5) * ROW;
  const path = ([parent, child]: [number, number]) => {
    const [from, to] = [panel.nodes[parent], panel.nodes[child]];
    if (!from || !to) return "";
    return `M${x(from.x).toFixed(1)} ${y(from.y)}V${y(to.y) - 6}q0 6 6 6H${x(to.x).toFixed(1)}`;
  };
  const touches = (pair: [number, number]) => pointed !== null && pair.includes(pointed);
  return (
    <div class="tree" ref={frame} tabIndex={0}>
      <svg width={width} height={panel.rows * ROW} role="img" aria-label={alt}>
        {panel.links.map((pair) => (
          <path key={pair[1]} class={touches(pair) ? "strong" : ""} d={path(pair)} />
        ))}
        {panel.faint.filter(touches).map((pair) => (
          <path key={pair.join()} class="strong dashed" d={path(pair)} />
        ))}
        {panel.nodes.map((node, index) => (
          <a key={node.key} href={address("environment", node.key, { run })} onMouseEnter={() => setPointed(index)} onMouseLeave={() => setPointed(null)} onFocus={() => setPointed(index)} onBlur={() => setPointed(null)}>
            <title>{visible(node.tip)}</title>
            <circle cx={x(node.x)} cy={y(node.y)} r={4.5} style={{ fill: `var(--${node.colour})` }} />
            <text x={x(node.x) + 8} y={y(node.y) + 4}>
              {brief(node.label, Math.max(8, Math.floor((width - x(node.x)) / 7.2) - 2))}
            </text>
          </a>
        ))}
      </svg>
    </div>
  );
}
