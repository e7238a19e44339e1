import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { colour, useTheme } from "../charts";
import { brief, count } from "../format";
import { useDocument } from "../live";
import { FATE_COLOURS, Problem, STATE_WORDS, useWidth, Waiting } from "../parts";
import { address } from "../router";
import type { Point } from "../types";

const TAG_COLOURS = ["blue", "orange", "green", "pink", "amber", "sky"];
const PAD = 18;

type Ink = { colour: string; words: string };

export function MapView({ run }: { run: string }) {
  const { data, error } = useDocument<{ points: Point[]; most: number }>("map", { run });
  const [view, setView] = useState<"prompt" | "code">("prompt");
  const [by, setBy] = useState<"fate" | "step" | "tag">("fate");
  const [until, setUntil] = useState<number | null>(null);
  const [playing, setPlaying] = useState(false);
  const [hover, setHover] = useState<{ point: Point; x: number; y: number } | null>(null);
  const [refused, setRefused] = useState(true);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [frame, width] = useWidth(800, data === null);
  const theme = useTheme();
  const height = Math.min(620, Math.max(340, width * 0.62));
  const points = data?.points ?? [];
  const last = points.reduce((most, point) => Math.max(most, point.step), 0);
  const now = until ?? last;
  const tags = useMemo(() => {
    const counts = new Map<string, number>();
    for (const point of points) for (const tag of point.tags) counts.set(tag, (counts.get(tag) ?? 0) + 1);
    return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, TAG_COLOURS.length).map(([tag]) => tag);
  }, [data]);
  const shown = points.filter((point) => point.step <= now && (refused || point.environment !== null));

  const ink = (point: Point): Ink => {
    if (by === "fate") return point.original ? { colour: "amber", words: "original" } : { colour: FATE_COLOURS[point.state] ?? "grey", words: STATE_WORDS[point.state] ?? point.state };
    if (by === "tag") {
      const index = tags.findIndex((tag) => point.tags.includes(tag));
      return index < 0 ? { colour: "grey", words: "another or none" } : { colour: TAG_COLOURS[index] ?? "grey", words: tags[index] ?? "" };
    }
    const part = last > 0 ? Math.min(4, Math.floor((point.step / (last + 1)) * 5)) : 0;
    const [from, to] = [Math.ceil((part * (last + 1)) / 5), Math.ceil(((part + 1) * (last + 1)) / 5) - 1];
    return { colour: `ramp${part}`, words: from >= to ? `step ${from}` : `steps ${from}–${to}` };
  };
  const legend = new Map<string, string>();
  for (const point of shown) {
    const { colour: name, words } = ink(point);
    if (!legend.has(words)) legend.set(words, name);
  }
  const place = (point: Point): [number, number] => [PAD + ((point[view][0] + 1) / 2) * (width - 2 * PAD), PAD + ((1 - point[view][1]) / 2) * (height - 2 * PAD)];

  useEffect(() => {
    if (!playing) return;
    if (now >= last) {
      setPlaying(false);
      return;
    }
    const timer = window.setTimeout(() => setUntil(now + 1), Math.max(60, Math.min(700, 6000 / Math.max(1, last))));
    return () => window.clearTimeout(timer);
  }, [playing, now, last]);

  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context) return;
    const ratio = window.devicePixelRatio || 1;
    element.width = width * ratio;
    element.height = height * ratio;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const inks = new Map<string, string>();
    const paint = (name: string) => {
      const known = inks.get(name) ?? colour(name);
      inks.set(name, known);
      return known;
    };
    // refused ones first and small, then environments on top
    for (const point of [...shown].sort((a, b) => Number(a.environment !== null) - Number(b.environment !== null))) {
      const [x, y] = place(point);
      context.beginPath();
      const fill = paint(ink(point).colour);
      if (point.environment === null) {
        context.globalAlpha = 0.75;
        context.arc(x, y, 3, 0, 7);
      } else if (point.original) {
        context.globalAlpha = 1;
        context.moveTo(x, y - 7);
        context.lineTo(x + 7, y);
        context.lineTo(x, y + 7);
        context.lineTo(x - 7, y);
        context.closePath();
      } else {
        context.globalAlpha = 0.95;
        context.arc(x, y, 5.5, 0, 7);
      }
      context.fillStyle = fill;
      context.fill();
      if (point.environment !== null) {
        context.strokeStyle = paint("card");
        context.lineWidth = 1.2;
        context.stroke();
      }
    }
    context.globalAlpha = 1;
    if (hover) {
      const [x, y] = place(hover.point);
      context.beginPath();
      context.arc(x, y, 10, 0, 7);
      context.strokeStyle = paint("ink");
      context.lineWidth = 2;
      context.stroke();
    }
  }, [data, view, by, now, refused, width, height, theme, hover]);

  if (data === null) return <Waiting error={error} />;
  const nearest = (event: MouseEvent): Point | null => {
    const box = canvas.current?.getBoundingClientRect();
    if (!box) return null;
    const [mx, my] = [event.clientX - box.left, event.clientY - box.top];
    let best: Point | null = null;
    let distance = 14 * 14;
    for (const point of shown) {
      const [x, y] = place(point);
      const d = (x - mx) ** 2 + (y - my) ** 2 - (point.environment ? 12 : 0);
      if (d < distance) [best, distance] = [point, d];
    }
    return best;
  };
  const link = (point: Point) => (point.environment ? address("environment", point.environment, { run }) : point.candidate ? address("candidate", point.candidate, { run }) : null);
  return (
    <>
      <div class="title-row">
        <h1>Map</h1>
        <p class="faint">
          {count(shown.length)} points; near means alike to the encoder that novelty uses
          {points.length >= data.most ? `; only the newest ${count(data.most)}` : ""}
        </p>
      </div>
      {error && <Problem error={error} />}
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <label>
          <span>embedding of</span>
          <select id="map-view" value={view} onChange={(event) => setView(event.currentTarget.value as typeof view)}>
            <option value="prompt">the prompt</option>
            <option value="code">the code</option>
          </select>
        </label>
        <label>
          <span>coloured by</span>
          <select id="map-by" value={by} onChange={(event) => setBy(event.currentTarget.value as typeof by)}>
            <option value="fate">fate</option>
            <option value="step">step</option>
            <option value="tag">tag</option>
          </select>
        </label>
        <label class="check">
          <input type="checkbox" checked={refused} onChange={(event) => setRefused(event.currentTarget.checked)} /> refused ones, too
        </label>
        <label class="grow">
          <span>up to step {now}</span>
          <input id="map-step" type="range" min="0" max={last} value={now} onInput={(event) => (setPlaying(false), setUntil(Number(event.currentTarget.value)))} />
        </label>
        <button
          id="map-play"
          type="button"
          disabled={last === 0}
          onClick={() => {
            if (!playing && now >= last) setUntil(0);
            setPlaying(!playing);
          }}
        >
          {playing ? "Pause" : "Play the growth"}
        </button>
      </form>
      <div class="map" ref={frame}>
        <canvas
          ref={canvas}
          style={{ width: "100%", height: `${height}px` }}
          role="img"
          aria-label={`A map of ${shown.length} environments and candidates; the same are listed under Environments and Candidates.`}
          onMouseMove={(event) => {
            const point = nearest(event);
            setHover(point && { point, x: place(point)[0], y: place(point)[1] });
          }}
          onMouseLeave={() => setHover(null)}
          onClick={(event) => {
            const point = nearest(event);
            const target = point && link(point);
            if (target) location.hash = target;
          }}
        />
        {points.length === 0 && <p class="nothing over">Nothing is embedded yet.</p>}
        {hover && (
          <div class="tip" role="tooltip" style={{ left: `${Math.min(hover.x + 14, Math.max(0, width - 320))}px`, top: `${hover.y + 14}px` }}>
            <strong>{brief(hover.point.name, 60)}</strong>
            <span class="faint">
              {hover.point.original ? "original" : `step ${hover.point.step}`}, {STATE_WORDS[hover.point.state] ?? hover.point.state}
              {hover.point.tags.length > 0 && `; ${hover.point.tags.join(", ")}`}
            </span>
            <span>{brief(hover.point.template, 220)}</span>
          </div>
        )}
      </div>
      <p class="legend">
        {[...legend].sort().map(([words, name]) => (
          <span key={words}>
            <i class="box" style={{ "--hue": `var(--${name})` }} />
            {words}
          </span>
        ))}
        <span class="faint">◆ original ● environment · refused</span>
      </p>
    </>
  );
}
