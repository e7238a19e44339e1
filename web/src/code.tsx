// Texts of the model: source with colours, two sources side by side, long texts. Always as text, never as markup.

import { useContext, useMemo, useState } from "preact/hooks";
import { count, visible } from "./format";
import { LiveContext } from "./live";
import type { Params } from "./source";
import type { Clip, Turn } from "./types";

const COLOURED_AT_MOST = 60_000;

const TOKEN =
  /("""[\s\S]*?(?:"""|$)|'''[\s\S]*?(?:'''|$)|(?:[rbfu]{1,2})?"(?:\\.|[^"\\\n])*"?|(?:[rbfu]{1,2})?'(?:\\.|[^'\\\n])*'?)|(#[^\n]*)|(@[A-Za-z_][\w.]*)|\b(False|None|True|and|as|assert|async|await|break|class|continue|def|del|elif|else|except|finally|for|from|global|if|import|in|is|lambda|nonlocal|not|or|pass|raise|return|try|while|with|yield|match|case)\b|(\b\d[\w.]*)|(\b[A-Za-z_]\w*(?=\())/g;
const KINDS = ["str", "com", "dec", "kw", "num", "fn"];

export interface Piece {
  kind: string;
  text: string;
}

/** The lines of a Python source, each in coloured pieces. */
export function pieces(source: string): Piece[][] {
  const text = visible(source);
  const lines: Piece[][] = [[]];
  const add = (kind: string, part: string) => {
    part.split("\n").forEach((line, index) => {
      if (index > 0) lines.push([]);
      if (line) lines[lines.length - 1]?.push({ kind, text: line });
    });
  };
  if (text.length > COLOURED_AT_MOST) {
    add("", text);
    return lines;
  }
  let end = 0;
  for (const match of text.matchAll(TOKEN)) {
    add("", text.slice(end, match.index));
    const group = match.slice(1).findIndex((part) => part !== undefined);
    add(KINDS[group] ?? "", match[0]);
    end = match.index + match[0].length;
  }
  add("", text.slice(end));
  return lines;
}

function Coloured({ line }: { line: Piece[] }) {
  return (
    <>
      {line.map((piece, index) =>
        piece.kind ? (
          <span key={index} class={`py-${piece.kind}`}>
            {piece.text}
          </span>
        ) : (
          piece.text
        ),
      )}
    </>
  );
}

export function Source({ clip, marks = {}, label = "source" }: { clip: Clip; marks?: Record<number, string[]>; label?: string }) {
  const lines = useMemo(() => pieces(clip.text), [clip.text]);
  return (
    <div class="code-frame">
      <CopyButton text={clip.text} />
      <pre class="code" tabIndex={0} aria-label={label}>
        {lines.map((line, index) => {
          const notes = marks[index + 1];
          return (
            <div key={index} class={notes ? "code-line marked" : "code-line"}>
              <span class="number" aria-hidden="true">
                {index + 1}
              </span>
              <code>
                <Coloured line={line} />
                {"\n"}
              </code>
              {notes?.map((note) => (
                <span class="code-note" key={note}>
                  ▲ {note}
                </span>
              ))}
            </div>
          );
        })}
      </pre>
    </div>
  );
}

export function CopyButton({ text }: { text: string }) {
  const [done, setDone] = useState(false);
  const copy = () => {
    const copied = navigator.clipboard?.writeText(text);
    copied?.then(
      () => {
        setDone(true);
        window.setTimeout(() => setDone(false), 1500);
      },
      () => undefined,
    );
  };
  return navigator.clipboard ? (
    <button type="button" class="copy" onClick={copy}>
      {done ? "Copied" : "Copy"}
    </button>
  ) : null;
}

const CHUNK = 20_000;

/** Parts of a long text, ended at a line's end if there is one near: only those in sight are laid out. */
export function chunks(text: string): string[] {
  const parts: string[] = [];
  for (let start = 0; start < text.length; ) {
    let end = Math.min(start + CHUNK, text.length);
    const line = text.lastIndexOf("\n", end);
    if (end < text.length && line > start) end = line + 1;
    parts.push(text.slice(start, end));
    start = end;
  }
  return parts;
}

/** A text as it is; what was cut off is fetched on request, by asking for `whole` and picking this text again. */
export function Text(props: { clip: Clip; label: string; more?: { name: string; params: Params; pick: (whole: never) => Clip | null | undefined }; mark?: [number, number] | null }) {
  const { source } = useContext(LiveContext);
  const [whole, setWhole] = useState<string | null>(null);
  const [error, setError] = useState<string | null>(null);
  const { clip, more, mark } = props;
  const text = whole ?? clip.text;
  const left = clip.length - text.length;
  const fetchAll = () => {
    if (more === undefined) return;
    source.get<never>(more.name, { ...more.params, whole: 1 }).then(
      (document) => setWhole(more.pick(document)?.text ?? text),
      (failure: unknown) => setError(failure instanceof Error ? failure.message : String(failure)),
    );
  };
  return (
    <div class="text-frame">
      <pre class="text" tabIndex={0} aria-label={props.label}>
        {mark && mark[1] <= text.length ? (
          <>
            {visible(text.slice(0, mark[0]))}
            <mark>{visible(text.slice(mark[0], mark[1]))}</mark>
            {visible(text.slice(mark[1]))}
          </>
        ) : text.length > CHUNK * 5 ? (
          chunks(text).map((part, index) => (
            <div key={index} class="chunk">
              {visible(part)}
            </div>
          ))
        ) : (
          visible(text) || <span class="faint">(empty)</span>
        )}
      </pre>
      {left > 0 && (
        <p class="cut">
          {count(left)} more characters{" "}
          {more && source.live && (
            <button type="button" onClick={fetchAll}>
              Show all {count(clip.length)}
            </button>
          )}
          {error && <span class="bad"> {error}</span>}
        </p>
      )}
    </div>
  );
}

export function Turns({ turns, more }: { turns: Turn[]; more?: { name: string; params: Params; pick: (whole: never, index: number) => Clip | null | undefined } }) {
  return (
    <>
      {turns.map((turn, index) => (
        <section key={index} class="turn">
          <h5>{turn.speaker}</h5>
          <Text
            clip={turn.content}
            label={`${turn.speaker} message`}
            more={more && { ...more, pick: (whole) => more.pick(whole, index) }}
          />
        </section>
      ))}
    </>
  );
}

// --------------------------------------------------------------------------- two sources side by side

export interface DiffRow {
  left: number | null;
  right: number | null;
}

const DIFFED_AT_MOST = 1500;

/** Pair the lines of two texts: equal ones stand side by side (longest common subsequence), others alone or as changes. */
export function diffLines(left: string[], right: string[]): DiffRow[] {
  const [n, m] = [left.length, right.length];
  if (n > DIFFED_AT_MOST || m > DIFFED_AT_MOST) {
    return Array.from({ length: Math.max(n, m) }, (_, i) => ({ left: i < n ? i : null, right: i < m ? i : null }));
  }
  const width = m + 1;
  const lengths = new Uint16Array((n + 1) * width);
  for (let i = n - 1; i >= 0; i--) {
    for (let j = m - 1; j >= 0; j--) {
      lengths[i * width + j] =
        left[i] === right[j]
          ? (lengths[(i + 1) * width + j + 1] ?? 0) + 1
          : Math.max(lengths[(i + 1) * width + j] ?? 0, lengths[i * width + j + 1] ?? 0);
    }
  }
  const rows: DiffRow[] = [];
  let removed: number[] = [];
  let added: number[] = [];
  const flush = () => {
    for (let k = 0; k < Math.max(removed.length, added.length); k++) rows.push({ left: removed[k] ?? null, right: added[k] ?? null });
    removed = [];
    added = [];
  };
  let [i, j] = [0, 0];
  while (i < n || j < m) {
    if (i < n && j < m && left[i] === right[j]) {
      flush();
      rows.push({ left: i++, right: j++ });
    } else if (j >= m || (i < n && (lengths[(i + 1) * width + j] ?? 0) >= (lengths[i * width + j + 1] ?? 0))) {
      removed.push(i++);
    } else {
      added.push(j++);
    }
  }
  flush();
  return rows;
}

export function Diff(props: { left: Clip; right: Clip; leftName: string; rightName: string }) {
  const [left, right] = [props.left.text, props.right.text];
  const model = useMemo(() => {
    const [a, b] = [visible(left).split("\n"), visible(right).split("\n")];
    return { rows: diffLines(a, b), a, b, colouredA: pieces(left), colouredB: pieces(right) };
  }, [left, right]);
  const same = model.rows.filter((row) => row.left !== null && row.right !== null && model.a[row.left] === model.b[row.right]).length;
  const cell = (index: number | null, lines: Piece[][], other: boolean, side: string) => (
    <>
      <td class="number" aria-hidden="true">
        {index === null ? "" : index + 1}
      </td>
      <td class={index === null ? "void" : other ? `changed ${side}` : ""}>
        {index !== null && (
          <code>
            <Coloured line={lines[index] ?? []} />
          </code>
        )}
      </td>
    </>
  );
  return (
    <div class="diff" tabIndex={0} role="group" aria-label={`${props.leftName} beside ${props.rightName}`}>
      <p class="faint">
        {same} of {Math.max(model.a.length, model.b.length)} lines are equal.
      </p>
      <table>
        <colgroup>
          <col class="narrow" />
          <col />
          <col class="narrow" />
          <col />
        </colgroup>
        <thead>
          <tr>
            <th colSpan={2}>{props.leftName}</th>
            <th colSpan={2}>{props.rightName}</th>
          </tr>
        </thead>
        <tbody>
          {model.rows.map((row, index) => {
            const differs = row.left === null || row.right === null || model.a[row.left] !== model.b[row.right];
            return (
              <tr key={index}>
                {cell(row.left, model.colouredA, differs, "minus")}
                {cell(row.right, model.colouredB, differs, "plus")}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
