import { useContext, useEffect, useState } from "preact/hooks";
import { Chart } from "../charts";
import { Source, Text } from "../code";
import { brief, count, fixed, percent, plural, signed, visible } from "../format";
import { LiveContext, useDocument } from "../live";
import { Facts, Problem, Section, Tags, Waiting } from "../parts";
import { address, useRoute } from "../router";
import type { Environment, EnvironmentDetail, Played } from "../types";
import { Score } from "./candidate";

export function EnvironmentView({ run, id }: { run: string; id: string }) {
  const params = { run, id };
  const route = useRoute();
  const { data, error } = useDocument<EnvironmentDetail>("environment", params);
  if (data === null) return <Waiting error={error} />;
  return (
    <article class="detail">
      <p class="crumbs">
        <a href={address("environments", null, { run })}>Environments</a> / <code>{data.id}</code>
      </p>
      <h1>{brief(data.name, 120)}</h1>
      <p class="lead">
        {data.original ? "an original" : `written in step ${data.admitted}`}, {data.active ? "in the pool" : `retired at step ${data.retired}`}
        {data.candidate && (
          <>
            {"; "}
            <a href={address("candidate", data.candidate, { run })}>how it was judged</a>
          </>
        )}
        {"; "}
        <a href={address("rollouts", null, { run, subject: data.id })}>what the solver said</a>
      </p>
      {error && <Problem error={error} />}
      <Facts
        facts={[
          ["epochs of use", count(data.epochs)],
          ["level", count(data.level)],
          ["distinct instances used", count(data.instances)],
          ["pass rate at calibration", percent(data.rate)],
          ["reward", signed(data.reward)],
          ["similarity", fixed(data.similarity)],
          ["scorer", data.family ?? "–"],
        ]}
      />
      <Tags tags={data.tags} run={run} />
      <Section title="Play" id="play">
        <Play run={run} id={data.id} level={route.params.level ?? String(data.level)} first={route.params.seed ?? "0"} key={`${data.id} ${route.params.seed} ${route.params.level}`} />
      </Section>
      <Section title="Source" id="source">
        {data.source ? <Source clip={data.source} /> : <p class="nothing">The source is not stored.</p>}
      </Section>
      <Section title="Lineage" id="lineage">
        <Lineage data={data} run={run} />
      </Section>
      <Section title="Use" id="use">
        <Chart
          title="Score of the solver by step"
          x={data.uses.map((use) => use.step)}
          lines={[{ label: "mean score", colour: "blue", values: data.uses.map((use) => use.score) }]}
          share
          empty="The solver was not drawn on it yet."
          height={150}
        />
        {data.uses.length > 0 && (
          <p class="faint">
            {plural(
              data.uses.reduce((sum, use) => sum + use.groups, 0),
              "group",
            )}{" "}
            in {plural(data.uses.length, "step")}.
          </p>
        )}
      </Section>
      {data.provenance !== null && data.provenance !== undefined && (
        <Section title="Where it came from" open={false}>
          <pre class="text">{visible(JSON.stringify(data.provenance, null, 2))}</pre>
        </Section>
      )}
    </article>
  );
}

// --------------------------------------------------------------------------- play

function Play({ run, id, level, first }: { run: string; id: string; level: string; first: string }) {
  const { source } = useContext(LiveContext);
  const [seed, setSeed] = useState(first);
  const [difficulty, setDifficulty] = useState(level);
  const [answer, setAnswer] = useState("");
  const [drawn, setDrawn] = useState<Played | null>(null);
  const [scored, setScored] = useState<Played | null>(null);
  const [error, setError] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const [peek, setPeek] = useState(false);
  if (!source.live) return <p class="nothing">Playing needs the sandbox: open the run with `evoenv watch`.</p>;
  const call = (given: string | null, nextSeed = seed) => {
    setBusy(true);
    setError(null);
    source
      .play({ run, environment: id, seed: nextSeed.trim(), difficulty: Number(difficulty), ...(given === null ? {} : { answer: given }) })
      .then(
        (played) => {
          if (given === null) {
            setDrawn(played);
            setScored(null);
            setPeek(false);
            setAnswer("");
          } else setScored(played);
        },
        (failure: unknown) => setError(failure instanceof Error ? failure.message : String(failure)),
      )
      .finally(() => setBusy(false));
  };
  const next = () => {
    const other = /^\d+$/.test(seed) ? String(BigInt(seed) + 1n) : "0";
    setSeed(other);
    call(null, other);
  };
  return (
    <div class="play">
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault();
          call(null);
        }}
      >
        <label>
          <span>seed</span>
          <input id="play-seed" type="text" inputMode="numeric" pattern="[0-9]{1,19}" required value={seed} onInput={(event) => setSeed(event.currentTarget.value)} />
        </label>
        <label>
          <span>level</span>
          <input id="play-level" type="number" min="0" max="1000" step="1" required value={difficulty} onInput={(event) => setDifficulty(event.currentTarget.value)} />
        </label>
        <button id="play-draw" type="submit" class="primary" disabled={busy}>
          Draw an instance
        </button>
        <button type="button" disabled={busy} onClick={next}>
          Next seed
        </button>
      </form>
      {error && <Problem error={error} />}
      {drawn && (
        <>
          <h4>What the solver sees</h4>
          <Text clip={{ text: drawn.prompt, length: drawn.prompt.length }} label="prompt of the instance" />
          <form
            class="answer"
            onSubmit={(event) => {
              event.preventDefault();
              call(answer);
            }}
          >
            <label>
              <span>your answer</span>
              <textarea id="play-answer" rows={2} maxLength={20000} value={answer} onInput={(event) => setAnswer(event.currentTarget.value)} />
            </label>
            <button id="play-score" type="submit" class="primary" disabled={busy || answer.trim() === ""}>
              Score it
            </button>
            <button type="button" onClick={() => setPeek(!peek)} aria-expanded={peek}>
              {peek ? "Hide" : "Show"} the reference
            </button>
          </form>
          {peek && <pre class="text">{visible(JSON.stringify(drawn.reference))}</pre>}
          <p aria-live="polite" id="play-result">
            {scored && (
              <>
                <Score score={scored.score ?? null} /> for <code>{brief(scored.answer ?? "", 200)}</code>
                {scored.failure && <span class="bad"> {visible(scored.failure)}</span>}
              </>
            )}
          </p>
          {drawn.counted !== undefined && (
            <p class="faint">
              {drawn.distinct} of {drawn.counted} seeds give different prompts at this level. The code runs in the sandbox.
            </p>
          )}
        </>
      )}
    </div>
  );
}

// --------------------------------------------------------------------------- lineage

const ROW = 34;
const MOST = 14;

function Lineage({ data, run }: { data: EnvironmentDetail; run: string }) {
  const parents = data.parents.slice(0, MOST);
  const children = data.children.slice(0, MOST);
  const rows = Math.max(parents.length, children.length, 1);
  const height = rows * ROW;
  const middle = height / 2;
  const [all, setAll] = useState(false);
  useEffect(() => setAll(false), [data.id]);
  const y = (index: number, length: number) => (index + 0.5) * ROW + ((rows - length) * ROW) / 2;
  const node = (item: Environment, index: number, length: number, side: string) => (
    <a key={item.id} class={`node ${side} ${item.original ? "original" : item.active ? "generated" : "gone"}`} style={{ top: `${y(index, length) - 14}px` }} href={address("environment", item.id, { run })} data-id={item.id}>
      {brief(item.name, 36)}
      <small>{item.original ? " seed" : ` ${item.admitted}`}</small>
    </a>
  );
  if (data.counts.parents === 0 && data.counts.children === 0) return <p class="nothing">No parents: an original. Nothing was written after it yet.</p>;
  return (
    <>
      <p class="faint">
        The generator saw {plural(data.counts.parents, "example")} when it wrote this; {count(data.counts.children)} admitted {data.counts.children === 1 ? "environment was" : "environments were"} written after it. Click to walk.
      </p>
      <div class="lineage" style={{ height: `${height}px` }}>
        <svg viewBox={`0 0 100 ${height}`} preserveAspectRatio="none" aria-hidden="true">
          {parents.map((item, index) => (
            <path key={item.id} d={`M31 ${y(index, parents.length)} C35 ${y(index, parents.length)} 33 ${middle} 37 ${middle}`} />
          ))}
          {children.map((item, index) => (
            <path key={item.id} d={`M63 ${middle} C67 ${middle} 65 ${y(index, children.length)} 69 ${y(index, children.length)}`} />
          ))}
        </svg>
        {parents.map((item, index) => node(item, index, parents.length, "parent"))}
        <span class="node self" style={{ top: `${middle - 14}px` }}>
          {brief(data.name, 36)}
        </span>
        {children.map((item, index) => node(item, index, children.length, "child"))}
      </div>
      {data.counts.children > children.length && (
        <>
          <button type="button" onClick={() => setAll(!all)}>
            {all ? "Hide" : "List"} {data.children.length} of {plural(data.counts.children, "child").replace("childs", "children")}
          </button>
          {all && (
            <ul class="columns">
              {data.children.map((item) => (
                <li key={item.id}>
                  <a href={address("environment", item.id, { run })}>{brief(item.name, 60)}</a>
                </li>
              ))}
            </ul>
          )}
        </>
      )}
    </>
  );
}
