import { useMemo, useState } from "preact/hooks";
import { brief, count, percent } from "../format";
import { useDocument } from "../live";
import { Problem, Tags, Waiting } from "../parts";
import { address, replaceParams, useRoute } from "../router";
import type { Environment } from "../types";
import { Choice } from "./candidates";

const SHOWN = 200;
type Key = "name" | "admitted" | "epochs" | "level" | "score" | "children";
const COLUMNS: [Key, string, string][] = [
  ["name", "name", ""],
  ["admitted", "since", "right"],
  ["epochs", "uses", "right wide"],
  ["level", "level", "right wide"],
  ["score", "score", "right"],
  ["children", "children", "right wide"],
];

export function EnvironmentsView({ run }: { run: string }) {
  const route = useRoute();
  const { data, error } = useDocument<{ environments: Environment[] }>("environments", { run });
  const [more, setMore] = useState(SHOWN);
  const { which = "", tag = "", text = "", sort = "admitted" } = route.params;
  const all = data?.environments ?? [];
  const rows = useMemo(() => {
    const words = text.toLowerCase();
    const kept = all.filter(
      (row) =>
        (which === "" || (which === "pool" ? row.active : which === "retired" ? !row.active : which === "original" ? row.original : !row.original)) &&
        (!tag || row.tags.includes(tag)) &&
        (!words || `${row.name} ${row.id}`.toLowerCase().includes(words)),
    );
    const value = (row: Environment) => (sort === "name" ? row.name.toLowerCase() : ((row[sort as Key] as number | undefined) ?? -1));
    return kept.sort((a, b) => (sort === "name" ? (value(a) < value(b) ? -1 : 1) : Number(value(b)) - Number(value(a))));
  }, [data, which, tag, text, sort]);
  if (data === null) return <Waiting error={error} />;
  const tags = [...new Set(all.flatMap((row) => row.tags))].sort();
  const set = (name: string) => (event: { currentTarget: { value: string } }) => replaceParams(route, { run, [name]: event.currentTarget.value || null });
  return (
    <>
      <div class="title-row">
        <h1>Environments</h1>
        <p class="faint" aria-live="polite">
          {count(rows.length)} of {count(all.length)}; {count(all.filter((row) => row.active).length)} in the pool
        </p>
      </div>
      {error && <Problem error={error} />}
      <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <label class="grow">
          <span>text in name or id</span>
          <input type="search" id="filter-text" value={text} placeholder="Search  ( / )" onInput={set("text")} />
        </label>
        <Choice
          id="which"
          label="which"
          value={which}
          onChange={set("which")}
          options={[
            ["pool", "in the pool"],
            ["retired", "retired"],
            ["original", "originals"],
            ["generated", "generated"],
          ]}
        />
        <Choice id="tag" label="tag" value={tag} onChange={set("tag")} options={tags.map((name) => [name, name])} />
      </form>
      <div class="scroll names">
        <table class="plain">
          <thead>
            <tr>
              {COLUMNS.map(([key, label, kind]) => (
                <th key={key} class={kind} aria-sort={sort === key ? (key === "name" ? "ascending" : "descending") : undefined}>
                  <button type="button" onClick={() => replaceParams(route, { run, sort: key })}>
                    {label}
                    {sort === key ? (key === "name" ? " ↑" : " ↓") : ""}
                  </button>
                </th>
              ))}
              <th>state</th>
              <th class="wide">tags</th>
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, more).map((row) => (
              <tr key={row.id}>
                <td>
                  <a href={address("environment", row.id, { run })} data-id={row.id}>
                    <strong>{brief(row.name, 70)}</strong>
                  </a>
                </td>
                <td class="right">{row.original ? "seed" : row.admitted}</td>
                <td class="right wide">{row.epochs}</td>
                <td class="right wide">{row.level}</td>
                <td class="right">{percent(row.score)}</td>
                <td class="right wide">{row.children ?? 0}</td>
                <td class="nowrap">{row.active ? "in the pool" : `retired at ${row.retired}`}</td>
                <td class="wide">
                  <Tags tags={row.tags} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length === 0 && <p class="nothing">No environment is like this.</p>}
      {rows.length > more && (
        <p>
          <button type="button" onClick={() => setMore(more + 500)}>
            Show more ({count(rows.length - more)} left)
          </button>
        </p>
      )}
    </>
  );
}
