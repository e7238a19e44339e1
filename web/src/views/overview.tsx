import { useContext } from "preact/hooks";
import { Bar, Chart, type Line } from "../charts";
import { count, duration, moment, percent, plural, visible } from "../format";
import { LiveContext, useDocument } from "../live";
import { Problem, Tile, Waiting } from "../parts";
import { address, replaceParams, useRoute } from "../router";
import type { Audit, Evaluation, Now, Overview, RunRow, StepRow } from "../types";
import { AuditTiles, FigureView, Words } from "./audit";

const STAGES = ["generated", "validated", "reviewed", "calibrated", "decided", "solved", "updated", "rotated"];
const STAGE_WORDS: Record<string, string> = {
  generated: "writing candidates",
  validated: "validating",
  reviewed: "asking reviewers and the solver",
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
  ["too hard, too easy", ["too-hard", "too-easy", "asymmetry"], "calibration"],
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

const MOST_OVERLAID = 5;

/** Names of runs in one parameter: commas inside them are written out. */
const joined = (names: string[]) => names.map(encodeURIComponent).join(",");

function separated(text: string): string[] {
  try {
    return text.split(",").filter(Boolean).map(decodeURIComponent);
  } catch {
    return []; // an address that somebody typed
  }
}

export function OverviewView({ run, runs }: { run: string; runs: RunRow[] }) {
  const route = useRoute();
  const { source } = useContext(LiveContext);
  const { data, error } = useDocument<Overview>("overview", { run });
  const audit = useDocument<Audit>(source.live ? null : "audit", { run }).data;
  const names = [...new Set(separated(route.params.with ?? ""))].filter((name) => name !== run).slice(0, MOST_OVERLAID);
  const others = Array.from({ length: MOST_OVERLAID }, (_, index) => useDocument<Overview>(names[index] ? "overview" : null, { run: names[index] }));
  if (data === null) return <Waiting error={error} />;
  const all = [data, ...others.flatMap((other) => other.data ?? [])];
  const overlay = (wanted: string[]) => replaceParams(route, { run, with: joined(wanted) || null });
  return (
    <>
      <div class="title-row">
        <h1>{visible(data.run)}</h1>
        {runs.length > 1 && (
          <div class="beside">
            {names.map((name, index) => (
              <button key={name} type="button" class="chip" title={`leave out ${visible(name)}`} onClick={() => overlay(names.filter((item) => item !== name))}>
                <i class="box" style={{ "--hue": `var(--${RUN_COLOURS[index + 1]})` }} />
                {visible(name)} ✕
              </button>
            ))}
            {names.length < MOST_OVERLAID && names.length < runs.length - 1 && (
              <label>
                compare with{" "}
                <select id="with" value="" onChange={(event) => event.currentTarget.value && overlay([...names, event.currentTarget.value])}>
                  <option value="">…</option>
                  {runs
                    .filter((row) => row.name !== run && !names.includes(row.name))
                    .map((row) => (
                      <option key={row.name} value={row.name}>
                        {visible(row.name)}
                      </option>
                    ))}
                </select>
              </label>
            )}
          </div>
        )}
      </div>
      <p class="lead">
        {audit ? (
          visible(audit.lead)
        ) : (
          <>
            {data.curriculum} on <code>{visible(data.model ?? "an unnamed model")}</code>, begun {moment(data.created)}
            {data.training ? "" : "; builds a pool and trains nothing"}
          </>
        )}
      </p>
      {data.notice && <p class="note">{data.notice}</p>}
      {[...(audit?.notes ?? []), ...(source.left_out ?? [])].map((words) => (
        <p key={words} class="note">
          {visible(words)}
        </p>
      ))}
      {error && <Problem error={error} />}
      {others.map((other, index) => other.error && <Problem key={index} error={`${visible(names[index] ?? "")}: ${other.error}`} />)}
      <Progress now={data.now} />
      {audit ? <AuditTiles audit={audit} /> : <Tiles data={data} run={run} />}
      {all.length > 1 && <SideBySide all={all} />}
      {audit && <Words audit={audit} />}
      <div class="grid">
        <Funnel data={data} run={run} />
        <FatesChart steps={data.steps} />
        <ScoreChart all={all} />
        <PoolChart all={all} />
        <RewardChart all={all} />
        <NoveltyChart all={all} />
        <SilentChart all={all} />
        <TimeChart steps={data.steps} />
        {audit ? audit.figures.map((figure) => <FigureView key={figure.key} figure={figure} run={run} />) : <Findings data={data} run={run} />}
      </div>
    </>
  );
}

function Tiles({ data, run }: { data: Overview; run: string }) {
  return (
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
      <Tile label="admitted" note={data.candidates ? `${percent(data.environments.admitted / data.candidates, 1)} of the candidates` : ""}>
        {count(data.environments.admitted)}
      </Tile>
      <Tile label="pool" note={`${plural(data.environments.original, "original")}, ${count(data.environments.retired)} retired`}>
        {count(data.environments.active)}
      </Tile>
    </dl>
  );
}

/** Where each of several runs stands, in one row each. */
function SideBySide({ all }: { all: Overview[] }) {
  const last = (data: Overview, name: string) => data.steps.map((step) => step.metrics[name]).findLast((value) => value !== null && value !== undefined);
  return (
    <div class="scroll side-by-side">
      <table class="plain">
        <thead>
          <tr>
            {["run", "steps", "candidates", "admitted", "pool", "prototypes", "training score", "held out"].map((label, index) => (
              <th key={label} scope="col" class={index > 0 ? "right" : ""}>
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {all.map((data, index) => {
            const held = data.evaluations.reduce<Evaluation | null>((best, item) => (best === null || item.step >= best.step ? item : best), null);
            return (
              <tr key={data.run}>
                <td>
                  <i class="box" style={{ "--hue": `var(--${RUN_COLOURS[index]})` }} /> <a href={address("overview", null, { run: data.run })}>{visible(data.run)}</a>
                </td>
                <td class="right">
                  {data.now.last} of {data.now.wanted}
                </td>
                <td class="right">{count(data.candidates)}</td>
                <td class="right">{count(data.environments.admitted)}</td>
                <td class="right">{count(data.environments.active)}</td>
                <td class="right">{count(last(data, "pool/prototypes"))}</td>
                <td class="right">{percent(last(data, "solver/score"), 1)}</td>
                <td class="right" title={held ? `${held.suite}, step ${held.step}` : ""}>
                  {percent(held?.accuracy, 1)}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
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

/** One line per run. A single run has colours by measure; several have a colour each, and dashes by measure. */
function series(all: Overview[], make: (step: StepRow) => number | null | undefined, label: string, colour: string, measure = 0, range?: (step: StepRow) => [number, number] | null): Line[] {
  const x = axis(all);
  return all.map((data, index) => {
    const byStep = new Map(data.steps.map((step) => [step.step, step]));
    const along = <T,>(read: (step: StepRow) => T) => x.map((number) => (byStep.has(number) ? read(byStep.get(number) as StepRow) : null));
    return {
      label: all.length > 1 ? `${label}, ${visible(data.run)}` : label,
      colour: all.length > 1 ? (RUN_COLOURS[index] ?? colour) : colour,
      dash: DASHES[measure],
      values: along(make),
      ...(range && all.length === 1 && { low: along((step) => range(step)?.[0]), high: along((step) => range(step)?.[1]) }),
    };
  });
}

/** All steps of all runs: the lines of a chart share one axis. */
function axis(all: Overview[]): number[] {
  const steps = all.flatMap((data) => data.steps.map((step) => step.step));
  return [...new Set(steps)].sort((a, b) => a - b);
}

const metric = (name: string) => (step: StepRow) => step.metrics[name];

function ScoreChart({ all }: { all: Overview[] }) {
  const old = axis(all);
  const x = [...new Set([...old, ...all.flatMap((data) => data.evaluations.map((item) => item.step))])].sort((a, b) => a - b);
  const again = (lines: Line[]) => lines.map((line) => ({ ...line, values: x.map((step) => (old.includes(step) ? line.values[old.indexOf(step)] : null)) }));
  const suites = [...new Set(all.flatMap((data) => data.evaluations.map((item) => item.suite)))].slice(0, all.length > 1 ? 1 : 4);
  const accuracies = all.flatMap((data, which) =>
    suites
      .filter((suite) => data.evaluations.some((item) => item.suite === suite))
      .map((suite, index): Line => {
        const at = (step: number) => data.evaluations.find((item) => item.suite === suite && item.step === step);
        return {
          label: `held out: ${visible(suite)}${all.length > 1 ? `, ${visible(data.run)}` : ""}`,
          colour: RUN_COLOURS[all.length > 1 ? which : 2 + index] ?? "green",
          dots: true,
          values: x.map((step) => at(step)?.accuracy),
          low: x.map((step) => at(step)?.low),
          high: x.map((step) => at(step)?.high),
        };
      }),
  );
  const lines = [...again(series(all, metric("solver/score"), "training score", "blue")), ...again(series(all, metric("solver/right"), "fully right", "orange", 1)), ...accuracies];
  return <Chart title="Training score and held-out accuracy" hint="The curriculum moves with the solver: only held-out accuracy tells whether it got better." x={x} lines={lines} share empty="The solver has not been asked yet." />;
}

function PoolChart({ all }: { all: Overview[] }) {
  const lines = [
    ...series(all, metric("pool/active"), "in the pool", "blue"),
    ...series(all, metric("pool/admitted"), "ever admitted", "amber", 1),
    ...series(all, metric("pool/few_shot"), "examples", "green", 2),
    ...series(all, metric("pool/prototypes"), "prototypes", "orange", 3),
  ];
  return <Chart title="Pool and prototypes" hint="Prototypes count distinct kinds of task, by their tags." x={axis(all)} lines={lines} empty="No step is finished yet." />;
}

function RewardChart({ all }: { all: Overview[] }) {
  const lines = [
    ...series(all, (step) => step.reward, "mean reward", "blue", 0, (step) => step.reward_range),
    ...series(all, (step) => step.quality, "quality Q_val", "green", 1),
    ...series(all, (step) => step.diversity, "diversity γ·N", "pink", 2),
  ];
  return <Chart title="Generator reward and its parts" hint="Shaded: from the 10th to the 90th percentile of a step's candidates." x={axis(all)} lines={lines} empty="Nothing is decided yet." />;
}

function NoveltyChart({ all }: { all: Overview[] }) {
  const lines = [
    ...series(all, metric("novelty/gamma"), "γ", "pink"),
    ...series(all, metric("novelty/mean"), "mean novelty", "blue", 1),
    ...series(all, metric("novelty/repetition"), "repetition s̄", "amber", 2),
  ];
  return <Chart title="Novelty and its weight γ" hint="The more the admitted repeat one another, the more novelty pays." x={axis(all)} lines={lines} empty="Nothing is decided yet." />;
}

function SilentChart({ all }: { all: Overview[] }) {
  const lines = [
    ...series(all, metric("solver/zero_variance"), "solver", "blue"),
    ...series(all, (step) => step.generator_silent, "generator", "orange", 1),
  ];
  return <Chart title="Silent groups" hint="Share of groups whose responses all earned the same: they train nothing." x={axis(all)} lines={lines} share empty="No group is scored yet." />;
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
