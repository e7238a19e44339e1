// Small parts that several views share.

import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { brief, visible } from "./format";
import { address } from "./router";

export const FATE_COLOURS: Record<string, string> = {
  pool: "admitted",
  retired: "grey",
  entering: "admitted",
  admitted: "admitted",
  malformed: "l1",
  l1: "l1",
  l2: "l2",
  l3: "l3",
  l4: "l4",
  l5: "l5",
  review: "review",
  "too-hard": "calibration",
  "too-easy": "calibration",
  asymmetry: "calibration",
  gate: "novelty",
  "batch-duplicate": "novelty",
  judging: "grey",
  undecided: "grey",
};

export const STATE_WORDS: Record<string, string> = {
  pool: "in the pool",
  retired: "retired",
  entering: "admitted",
  malformed: "malformed",
  l1: "fails L1",
  l2: "fails L2",
  l3: "fails L3",
  l4: "fails L4",
  l5: "fails L5",
  review: "review",
  "too-hard": "too hard",
  "too-easy": "too easy",
  asymmetry: "no easier for programs",
  gate: "not novel",
  "batch-duplicate": "duplicate",
  judging: "being judged",
  undecided: "undecided",
};

export function State({ state }: { state: string }) {
  return (
    <span class="state">
      <i class="box" style={{ "--hue": `var(--${FATE_COLOURS[state] ?? "grey"})` }} />
      {STATE_WORDS[state] ?? state}
    </span>
  );
}

export function Tags({ tags, run }: { tags: string[]; run?: string }) {
  return (
    <span class="tags">
      {tags.map((tag) =>
        run ? (
          <a key={tag} class="tag" href={address("candidates", null, { run, tag })}>
            {tag}
          </a>
        ) : (
          <span key={tag} class="tag">
            {tag}
          </span>
        ),
      )}
    </span>
  );
}

export function Tile({ label, children, note }: { label: string; children: ComponentChildren; note?: ComponentChildren }) {
  return (
    <div class="tile">
      <dt>{label}</dt>
      <dd>
        {children}
        <small>{note ?? "\u00a0"}</small>
      </dd>
    </div>
  );
}

export function Facts({ facts }: { facts: [string, ComponentChildren][] }) {
  return (
    <dl class="facts">
      {facts.map(([label, value]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{typeof value === "string" ? visible(value) : value}</dd>
        </div>
      ))}
    </dl>
  );
}

export function Problem({ error }: { error: string }) {
  return (
    <p class="problem" role="alert">
      {error}
    </p>
  );
}

/** What a view shows before its document is there, or if it cannot be had. */
export function Waiting({ error }: { error: string | null }) {
  return error ? <Problem error={error} /> : <p class="waiting-words">Reading the run…</p>;
}

export function EnvironmentLink({ id, name, run }: { id: string; name: string; run: string }) {
  return <a href={address("environment", id, { run })}>{brief(name, 60)}</a>;
}

export function Section({ title, children, open = true, id }: { title: ComponentChildren; children: ComponentChildren; open?: boolean; id?: string }) {
  return (
    <details class="section" open={open} id={id}>
      <summary>
        <h3>{title}</h3>
      </summary>
      {children}
    </details>
  );
}

/** A small table of texts. */
export function Rows({ head, rows }: { head: string[]; rows: string[][] }) {
  return (
    <div class="scroll small">
      <table class="plain">
        <thead>
          <tr>
            {head.map((label) => (
              <th key={label} scope="col">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, column) => (
                <td key={column}>{visible(cell)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Follow the width of a frame; `missing` says that the frame is not on the page yet. */
export function useWidth(atFirst: number, missing = false): [RefObject<HTMLDivElement | null>, number] {
  const frame = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(atFirst);
  useEffect(() => {
    const element = frame.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, [missing]);
  return [frame, width];
}
