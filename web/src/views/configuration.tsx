import { useState } from "preact/hooks";
import { brief, count, moment, visible } from "../format";
import { useDocument } from "../live";
import { Problem, Section, Waiting } from "../parts";
import { address } from "../router";
import type { Configuration, EventRow } from "../types";

export function ConfigurationView({ run }: { run: string }) {
  const { data, error } = useDocument<Configuration>("configuration", { run });
  const events = useDocument<{ events: EventRow[]; more: boolean }>("events", { run });
  const [all, setAll] = useState(false);
  const [kind, setKind] = useState("");
  if (data === null) return <Waiting error={error} />;
  const sections = Object.entries(data.config).filter(([, value]) => typeof value === "object" && value !== null && !Array.isArray(value)) as [string, Record<string, unknown>][];
  const findings = data.findings.filter((row) => all || row.count > 0);
  const kinds = [...new Set(events.data?.events.map((event) => event.kind))].sort();
  const listed = (events.data?.events ?? []).filter((event) => !kind || event.kind === kind);
  return (
    <>
      <h1>Configuration</h1>
      <p class="lead">
        Begun {moment(data.created)} with {Object.entries(data.versions).map(([name, version]) => `${name} ${version}`).join(", ") || "unknown versions"}.
      </p>
      {error && <Problem error={error} />}
      <div class="settings">
        {sections.map(([name, values]) => (
          <section key={name}>
            <h3>[{name}]</h3>
            <dl>
              {Object.entries(values).map(([key, value]) => (
                <div key={key}>
                  <dt>{key}</dt>
                  <dd>
                    <code>{visible(typeof value === "string" ? `"${value}"` : JSON.stringify(value))}</code>
                  </dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <Section title="Findings explained" id="explained">
        <label class="check">
          <input type="checkbox" checked={all} onChange={(event) => setAll(event.currentTarget.checked)} /> also those that this run has not met
        </label>
        <div class="scroll">
          <table class="plain">
            <thead>
              <tr>
                <th>finding</th>
                <th class="right">candidates</th>
                <th>meaning</th>
                <th class="wide">what to do</th>
              </tr>
            </thead>
            <tbody>
              {findings.map((row) => (
                <tr key={row.code}>
                  <td>
                    <a href={address("candidates", null, { run, code: row.code })}>
                      <code>{row.code}</code>
                    </a>
                  </td>
                  <td class="right">{count(row.count)}</td>
                  <td>{row.meaning}</td>
                  <td class="wide">{row.hint}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
        {findings.length === 0 && <p class="nothing">The run has no findings.</p>}
      </Section>
      <Section title="Events" id="events">
        {events.error && <Problem error={events.error} />}
        <div class="filters">
          <label>
            <span>kind</span>
            <select id="event-kind" value={kind} onChange={(event) => setKind(event.currentTarget.value)}>
              <option value="">all</option>
              {kinds.map((name) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          </label>
        </div>
        <div class="scroll events">
          <table class="plain">
            <thead>
              <tr>
                <th>time</th>
                <th class="right">step</th>
                <th>event</th>
                <th>data</th>
              </tr>
            </thead>
            <tbody>
              {listed.map((event) => (
                <tr key={event.id}>
                  <td class="nowrap">{moment(event.at)}</td>
                  <td class="right">{event.step ?? "–"}</td>
                  <td>{visible(event.kind)}</td>
                  <td>
                    <code>{event.data === "{}" ? "" : brief(event.data, 300)}</code>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
        {events.data?.more && <p class="faint">Only the newest {count(events.data.events.length)} are shown.</p>}
      </Section>
    </>
  );
}
