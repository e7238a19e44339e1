import { Bar, Chart, type Line } from "../charts";
import { count, duration, moment, percent, plural, visible } from "../format";
import { useDocument } from "../live";
import { Problem, Tile, Waiting } from "../parts";
import { address, replaceParams, useRoute } from "../router";
import type { Now, Overview, RunRow, StepRow } from "../types";

const STAGES = ["generated", "validated", "reviewed", "calibrated", "decided", "solved", "updated", "rotated"];
const STAGE_WORDS: Record<string, string> = {
  generated: "writing candidates",
  validated: "validating",
  reviewed: "reviewing",
  calibrated: "calibrating",
  decided: "deciding",
  solved: "solving",
  updated: "learning",
  rotated: "rotating the pool",
};
const FUNNEL_WORDS: Record<string, string> = {
  proposed: "proposed",
  L1: "pass L1 source",
  L2: "pass L2 execution",
  L3: "pass L3 determinism",
  L4: "pass L4 variation",
  L5: "pass L5 scorer",
  review: "pass review",
  calibration: "right difficulty",
  admitted: "admitted",
};
const FUNNEL_COLOURS = ["grey", "l1", "l2", "l3", "l4", "l5", "review", "calibration", "admitted"];
const FATES: [string, string[], string][] = [
  ["admitted", ["admitted"], "admitted"],
  ["not novel", ["gate", "batch-duplicate"], "novelty"],
  ["too hard, too easy", ["too-hard", "too-easy"], "calibration"],
  ["review", ["review"], "review"],
  ["fails L5", ["l5"], "l5"],
  ["fails L4", ["l4"], "l4"],
  ["fails L3", ["l3"], "l3"],
  ["fails L2", ["l2"], "l2"],
  ["fails L1", ["l1", "malformed"], "l1"],
  ["open", ["judging", "undecided"], "grey"],
];
const RUN_COLOURS = ["blue", "orange", "green", "pink", "amber", "sky"];
const TIMES: [string, string][] = [
  ["propose", "blue"],
  ["judge", "pink"],
  ["decide", "amber"],
  ["solve", "green"],
  ["update", "orange"],
  ["other", "grey"],
];
const DASHES = [undefined, [8, 4], [2, 4], [10, 4, 2, 4]];

export function OverviewView({ run, runs }: { run: string; runs: RunRow[] }) {
  const route = useRoute();
  const { data, error } = useDocument<Overview>("overview", { run });
  const other = route.params.with && route.params.with !== run ? route.params.with : null;
  const compared = useDocument<Overview>(other ? "overview" : null, { run: other });
  if (data === null) return <Waiting error={error} />;
  const both = compared.data ? [data, compared.data] : [data];
  return (
    <>
      <div class="title-row">
        <h1>{visible(data.run)}</h1>
        {runs.length > 1 && (
          <label class="beside">
            compare with{" "}
            <select id="with" value={other ?? ""} onChange={(event) => replaceParams(route, { run, with: event.currentTarget.value || null })}>
              <option value="">nothing</option>
              {runs
                .filter((row) => row.name !== run)
                .map((row) => (
                  <option key={row.name} value={row.name}>
                    {visible(row.name)}
                  </option>
                ))}
            </select>
          </label>
        )}
      </div>
      <p class="lead">
        {data.curriculum} on <code>{visible(data.model ?? "an unnamed model")}</code>, begun {moment(data.created)}
        {data.training ? "" : "; builds a pool and trains nothing"}
      </p>
      {error && <Problem error={error} />}
      {compared.error && <Problem error={compared.error} />}
      <Progress now={data.now} />
      <dl class="tiles">
        <Tile label="step" note={`${data.now.last} finished`}>
          {data.now.step} <span class="of">of {data.now.wanted}</span>
        </Tile>
        <Tile label="time left" note={data.now.elapsed !== null ? `this step: ${duration(data.now.elapsed)}` : data.now.running ? "" : "not running"}>
          {data.now.running ? duration(data.now.seconds_left) : "–"}
        </Tile>
        <Tile label="tokens per second" note={data.now.stage && data.now.running ? "in this step" : "in the last step"}>
          {data.now.tokens_per_second === null ? "–" : count(Math.round(data.now.tokens_per_second))}
        </Tile>
        <Tile label="candidates" note={<a href={address("candidates", null, { run })}>see them all</a>}>
          {count(data.candidates)}
        </Tile>
        <Tile label="admitted" note={data.candidates ? `${percent((data.environments.total - data.environments.original) / data.candidates, 1)} of the candidates` : ""}>
          {count(data.environments.total - data.environments.original)}
        </Tile>
        <Tile label="pool" note={`${plural(data.environments.original, "original")}, ${count(data.environments.retired)} retired`}>
          {count(data.environments.active)}
        </Tile>
      </dl>
      <div class="grid">
        <Funnel data={data} run={run} />
        <FatesChart steps={data.steps} />
        <ScoreChart both={both} />
        <PoolChart both={both} />
        <RewardChart both={both} />
        <NoveltyChart both={both} />
        <SilentChart both={both} />
        <TimeChart steps={data.steps} />
        <Findings data={data} run={run} />
      </div>
    </>
  );
}

function Progress({ now }: { now: Now }) {
  const finished = now.stage === null && now.last >= now.wanted;
  const share = now.total > 0 ? Math.min(1, now.done / now.total) : null;
  const state = now.running ? (now.stage ? (STAGE_WORDS[now.stage] ?? now.stage) : "starting") : finished ? "finished" : "stopped";
  return (
    <section class="now" aria-label="Now">
      <p class="now-words">
        <span class={now.running ? "pulse on" : "pulse"} aria-hidden="true" />
        <strong>{state}</strong>
        <span class="faint">
          {now.running && share !== null ? `${count(now.done)} of ${count(now.total)}` : `last written ${moment(now.changed)}`}
        </span>
      </p>
      <ol class="stages">
        {STAGES.map((stage) => {
          const done = finished || now.done_stages.includes(stage);
          const current = now.running && now.stage === stage;
          return (
            <li key={stage} class={done ? "done" : current ? "current" : ""} aria-current={current ? "step" : undefined}>
              <span class="stage-bar">
                <span style={{ width: done ? "100%" : current ? `${100 * (share ?? 0.15)}%` : "0" }} />
              </span>
              {stage}
            </li>
          );
        })}
      </ol>
    </section>
  );
}

function Funnel({ data, run }: { data: Overview; run: string }) {
  const { names, total, left_out } = data.funnel;
  const proposed = total[0] ?? 0;
  return (
    <figure class="chart">
      <figcaption>
        <h3>How far candidates get</h3>
        <p class="hint">All of the run; each bar counts those that passed this test and all before it.</p>
      </figcaption>
      {proposed === 0 ? (
        <p class="nothing">No candidate yet.</p>
      ) : (
        <div class="bars">
          {names.map((name, index) =>
            left_out.includes(name) || (total[index] === null && name !== "proposed") ? null : (
              <Bar
                key={name}
                label={FUNNEL_WORDS[name] ?? name}
                value={total[index] ?? 0}
                of={proposed}
                words={`${count(total[index])} · ${percent((total[index] ?? 0) / proposed, 1)}`}
                colour={FUNNEL_COLOURS[index] ?? "grey"}
                href={name === "admitted" ? address("candidates", null, { run, fate: "admitted" }) : undefined}
              />
            ),
          )}
        </div>
      )}
      {data.funnel.step && data.now.stage !== null && (
        <p class="legend">
          <span class="at">step {data.now.step}</span>
          {names.map((name, index) =>
            data.funnel.step?.[index] === null || left_out.includes(name) ? null : (
              <span key={name}>
                {name} <b>{data.funnel.step?.[index]}</b>
              </span>
            ),
          )}
        </p>
      )}
    </figure>
  );
}

/** At most a hundred columns: more steps are added up in windows of equal width. */
function windows(steps: StepRow[]): { x: number[]; groups: StepRow[][] } {
  const width = Math.max(1, Math.ceil(steps.length / 100));
  const groups: StepRow[][] = [];
  for (let index = 0; index < steps.length; index += width) groups.push(steps.slice(index, index + width));
  return { x: groups.map((group) => group[0]?.step ?? 0), groups };
}

function FatesChart({ steps }: { steps: StepRow[] }) {
  const { x, groups } = windows(steps);
  const lines = FATES.map(([label, names, colour]) => ({
    label,
    colour,
    values: groups.map((group) => group.reduce((sum, step) => sum + names.reduce((inner, name) => inner + (step.fates[name] ?? 0), 0), 0)),
  })).filter((line) => line.values.some((value) => value > 0));
  return <Chart title="What became of candidates" hint="By step, the admitted at the bottom. Learning moves the colours upwards." x={x} lines={lines} kind="columns" empty="No candidate yet." />;
}

function useSeries(both: Overview[], make: (data: Overview, step: StepRow) => number | null | undefined, label: string, colour: string, dash?: number[]): Line[] {
  const x = axis(both);
  return both.map((data, index) => {
    const byStep = new Map(data.steps.map((step) => [step.step, make(data, step)]));
    return {
      label: both.length > 1 ? `${label}, ${visible(data.run)}` : label,
      colour: both.length > 1 && index > 0 ? (RUN_COLOURS[(RUN_COLOURS.indexOf(colour) + 3) % RUN_COLOURS.length] ?? colour) : colour,
      dash: index > 0 ? DASHES[2] : dash,
      values: x.map((step) => byStep.get(step) ?? null),
    };
  });
}

function axis(both: Overview[], extra: number[] = []): number[] {
  return [...new Set([...both.flatMap((data) => data.steps.map((step) => step.step)), ...extra])].sort((a, b) => a - b);
}

const metric = (name: string) => (_: Overview, step: StepRow) => step.metrics[name];

function ScoreChart({ both }: { both: Overview[] }) {
  const measured = both.flatMap((data) => data.evaluations.map((item) => item.step));
  const x = axis(both, measured);
  const again = (lines: Line[]) => {
    const old = axis(both);
    return lines.map((line) => ({ ...line, values: x.map((step) => (old.includes(step) ? line.values[old.indexOf(step)] : null)) }));
  };
  const suites = [...new Set(both.flatMap((data) => data.evaluations.map((item) => item.suite)))].slice(0, 3);
  const accuracies = both.flatMap((data, which) =>
    suites
      .filter((suite) => data.evaluations.some((item) => item.suite === suite))
      .map(
        (suite, index): Line => ({
          label: `held out: ${visible(suite)}${both.length > 1 ? `, ${visible(data.run)}` : ""}`,
          colour: RUN_COLOURS[(2 + index + which) % RUN_COLOURS.length] ?? "green",
          dots: true,
          values: x.map((step) => data.evaluations.find((item) => item.suite === suite && item.step === step)?.accuracy ?? null),
        }),
      ),
  );
  const lines = [...again(useSeries(both, metric("solver/score"), "training score", "blue")), ...again(useSeries(both, metric("solver/right"), "fully right", "orange", DASHES[1])), ...accuracies];
  return <Chart title="Training score and held-out accuracy" hint="The curriculum moves with the solver: only held-out accuracy tells whether it got better." x={x} lines={lines} share empty="The solver has not been asked yet." />;
}

function PoolChart({ both }: { both: Overview[] }) {
  const lines = [
    ...useSeries(both, metric("pool/active"), "in the pool", "blue"),
    ...useSeries(both, metric("pool/few_shot"), "examples", "green", DASHES[2]),
    ...useSeries(both, metric("pool/prototypes"), "prototypes", "orange", DASHES[1]),
  ];
  return <Chart title="Pool and prototypes" hint="Prototypes count distinct kinds of task, by their tags." x={axis(both)} lines={lines} empty="No step is finished yet." />;
}

function RewardChart({ both }: { both: Overview[] }) {
  const lines = [
    ...useSeries(both, (_, step) => step.reward, "mean reward", "blue"),
    ...useSeries(both, (_, step) => step.quality, "quality Q_val", "green", DASHES[1]),
    ...useSeries(both, (_, step) => step.diversity, "diversity γ·N", "pink", DASHES[2]),
  ];
  return <Chart title="Generator reward and its parts" x={axis(both)} lines={lines} empty="Nothing is decided yet." />;
}

function NoveltyChart({ both }: { both: Overview[] }) {
  const lines = [
    ...useSeries(both, metric("novelty/gamma"), "γ", "pink"),
    ...useSeries(both, metric("novelty/mean"), "mean novelty", "blue", DASHES[1]),
    ...useSeries(both, metric("novelty/repetition"), "repetition s̄", "amber", DASHES[2]),
  ];
  return <Chart title="Novelty and its weight γ" hint="The more the admitted repeat one another, the more novelty pays." x={axis(both)} lines={lines} empty="Nothing is decided yet." />;
}

function SilentChart({ both }: { both: Overview[] }) {
  const lines = [
    ...useSeries(both, metric("solver/zero_variance"), "solver", "blue"),
    ...useSeries(both, (_, step) => step.generator_silent, "generator", "orange", DASHES[1]),
  ];
  return <Chart title="Silent groups" hint="Share of groups whose responses all earned the same: they train nothing." x={axis(both)} lines={lines} share empty="No group is scored yet." />;
}

function TimeChart({ steps }: { steps: StepRow[] }) {
  const { x, groups } = windows(steps.filter((step) => Object.keys(step.times).length > 0));
  const lines: Line[] = TIMES.map(([name, colour]) => ({
    label: name,
    colour,
    values: groups.map((group) => group.reduce((sum, step) => sum + (step.times[name] ?? 0), 0) / group.length),
  })).filter((line) => line.values.some((value) => value > 0));
  return <Chart title="Time per step" hint="Seconds by what they were spent on." x={x} lines={lines} kind="columns" unit=" s" empty="No step is finished yet." />;
}

function Findings({ data, run }: { data: Overview; run: string }) {
  const rows = Object.entries(data.findings).slice(0, 8);
  const most = Math.max(1, ...rows.map(([, number]) => number));
  return (
    <figure class="chart">
      <figcaption>
        <h3>Most frequent findings</h3>
        <p class="hint">Candidates that validation refused, by what it found; click for the list.</p>
      </figcaption>
      {rows.length === 0 ? (
        <p class="nothing">No finding yet.</p>
      ) : (
        <div class="bars">
          {rows.map(([code, number]) => (
            <Bar key={code} label={code} value={number} of={most} words={count(number)} colour={`l${code[1] ?? "1"}`} href={address("candidates", null, { run, code })} />
          ))}
        </div>
      )}
    </figure>
  );
}
