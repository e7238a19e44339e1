import { Diff, Source, Text, Turns } from "../code";
import { brief, fixed, percent, plural, signed, visible } from "../format";
import { useDocument } from "../live";
import { EnvironmentLink, Facts, Problem, Rows, Section, State, Tags, Waiting } from "../parts";
import { address } from "../router";
import type { CandidateDetail, RewardParts } from "../types";

export function CandidateView({ run, id }: { run: string; id: string }) {
  const params = { run, id };
  const { data, error } = useDocument<CandidateDetail>("candidate", params);
  if (data === null) return <Waiting error={error} />;
  const marks: Record<number, string[]> = {};
  for (const finding of data.report?.findings ?? []) {
    if (finding.line !== null) (marks[finding.line] ??= []).push(`${finding.code}  ${brief(finding.message.text, 160)}`);
  }
  const nearest = data.nearest_environment;
  return (
    <article class="detail">
      <p class="crumbs">
        <a href={address("candidates", null, { run })}>Candidates</a> / <a href={address("candidates", null, { run, step: String(data.step) })}>step {data.step}</a>
      </p>
      <h1>{brief(data.name, 120)}</h1>
      <p class="lead">
        <State state={data.state} /> <code>{data.id}</code>{" "}
        {data.environment && <a href={address("environment", data.environment, { run })}>open as an environment, and play it</a>}
      </p>
      {error && <Problem error={error} />}
      <Facts
        facts={[
          ["layers passed", data.layer === null ? "–" : `L${data.layer} of 5`],
          ["pass rate", percent(data.rate)],
          ["novelty", fixed(data.novelty)],
          ["reward", signed(data.reward)],
          ["dialect", data.report?.dialect ?? "–"],
          ["scorer", data.report?.family ?? "–"],
        ]}
      />
      {data.tags.length > 0 && <Tags tags={data.tags} run={run} />}

      {data.report && data.report.findings.length > 0 && (
        <Section title={plural(data.report.findings.length, "finding")} id="findings">
          <ul class="findings">
            {data.report.findings.map((finding, index) => (
              <li key={index}>
                <a href={address("candidates", null, { run, code: finding.code })}>
                  <code>{finding.code}</code>
                </a>{" "}
                {visible(finding.message.text)}
                <span class="hint">{visible(finding.hint)}</span>
              </li>
            ))}
          </ul>
        </Section>
      )}

      <Section title="Source" id="source">
        {data.source ? <Source clip={data.source} marks={marks} /> : <p class="nothing">The response has no Python block.</p>}
        {data.source && data.source.length > data.source.text.length && <p class="cut">Only the beginning is shown; the response below has all of it.</p>}
      </Section>

      {data.reward_parts && (
        <Section title="Reward" id="reward">
          <Reward parts={data.reward_parts} layer={data.layer} reason={data.reason} />
        </Section>
      )}

      {data.novelty !== null && (
        <Section title="Novelty" id="novelty">
          <p>
            Most similar to {nearest ? nearest.known ? <EnvironmentLink id={nearest.id} name={nearest.name} run={run} /> : <code>{nearest.id}</code> : "nothing"}: similarity{" "}
            <strong>{fixed(data.similarity, 3)}</strong>, so novelty {fixed(data.novelty, 3)}. Within its own batch the greatest similarity is {fixed(data.batch, 3)}
            {data.admission !== null ? `; at admission ${fixed(data.admission, 3)}` : ""}.
          </p>
          {nearest?.source && data.source && <Diff left={nearest.source} right={data.source} leftName={brief(nearest.name, 60)} rightName={brief(data.name, 60)} />}
        </Section>
      )}

      {data.reviews.length > 0 && (
        <Section title={`Reviews: ${data.reviews.map((review) => review.verdict).join(", ")}`} id="reviews">
          {data.reviews.map((review, index) => (
            <div key={index} class="reply">
              <p class="reply-head">
                <span class={`verdict ${review.verdict}`}>{review.verdict}</span>
              </p>
              <Text clip={review.text} label={`review ${index + 1}`} more={{ name: "candidate", params, pick: (whole: CandidateDetail) => whole.reviews[index]?.text }} />
            </div>
          ))}
          {data.evidence.instances.map((instance) => (
            <details key={`${instance.seed} ${instance.difficulty}`} class="instance">
              <summary>
                instance that the reviewer saw: seed {instance.seed}, level {instance.difficulty}
              </summary>
              <Text clip={instance.prompt} label="prompt of the instance" />
              <Rows head={["value", "is", "shown in the prompt"]} rows={instance.values} />
            </details>
          ))}
          {data.evidence.probes.length > 0 && (
            <details class="instance" id="probes">
              <summary>what the scorer gave to {plural(data.evidence.probes.length, "answer")}</summary>
              <Rows head={["answer", "is", "score"]} rows={data.evidence.probes.map(([kind, answer, score]) => [kind, answer, fixed(score)])} />
            </details>
          )}
          {data.review_prompt.length > 0 && (
            <Section title="What the reviewer was shown" open={false}>
              <Turns turns={data.review_prompt} />
            </Section>
          )}
        </Section>
      )}

      {data.calibration_requests.length > 0 && (
        <Section title={`Calibration: ${data.calibration ? percent(data.calibration.rate) : "not scored yet"}`} id="calibration">
          <p class="faint">One fresh instance after the other; the environment's own code scores the answers.</p>
          {data.calibration_requests.map((request, which) => (
            <details key={request.id} class="instance">
              <summary>
                instance {which + 1}
                {request.difficulty !== null && `, level ${request.difficulty}`}:{" "}
                {request.replies.map((reply, index) => (
                  <Score key={index} score={reply.score} />
                ))}
              </summary>
              <Turns turns={request.messages} more={{ name: "candidate", params, pick: (whole: CandidateDetail, index) => whole.calibration_requests[which]?.messages[index]?.content }} />
              {request.replies.map((reply, index) => (
                <div key={index} class="reply">
                  <p class="reply-head">
                    answer <Score score={reply.score} /> {reply.format_ok === false && <span class="bad">no final answer</span>} {reply.failure && <span class="bad">{visible(reply.failure)}</span>}
                  </p>
                  <Text clip={reply.text} label={`answer ${index + 1}`} more={{ name: "candidate", params, pick: (whole: CandidateDetail) => whole.calibration_requests[which]?.replies[index]?.text }} />
                </div>
              ))}
            </details>
          ))}
        </Section>
      )}

      <Section title="The response, as generated" open={data.source === null} id="response">
        <Text clip={data.response} label="response" more={{ name: "candidate", params, pick: (whole: CandidateDetail) => whole.response }} />
      </Section>

      <Section title="The prompt" open={false} id="prompt">
        {data.parents.length > 0 && (
          <p>
            Examples in it (the parents):{" "}
            {data.parents.map((parent, index) => (
              <span key={parent}>
                {index > 0 && ", "}
                {data.parent_names[parent] ? <EnvironmentLink id={parent} name={data.parent_names[parent] ?? parent} run={run} /> : <code>{brief(parent, 40)}</code>}
              </span>
            ))}
          </p>
        )}
        <Turns turns={data.prompt} more={{ name: "candidate", params, pick: (whole: CandidateDetail, index) => whole.prompt[index]?.content }} />
      </Section>
    </article>
  );
}

export function Score({ score }: { score: number | null }) {
  if (score === null) return <span class="score">–</span>;
  return <span class={`score ${score >= 1 ? "full" : score > 0 ? "part" : "zero"}`}>{score >= 1 ? "✓ " : score > 0 ? "◑ " : "✗ "}{fixed(score)}</span>;
}

function Reward({ parts, layer, reason }: { parts: RewardParts; layer: number | null; reason: string | null }) {
  const quality = parts.quality ?? 0;
  const most = Math.max(1, Math.abs(quality) + Math.abs(parts.diversity));
  const product = parts.novelty === null ? 0 : (parts.gamma ?? 0) * parts.novelty;
  const flat = Math.abs(product - parts.diversity) > 0.005;
  const width = (value: number) => ({ width: `${(100 * Math.abs(value)) / most / 2}%` });
  return (
    <div class="reward">
      <p class="formula">
        {flat ? (
          <>R, paid by the run's own rule: </>
        ) : (
          <>
            R = Q<sub>val</sub> + γ·N = <b class="ink-green">{fixed(quality)}</b> + {parts.novelty === null ? "0" : `${fixed(parts.gamma)}·${fixed(parts.novelty)}`} ={" "}
          </>
        )}
        <b>{fixed(quality)}</b> {parts.diversity >= 0 ? "+" : ""}{" "}
        <b class="ink-pink">{fixed(parts.diversity)}</b> = <strong>{signed(parts.reward)}</strong>
      </p>
      <div class="parts" role="img" aria-label={`quality ${fixed(quality)}, diversity ${fixed(parts.diversity)}`}>
        <span class="half left">{quality < 0 && <span class="part-fill quality" style={width(quality * 2)} />}</span>
        <span class="half right">
          {quality > 0 && <span class="part-fill quality" style={width(quality * 2)} />}
          {parts.diversity > 0 && <span class="part-fill diversity" style={width(parts.diversity * 2)} />}
        </span>
      </div>
      <p class="faint">
        {layer === 5
          ? `Quality is how near the pass rate ${percent(parts.rate)} is to the target ${percent(parts.target)}.`
          : `It stopped after L${layer ?? 0}: quality is fixed by the layer.`}{" "}
        Decision: {reason ?? "–"}.
      </p>
      {parts.curve.length > 0 && <Curve parts={parts} />}
    </div>
  );
}

function Curve({ parts }: { parts: RewardParts }) {
  const [w, h] = [260, 80];
  const x = (rate: number) => 6 + rate * (w - 12);
  const y = (value: number) => h - 16 - value * (h - 24);
  const path = parts.curve.map((value, index) => `${index ? "L" : "M"}${x(index / (parts.curve.length - 1)).toFixed(1)} ${y(value).toFixed(1)}`).join("");
  const rate = parts.rate ?? 0;
  return (
    <svg class="curve" viewBox={`0 0 ${w} ${h}`} role="img" aria-label={`quality by pass rate, highest at ${percent(parts.target)}; here ${percent(parts.rate)}`}>
      <line class="axis" x1={x(0)} x2={x(1)} y1={y(0)} y2={y(0)} />
      <path class="line" d={path} />
      <line class="target" x1={x(parts.target)} x2={x(parts.target)} y1={y(0)} y2={y(1)} />
      <circle cx={x(rate)} cy={y(parts.quality ?? 0)} r={5} />
      <text x={x(0)} y={h - 3}>
        0%
      </text>
      <text x={x(1)} y={h - 3} text-anchor="end">
        pass rate 100%
      </text>
    </svg>
  );
}
