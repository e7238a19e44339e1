import { useState } from "preact/hooks";
import { brief, count, fixed } from "../format";
import { useDocument } from "../live";
import { address, replaceParams, useRoute } from "../router";
import { VirtualTable, type Column } from "../table";
import type { Group, Overview } from "../types";
import { Choice } from "./candidates";

const COLUMNS: Column<Group>[] = [
  { key: "id", label: "group", width: "10.5rem", cell: (row) => <code>{row.id}</code>, wide: true },
  { key: "step", label: "step", width: "2.2rem", align: "right", cell: (row) => row.step },
  { key: "role", label: "role", width: "4.6rem", cell: (row) => row.role },
  { key: "name", label: "environment", width: "minmax(4.2rem, 2fr)", cell: (row) => (row.name ? brief(row.name, 60) : row.role === "generator" ? "–" : brief(row.subject ?? "–", 40)) },
  { key: "level", label: "level", width: "4rem", align: "right", cell: (row) => row.difficulty ?? "–", wide: true },
  { key: "responses", label: "responses", width: "5.6rem", align: "right", cell: (row) => `${row.responses}/${row.wanted}`, wide: true },
  { key: "tokens", label: "tokens", width: "5rem", align: "right", cell: (row) => count(row.tokens), wide: true },
  { key: "reward", label: "mean", width: "2.7rem", align: "right", cell: (row) => fixed(row.reward) },
  { key: "signal", label: "signal", width: "3.2rem", cell: (row) => (row.silent === null ? "–" : row.silent ? <span class="faint">silent</span> : <strong>differs</strong>) },
];

export function RolloutsView({ run }: { run: string }) {
  const route = useRoute();
  const { data } = useDocument<Overview>("overview", { run });
  const [total, setTotal] = useState<number | null>(null);
  const { role = "", step = "", subject = "" } = route.params;
  const set = (name: string) => (event: { currentTarget: { value: string } }) => replaceParams(route, { run, [name]: event.currentTarget.value || null });
  return (
    <div class="filling">
      <div class="title-row">
        <h1>Rollouts</h1>
        <p class="faint" aria-live="polite">
          {total === null ? "" : `${count(total)} groups`}
        </p>
      </div>
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <Choice
          id="role"
          label="role"
          value={role}
          onChange={set("role")}
          options={[
            ["solver", "solver"],
            ["generator", "generator"],
          ]}
          all="both"
        />
        <Choice id="step" label="step" value={step} onChange={set("step")} options={(data?.steps ?? []).map((row) => [String(row.step), String(row.step)])} />
        {subject && (
          <button type="button" onClick={() => replaceParams(route, { run, subject: null })}>
            only environment {brief(subject, 20)} ✕
          </button>
        )}
      </form>
      <VirtualTable<Group>
        name="groups"
        params={{ run, role, step, subject }}
        run={run}
        columns={COLUMNS}
        href={(row) => address("rollout", row.id, { run })}
        id={(row) => row.id}
        label="Groups, newest first"
        empty="No group yet."
        onTotal={setTotal}
      />
    </div>
  );
}
