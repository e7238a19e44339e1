import { useContext, useEffect, useState } from "preact/hooks";
import { brief, count, fixed, percent, signed } from "../format";
import { LiveContext, useDocument } from "../live";
import { State } from "../parts";
import { address, replaceParams, useRoute } from "../router";
import { VirtualTable, type Column } from "../table";
import type { Candidate, Environment, Overview } from "../types";

const COLUMNS: Column<Candidate>[] = [
  { key: "id", label: "candidate", width: "9.2rem", cell: (row) => <code>{row.id}</code>, wide: true },
  { key: "name", label: "name", width: "minmax(5.5rem, 2fr)", cell: (row) => <strong>{row.name === row.id ? "–" : brief(row.name, 60)}</strong> },
  { key: "state", label: "fate", width: "minmax(6.6rem, 1fr)", cell: (row) => <State state={row.state} /> },
  { key: "layer", label: "layer", width: "3.4rem", cell: (row) => (row.layer === null ? "–" : `L${row.layer}`), wide: true },
  { key: "codes", label: "findings", width: "minmax(6rem, 1.5fr)", cell: (row) => <code>{row.codes.join(" ")}</code>, wide: true },
  { key: "rate", label: "pass rate", width: "5.4rem", align: "right", cell: (row) => percent(row.rate), wide: true },
  { key: "novelty", label: "novelty", width: "4.6rem", align: "right", cell: (row) => fixed(row.novelty), wide: true },
  { key: "reward", label: "reward", width: "4rem", align: "right", cell: (row) => signed(row.reward) },
];
const FILTERS = ["fate", "layer", "code", "step", "tag", "text"] as const;
const ORDERS: [string, string][] = [
  ["oldest", "oldest first"],
  ["reward", "reward"],
  ["rate", "pass rate"],
  ["novelty", "novelty"],
  ["layer", "layer passed"],
  ["name", "name"],
];

export function CandidatesView({ run }: { run: string }) {
  const route = useRoute();
  const { source } = useContext(LiveContext);
  const { data } = useDocument<Overview>("overview", { run });
  const environments = useDocument<{ environments: Environment[] }>("environments", { run });
  const [total, setTotal] = useState<number | null>(null);
  const given = Object.fromEntries(FILTERS.map((name) => [name, route.params[name] ?? ""])) as Record<(typeof FILTERS)[number], string>;
  const [text, setText] = useState(given.text);
  useEffect(() => setText(given.text), [given.text]);
  useEffect(() => {
    if (text === given.text) return;
    const timer = window.setTimeout(() => replaceParams(route, { run, text: text || null }), 350);
    return () => window.clearTimeout(timer);
  }, [text]);
  const set = (name: string) => (event: { currentTarget: { value: string } }) => replaceParams(route, { run, [name]: event.currentTarget.value || null });
  const steps = data?.steps.map((step) => String(step.step)) ?? [];
  const codes = Object.keys(data?.findings ?? {}).sort();
  if (given.code && !codes.includes(given.code)) codes.push(given.code);
  const known = environments.data?.environments.filter((row) => source.live ? !row.original : true);
  const tags = [...new Set(known?.flatMap((row) => row.tags))].sort();
  if (given.tag && !tags.includes(given.tag)) tags.push(given.tag);
  const filtered = FILTERS.some((name) => given[name]);
  return (
    <div class="filling">
      <div class="title-row">
        <h1>Candidates</h1>
        <p class="faint" aria-live="polite">
          {total === null ? "" : `${count(total)}${filtered && data ? ` of ${count(data.candidates)}` : ""}`}
        </p>
      </div>
      {source.left_out?.map((words) => (
        <p key={words} class="note">
          {words}
        </p>
      ))}
      <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <label class="grow">
          <span>text in id, name or source</span>
          <input type="search" id="filter-text" value={text} maxLength={200} placeholder="Search  ( / )" onInput={(event) => setText(event.currentTarget.value)} />
        </label>
        <Choice id="fate" label="fate" value={given.fate} onChange={set("fate")} options={[["admitted", "Admitted"], ...Object.entries(data?.states ?? {})]} />
        <Choice id="layer" label="layer passed" value={given.layer} onChange={set("layer")} options={["0", "1", "2", "3", "4", "5"].map((layer) => [layer, `L${layer}`])} />
        <Choice id="code" label="finding" value={given.code} onChange={set("code")} options={codes.map((code) => [code, code])} />
        <Choice id="step" label="step" value={given.step} onChange={set("step")} options={steps.map((step) => [step, step])} />
        <Choice id="tag" label="tag" value={given.tag} onChange={set("tag")} options={tags.map((tag) => [tag, tag])} />
        <Choice id="sort" label="sort by" value={route.params.sort ?? ""} onChange={set("sort")} options={ORDERS} all="newest first" />
        <button type="button" disabled={!filtered} onClick={() => replaceParams(route, Object.fromEntries(FILTERS.map((name) => [name, null])))}>
          Clear
        </button>
      </form>
      <VirtualTable<Candidate>
        name="candidates"
        params={{ run, ...given, sort: route.params.sort ?? "" }}
        run={run}
        columns={COLUMNS}
        href={(row) => address("candidate", row.id, { run })}
        id={(row) => row.id}
        label="Candidates"
        empty={filtered ? "No candidate is like this." : "No candidate yet."}
        onTotal={setTotal}
      />
    </div>
  );
}

export function Choice(props: { id: string; label: string; value: string; options: [string, string][]; onChange: (event: { currentTarget: { value: string } }) => void; all?: string }) {
  return (
    <label>
      <span>{props.label}</span>
      <select id={`filter-${props.id}`} value={props.value} onChange={props.onChange}>
        <option value="">{props.all ?? "all"}</option>
        {props.options.map(([value, words]) => (
          <option key={value} value={value}>
            {words}
          </option>
        ))}
      </select>
    </label>
  );
}
