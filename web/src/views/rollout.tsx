import { useState } from "preact/hooks";
import { Text, Turns } from "../code";
import { brief, count, fixed, plural, signed, visible } from "../format";
import { useDocument } from "../live";
import { EnvironmentLink, Facts, Problem, Section, Waiting } from "../parts";
import { address } from "../router";
import type { GroupDetail, Response_ } from "../types";
import { Score } from "./candidate";

export function RolloutView({ run, id }: { run: string; id: string }) {
  const params = { run, id };
  const { data, error } = useDocument<GroupDetail>("group", params);
  if (data === null) return <Waiting error={error} />;
  return (
    <article class="detail">
      <p class="crumbs">
        <a href={address("rollouts", null, { run })}>Rollouts</a> / <a href={address("rollouts", null, { run, step: String(data.step), role: data.role })}>step {data.step}, {data.role}</a>
      </p>
      <h1>
        {data.role === "solver" ? "Solver" : "Generator"} group <code>{data.id}</code>
      </h1>
      <p class="lead">
        {data.subject && data.name && (
          <>
            on <EnvironmentLink id={data.subject} name={data.name} run={run} />,{" "}
          </>
        )}
        {plural(data.responses, "response")} of {data.wanted};{" "}
        {data.silent === null ? "not all scored yet" : data.silent ? "all earned the same: no signal" : "their rewards differ: a signal"}
      </p>
      {error && <Problem error={error} />}
      <Facts
        facts={[
          ["mean reward", fixed(data.reward)],
          ["level", data.difficulty ?? "–"],
          [
            "seed",
            data.seed === null ? (
              "–"
            ) : (
              <>
                <code>{data.seed}</code>{" "}
                {data.subject && data.name && (
                  <a href={address("environment", data.subject, { run, seed: data.seed, level: String(data.difficulty ?? 0) })}>play it</a>
                )}
              </>
            ),
          ],
          ["tokens", count(data.tokens)],
        ]}
      />
      <Section title="The prompt" open={data.role === "solver"} id="prompt">
        <Turns turns={data.messages} more={{ name: "group", params, pick: (whole: GroupDetail, index) => whole.messages[index]?.content }} />
      </Section>
      <Section title="Responses" id="responses">
        {data.replies.map((reply) => (
          <Reply key={reply.index} reply={reply} run={run} role={data.role} params={params} />
        ))}
        {data.replies.length === 0 && <p class="nothing">None yet.</p>}
      </Section>
    </article>
  );
}

function Reply({ reply, run, role, params }: { reply: Response_; run: string; role: string; params: { run: string; id: string } }) {
  const [tokens, setTokens] = useState(false);
  return (
    <div class="reply">
      <p class="reply-head">
        <span>#{reply.index}</span>
        {role === "solver" ? <Score score={reply.reward} /> : <span>reward {signed(reply.reward)}</span>}
        <span title="how much better than the mean of its group, in standard deviations">advantage {signed(reply.advantage)}</span>
        <span>{plural(reply.tokens, "token")}</span>
        <span class="faint">
          {reply.finish === "stop" ? "ended by itself" : reply.finish === "length" ? "cut at the limit" : reply.finish}; policy version {reply.version}
        </span>
        {reply.format_ok === false && <span class="bad">no final answer</span>}
        {reply.failure && <span class="bad">{visible(reply.failure)}</span>}
        {reply.candidate && <a href={address("candidate", reply.candidate, { run })}>{brief(reply.candidate, 30)}</a>}
        {reply.logprobs && reply.pieces && (
          <button type="button" aria-pressed={tokens} onClick={() => setTokens(!tokens)}>
            {tokens ? "Plain text" : "Colour by log-probability"}
          </button>
        )}
      </p>
      {tokens && reply.logprobs && reply.pieces ? (
        <>
          <pre class="text tokens" tabIndex={0} aria-label="tokens, coloured by log-probability">
            {reply.pieces.map((piece, index) => {
              const logprob = reply.logprobs?.[index] ?? 0;
              return (
                <span key={index} class={`p${surprise(logprob)}`} title={`p = ${Math.exp(logprob).toFixed(3)}, log p = ${fixed(logprob, 3)}`}>
                  {visible(piece)}
                </span>
              );
            })}
          </pre>
          <p class="legend">
            {["p > 0.9", "> 0.5", "> 0.2", "> 0.05", "less"].map((words, index) => (
              <span key={words}>
                <i class={`box p${index}`} />
                {words}
              </span>
            ))}
          </p>
        </>
      ) : (
        <Text clip={reply.text} label={`response ${reply.index}`} mark={reply.part} more={{ name: "group", params, pick: (whole: GroupDetail) => whole.replies.find((other) => other.index === reply.index)?.text }} />
      )}
    </div>
  );
}

function surprise(logprob: number): number {
  const p = Math.exp(logprob);
  return p > 0.9 ? 0 : p > 0.5 ? 1 : p > 0.2 ? 2 : p > 0.05 ? 3 : 4;
}
