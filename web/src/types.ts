// The documents that the server sends; evoenv/watch makes them.

export interface Clip {
  text: string;
  length: number;
}

export interface RunRow {
  name: string;
  changed: number;
  running: boolean;
}

export interface Now {
  running: boolean;
  changed: number;
  step: number;
  last: number;
  wanted: number;
  stage: string | null;
  done_stages: string[];
  done: number;
  total: number;
  elapsed: number | null;
  tokens_per_second: number | null;
  seconds_left: number | null;
}

export interface StepRow {
  step: number;
  finished: boolean;
  fates: Record<string, number>;
  funnel: (number | null)[];
  metrics: Record<string, number | null>;
  reward: number | null;
  /** The 10th and the 90th percentile. */
  reward_range: [number, number] | null;
  quality: number | null;
  diversity: number | null;
  generator_silent: number | null;
  times: Record<string, number>;
}

export interface Evaluation {
  step: number;
  suite: string;
  accuracy: number;
  low: number;
  high: number;
  n: number;
}

export interface Overview {
  run: string;
  /** What a reader must know of this run before the rest. */
  notice?: string;
  created: number | null;
  training: boolean;
  curriculum: string;
  model: string | null;
  candidates: number;
  environments: { total: number; active: number; original: number; retired: number; admitted: number };
  now: Now;
  funnel: { names: string[]; total: (number | null)[]; step: (number | null)[] | null; left_out: string[] };
  states: Record<string, string>;
  refusals: Record<string, number>;
  findings: Record<string, number>;
  steps: StepRow[];
  evaluations: Evaluation[];
}

export interface Candidate {
  id: string;
  name: string;
  state: string;
  step: number;
  group: number;
  index: number;
  environment: string | null;
  layer: number | null;
  tags: string[];
  codes: string[];
  parents: string[];
  rate: number | null;
  quality: number | null;
  diversity: number | null;
  reward: number | null;
  similarity: number | null;
  novelty: number | null;
  batch: number | null;
  nearest: string | null;
  admission: number | null;
}

export interface Page<Row> {
  total: number;
  offset: number;
  rows: Row[];
}

export interface Turn {
  speaker: string;
  content: Clip;
}

export interface Finding {
  code: string;
  layer: number;
  message: Clip;
  hint: string;
  line: number | null;
}

export interface Reply {
  text: Clip;
  score: number | null;
  format_ok: boolean | null;
  failure: string | null;
}

export interface Answered {
  id: string;
  seed: string | null;
  difficulty: number | null;
  messages: Turn[];
  replies: Reply[];
}

export interface RewardParts {
  reward: number;
  quality: number | null;
  diversity: number;
  gamma: number | null;
  novelty: number | null;
  rate: number | null;
  target: number;
  sigma: number;
  curve: number[];
}

export interface CandidateDetail extends Candidate {
  prompt: Turn[];
  response: Clip;
  source: Clip | null;
  report: {
    layer: number;
    class: string | null;
    dialect: string | null;
    family: string | null;
    seconds: number;
    template: Clip;
    findings: Finding[];
  } | null;
  reviews: { verdict: string; text: Clip }[];
  review_prompt: Turn[];
  evidence: {
    instances: { seed: string; difficulty: number; prompt: Clip; values: [string, string, string][] }[];
    probes: [string, string, number][];
  };
  calibration: { rate: number; scores: number[] } | null;
  calibration_requests: Answered[];
  reason: string | null;
  reward_parts: RewardParts | null;
  nearest_environment: { id: string; name: string; source: Clip | null; known: boolean } | null;
  parent_names: Record<string, string>;
}

// The audit of a written report; evoenv/report makes it, as charts.py names the parts.

export interface Series {
  name: string;
  values: (number | null)[];
  colour: string;
  dash: string;
  low: (number | null)[];
  high: (number | null)[];
  dots: boolean;
}

interface Mark {
  key: string;
  label: string;
  colour: string;
  tip: string;
}

export type Panel = { left_out: number } & (
  | { kind: "lines"; x: number[]; series: Series[]; label: string; share: boolean; x_label: string }
  | { kind: "columns"; x: string[]; series: Series[]; label: string; x_label: string; marker: [number, string] | null }
  | { kind: "bars"; bars: { label: string; value: number; colour: string; words: string; tip: string }[] }
  | { kind: "heat"; rows: string[]; columns: string[]; values: (number | null)[][]; tips: string[][]; x_label: string; gap_after: number }
  | { kind: "spans"; spans: (Mark & { start: number; end: number; over: boolean })[]; last: number }
  | { kind: "tree"; nodes: (Mark & { x: number; y: number })[]; links: [number, number][]; faint: [number, number][]; last: number; rows: number }
  | { kind: "omitted" }
);

export interface Figure {
  key: string;
  title: string;
  caption: string;
  alt: string;
  panels: Panel[];
  table: { columns: string[]; rows: (string | number | null)[][]; more: number };
}

export interface Audit {
  lead: string;
  notes: string[];
  tiles: [string, string, string][];
  paragraphs: { title: string; lines: string[]; rows: string[][] }[];
  figures: Figure[];
}

export interface Environment {
  id: string;
  name: string;
  original: boolean;
  active: boolean;
  candidate: string | null;
  admitted: number;
  retired: number | null;
  epochs: number;
  level: number;
  tags: string[];
  groups?: number;
  score?: number;
  last_step?: number;
  last_score?: number;
  children?: number;
}

export interface EnvironmentDetail extends Omit<Environment, "children"> {
  source: Clip | null;
  parents: Environment[];
  children: Environment[];
  counts: { parents: number; children: number; siblings: number };
  uses: { step: number; groups: number; responses: number; score: number }[];
  instances: number;
  rate: number | null;
  reward: number | null;
  similarity: number | null;
  family: string | null;
  dialect: string | null;
  template: Clip | null;
  provenance: unknown;
}

export interface Group {
  id: string;
  step: number;
  role: string;
  subject: string | null;
  name: string | null;
  seed: string | null;
  difficulty: number | null;
  wanted: number;
  responses: number;
  tokens: number;
  reward: number | null;
  silent: boolean | null;
}

export interface Response_ {
  index: number;
  text: Clip;
  part: [number, number] | null;
  finish: string;
  tokens: number;
  version: number;
  reward: number | null;
  advantage: number | null;
  format_ok: boolean | null;
  failure: string | null;
  candidate: string | null;
  logprobs: number[] | null;
  pieces: string[] | null;
}

export interface GroupDetail extends Group {
  messages: Turn[];
  replies: Response_[];
}

export interface Point {
  environment: string | null;
  candidate: string | null;
  name: string;
  original: boolean;
  step: number;
  state: string;
  tags: string[];
  prompt: [number, number];
  code: [number, number];
  template: string;
}

export interface Configuration {
  config: Record<string, unknown>;
  versions: Record<string, string>;
  created: number | null;
  states: Record<string, string>;
  findings: { code: string; meaning: string; hint: string; count: number }[];
}

export interface EventRow {
  id: number;
  at: number;
  step: number | null;
  kind: string;
  data: string;
}

export interface Played {
  seed: string;
  difficulty: number;
  prompt: string;
  reference: unknown;
  distinct?: number;
  counted?: number;
  answer?: string;
  score?: number;
  format_ok?: boolean;
  failure?: string | null;
}
