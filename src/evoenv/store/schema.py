"""The tables of a run, as a list of migrations: a new run applies all of them, an old one those it lacks.

Never edit a migration that was released; append one. `PRAGMA user_version` holds how many were applied.
Statements are separated by blank lines.

Texts and vectors live in tables of their own, so that listing a hundred thousand candidates or members of the
pool reads only small rows. Sources and vectors are stored once per content (`environment_id`).
"""

from __future__ import annotations

_FIRST = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)

-- The log; the triggers make 'append-only' a fact.
CREATE TABLE events (
  id INTEGER PRIMARY KEY, at REAL NOT NULL, step INTEGER, kind TEXT NOT NULL, data TEXT NOT NULL)

CREATE TRIGGER events_keep BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'events are append-only'); END

CREATE TRIGGER events_fixed BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'events are append-only'); END

CREATE TABLE stages (
  step INTEGER, stage TEXT, at REAL NOT NULL, data TEXT NOT NULL, PRIMARY KEY (step, stage))

-- What the policy was asked, in every role; `subject` is a candidate or an environment.
CREATE TABLE requests (
  id TEXT PRIMARY KEY, step INTEGER NOT NULL, purpose TEXT NOT NULL, count INTEGER NOT NULL,
  subject TEXT, seed INTEGER, difficulty INTEGER, messages BLOB NOT NULL)

CREATE INDEX requests_by_step ON requests (step, purpose)

CREATE TABLE samples (
  request_id TEXT NOT NULL, idx INTEGER NOT NULL, step INTEGER NOT NULL, finish_reason TEXT NOT NULL,
  tokens INTEGER NOT NULL, text BLOB NOT NULL, PRIMARY KEY (request_id, idx))

-- Token ids and log-probabilities: needed until a checkpoint covers the step, then dropped.
CREATE TABLE rollouts (
  request_id TEXT NOT NULL, idx INTEGER NOT NULL, step INTEGER NOT NULL, data BLOB NOT NULL,
  PRIMARY KEY (request_id, idx))

CREATE INDEX rollouts_by_step ON rollouts (step)

CREATE TABLE scores (
  request_id TEXT NOT NULL, idx INTEGER NOT NULL, step INTEGER NOT NULL, value REAL NOT NULL,
  format_ok INTEGER NOT NULL, failure TEXT, PRIMARY KEY (request_id, idx))

CREATE TABLE sources (environment_id TEXT PRIMARY KEY, source BLOB NOT NULL)

CREATE TABLE candidates (
  id TEXT PRIMARY KEY, step INTEGER NOT NULL, grp INTEGER NOT NULL, idx INTEGER NOT NULL,
  request_id TEXT NOT NULL, environment_id TEXT, parents TEXT NOT NULL)

CREATE INDEX candidates_by_step ON candidates (step)

CREATE TABLE reports (
  candidate_id TEXT PRIMARY KEY, step INTEGER NOT NULL, layer INTEGER NOT NULL, class_name TEXT, dialect TEXT,
  family TEXT, seconds REAL NOT NULL, cpu_seconds REAL NOT NULL, sandbox TEXT NOT NULL,
  prompt_template BLOB NOT NULL, findings BLOB NOT NULL)

CREATE INDEX reports_by_step ON reports (step)

-- The texts of reviews are the samples of the request '<candidate>.review'.
CREATE TABLE reviews (
  candidate_id TEXT NOT NULL, idx INTEGER NOT NULL, step INTEGER NOT NULL, verdict TEXT NOT NULL,
  PRIMARY KEY (candidate_id, idx))

CREATE INDEX reviews_by_step ON reviews (step)

CREATE TABLE calibrations (
  candidate_id TEXT PRIMARY KEY, step INTEGER NOT NULL, pass_rate REAL NOT NULL, scores TEXT NOT NULL)

CREATE INDEX calibrations_by_step ON calibrations (step)

CREATE TABLE novelties (
  candidate_id TEXT PRIMARY KEY, step INTEGER NOT NULL, similarity REAL NOT NULL, novelty REAL NOT NULL,
  batch_similarity REAL NOT NULL, nearest TEXT)

CREATE INDEX novelties_by_step ON novelties (step)

CREATE TABLE vectors (environment_id TEXT PRIMARY KEY, prompt BLOB NOT NULL, code BLOB NOT NULL)

CREATE TABLE decisions (
  candidate_id TEXT PRIMARY KEY, step INTEGER NOT NULL, layer INTEGER NOT NULL, q_val REAL NOT NULL,
  reward REAL NOT NULL, admitted INTEGER NOT NULL, reason TEXT NOT NULL, similarity_at_admission REAL)

CREATE INDEX decisions_by_step ON decisions (step)

CREATE TABLE environments (
  position INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL, candidate_id TEXT,
  original INTEGER NOT NULL, active INTEGER NOT NULL, epochs INTEGER NOT NULL, level INTEGER NOT NULL,
  level_right INTEGER NOT NULL, level_total INTEGER NOT NULL, admitted_step INTEGER NOT NULL,
  retired_step INTEGER)

CREATE TABLE metrics (step INTEGER, name TEXT, value REAL, PRIMARY KEY (step, name)) WITHOUT ROWID
"""

# Tags are computed once, on admission: recomputing them would parse every source of the run.
_TAGS = "ALTER TABLE environments ADD COLUMN tags TEXT NOT NULL DEFAULT '[]'"

# Held-out accuracy of the policy as a step left it (step 0: before training), with its confidence interval.
_EVALUATIONS = """
CREATE TABLE evaluations (
  step INTEGER NOT NULL, suite TEXT NOT NULL, accuracy REAL NOT NULL, low REAL NOT NULL, high REAL NOT NULL,
  n INTEGER NOT NULL, at REAL NOT NULL, PRIMARY KEY (step, suite))
"""

# What an environment brought along from elsewhere: origin, licence, its verdict there.
_PROVENANCE = "CREATE TABLE provenance (environment_id TEXT PRIMARY KEY, data BLOB NOT NULL)"

# What a candidate is looked up by: its fate, its layer, a finding's code; and what was asked about it. Findings are
# packed as text; their codes stand beside them, each once per candidate, `position` being the first that has it.
_LOOKUPS = """
CREATE TABLE finding_codes (
  candidate_id TEXT NOT NULL, code TEXT NOT NULL, step INTEGER NOT NULL, position INTEGER NOT NULL,
  PRIMARY KEY (candidate_id, code)) WITHOUT ROWID

CREATE INDEX finding_codes_by_code ON finding_codes (code, step)

INSERT OR IGNORE INTO finding_codes
  SELECT r.candidate_id, json_extract(f.value, '$[0]'), r.step, f.key
  FROM reports r, json_each(unpack_text(r.findings)) f ORDER BY r.candidate_id, f.key

CREATE INDEX decisions_by_reason ON decisions (reason, step)

CREATE INDEX reports_by_layer ON reports (layer, step)

CREATE INDEX requests_by_subject ON requests (subject, purpose)
"""

# r-zero's questions have tables of their own. Until then they stood as candidates without source, their votes as
# calibrations, and their fates as decisions with layer 0 and the share of the vote as q_val.
_QUESTIONS = """
CREATE TABLE questions (
  id TEXT PRIMARY KEY, step INTEGER NOT NULL, grp INTEGER NOT NULL, idx INTEGER NOT NULL, request_id TEXT NOT NULL)

CREATE INDEX questions_by_step ON questions (step)

-- `agreeing` tells of each answer, in order, whether it agrees with the most frequent one; that one is the label.
CREATE TABLE votes (
  question_id TEXT PRIMARY KEY, step INTEGER NOT NULL, share REAL NOT NULL, agreeing TEXT NOT NULL)

CREATE INDEX votes_by_step ON votes (step)

CREATE TABLE question_decisions (
  question_id TEXT PRIMARY KEY, step INTEGER NOT NULL, reward REAL NOT NULL, admitted INTEGER NOT NULL,
  reason TEXT NOT NULL)

CREATE INDEX question_decisions_by_step ON question_decisions (step)

INSERT INTO questions SELECT id, step, grp, idx, request_id FROM candidates
  WHERE (SELECT json_extract(value, '$.curriculum.name') FROM meta WHERE key = 'config') = 'r-zero'

INSERT INTO votes
  SELECT candidate_id, step, pass_rate, replace(replace(scores, '1.0', 'true'), '0.0', 'false') FROM calibrations
  WHERE candidate_id IN (SELECT id FROM questions)

INSERT INTO question_decisions SELECT candidate_id, step, reward, admitted, reason FROM decisions
  WHERE candidate_id IN (SELECT id FROM questions)

DELETE FROM calibrations WHERE candidate_id IN (SELECT id FROM questions)

DELETE FROM decisions WHERE candidate_id IN (SELECT id FROM questions)

DELETE FROM candidates WHERE id IN (SELECT id FROM questions)
"""

# How many updates the policy had seen when it said this. Before, every step of a trained run had had one update each.
_VERSIONS = """
ALTER TABLE samples ADD COLUMN version INTEGER NOT NULL DEFAULT 0

UPDATE samples SET version = step - 1
  WHERE step > 0 AND EXISTS (SELECT 1 FROM meta WHERE key = 'training' AND value = 'true')
"""

# What programs that were written from the prompts alone say about a candidate; their texts are samples.
_RECOMPUTATIONS = """
CREATE TABLE recomputations (
  candidate_id TEXT PRIMARY KEY, step INTEGER NOT NULL, verdict TEXT NOT NULL, right_share REAL NOT NULL,
  data TEXT NOT NULL)

CREATE INDEX recomputations_by_step ON recomputations (step)
"""

# By how much programs do better than words: the share of instances that they get right, minus the solver's pass rate.
# Recomputations without any program have none.
_ASYMMETRIES = """
CREATE TABLE asymmetries (candidate_id TEXT PRIMARY KEY, step INTEGER NOT NULL, value REAL NOT NULL)

CREATE INDEX asymmetries_by_step ON asymmetries (step)

INSERT INTO asymmetries
  SELECT r.candidate_id, r.step, r.right_share - k.pass_rate FROM recomputations r
  JOIN calibrations k ON k.candidate_id = r.candidate_id WHERE json_array_length(r.data, '$.shares') > 0
"""

MIGRATIONS: tuple[tuple[str, ...], ...] = tuple(
    tuple(script.strip().split("\n\n"))
    for script in (
        _FIRST,
        _TAGS,
        _EVALUATIONS,
        _PROVENANCE,
        _LOOKUPS,
        _QUESTIONS,
        _VERSIONS,
        _RECOMPUTATIONS,
        _ASYMMETRIES,
    )
)

SCHEMA_VERSION = len(MIGRATIONS)
