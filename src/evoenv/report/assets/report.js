"use strict";
// Candidate text is hostile: nothing here ever parses markup. Elements are made by name, words go in as text.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const PAGE = 100;

  function make(name, kind, ...inside) {
    const element = document.createElement(name);
    if (kind) element.className = kind;
    for (const part of inside) if (part !== null && part !== undefined) element.append(part);
    return element;
  }

  const entries = data.entries.map((row) => Object.fromEntries(data.fields.map((field, i) => [field, row[i]])));
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  entries.forEach((entry, index) => { entry.order = index; });

  // ------------------------------------------------------------------ theme

  const themes = ["auto", "light", "dark"];
  let theme = "auto";
  try { theme = localStorage.getItem("evoenv-theme") || "auto"; } catch { /* a file may have no storage */ }
  function applyTheme() {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    $("theme").textContent = `Theme: ${theme}`;
    $("theme").setAttribute("aria-label", `Colour theme: ${theme === "auto" ? "automatic" : theme}`);
  }
  $("theme").addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    try { localStorage.setItem("evoenv-theme", theme); } catch { /* then for this visit only */ }
    applyTheme();
  });
  if (!themes.includes(theme)) theme = "auto";
  applyTheme();

  // ------------------------------------------------------------------ tooltips and figures

  const tip = $("tip");
  function showTip(event) {
    const target = event.target.closest("[data-tip]");
    if (!target) { tip.hidden = true; return; }
    tip.textContent = target.dataset.tip;
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const x = Math.min(event.clientX + 14, window.innerWidth - box.width - 8);
    const y = event.clientY + 18 + box.height > window.innerHeight ? event.clientY - box.height - 10 : event.clientY + 18;
    tip.style.left = `${Math.max(x, 4)}px`;
    tip.style.top = `${Math.max(y, 4)}px`;
  }
  for (const chart of document.querySelectorAll("svg.chart")) {
    chart.addEventListener("mousemove", showTip);
    chart.addEventListener("mouseleave", () => { tip.hidden = true; });
    chart.addEventListener("click", (event) => {
      const target = event.target.closest("[data-go]");
      if (target) open(target.dataset.go);
    });
  }
  const tree = document.querySelector("#lineage svg.chart");
  if (tree) {
    const links = [...tree.querySelectorAll("[data-from]")];
    const nodes = [...tree.querySelectorAll("[data-node]")];
    let picked = null;
    tree.addEventListener("mousemove", (event) => {
      const target = event.target.closest("[data-node]");
      const now = target ? target.dataset.node : null;
      if (now === picked) return;
      picked = now;
      tree.classList.toggle("picked", picked !== null);
      const near = new Set([picked]);
      for (const link of links) {
        const touches = link.dataset.from === picked || link.dataset.to === picked;
        link.classList.toggle("near", touches);
        if (touches) { near.add(link.dataset.from); near.add(link.dataset.to); }
      }
      for (const node of nodes) node.classList.toggle("near", near.has(node.dataset.node));
    });
    tree.addEventListener("mouseleave", () => { picked = null; tree.classList.remove("picked"); });
  }
  for (const holder of document.querySelectorAll("details[data-table]")) {
    holder.addEventListener("toggle", () => {
      if (!holder.open || holder.dataset.filled) return;
      holder.dataset.filled = "1";
      const table = data.tables[holder.dataset.table];
      const head = make("tr", "", ...table.columns.map((name) => Object.assign(make("th", "", name), { scope: "col" })));
      const body = table.rows.map((row) => make("tr", "", ...row.map((cell) => make("td", "", cell === null ? "–" : String(cell)))));
      const region = make("div", "scroll", make("table", "plain", make("thead", "", head), make("tbody", "", ...body)));
      region.tabIndex = 0;
      holder.append(region);
      if (table.more) holder.append(make("p", "", `${table.more.toLocaleString("en")} more rows are in figures/${holder.dataset.table}.csv.`));
    });
  }

  // ------------------------------------------------------------------ text

  const CONTROL = new RegExp("[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb]"
    + "|[\\ud800-\\udbff](?![\\udc00-\\udfff])|(?<![\\ud800-\\udbff])[\\udc00-\\udfff]", "g");
  // Words with what a browser would obey or hide (direction overrides, zero widths) shown instead.
  function put(parent, text, kind) {
    let at = 0;
    const holder = kind ? make("span", kind) : parent;
    for (const found of text.matchAll(CONTROL)) {
      if (found[0] === "\r") continue;
      holder.append(text.slice(at, found.index));
      holder.append(make("span", "ctl", `U+${found[0].charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`));
      at = found.index + found[0].length;
    }
    holder.append(text.slice(at));
    if (kind) parent.append(holder);
    return parent;
  }
  const words = (name, kind, text) => put(make(name, kind), String(text));
  const block = (text) => { const pre = words("pre", "wrap", text); pre.tabIndex = 0; return pre; };

  const KEYWORDS = new Set(("False None True and as assert async await break class continue def del elif else except finally for from " +
    "global if import in is lambda match case nonlocal not or pass raise return try while with yield self").split(" "));
  const TOKEN = new RegExp([
    "(#[^\\n]*)",
    "([rbfuRBFU]{0,2}(?:\"\"\"[\\s\\S]*?(?:\"\"\"|$)|'''[\\s\\S]*?(?:'''|$)|\"(?:\\\\.|[^\"\\\\\\n])*\"?|'(?:\\\\.|[^'\\\\\\n])*'?))",
    "(@[A-Za-z_][\\w.]*)",
    "(\\b\\d[\\w.]*)",
    "([A-Za-z_]\\w*)",
  ].join("|"), "g");
  function highlighted(source) {
    const pre = make("pre", "code");
    pre.tabIndex = 0;
    let at = 0;
    let before = "";
    for (const found of source.matchAll(TOKEN)) {
      put(pre, source.slice(at, found.index));
      const [text, comment, string, decorator, number, name] = found;
      const kind = comment ? "c" : string ? "s" : decorator ? "d" : number ? "n"
        : KEYWORDS.has(name) ? "k" : before === "def" || before === "class" ? "f" : "";
      put(pre, text, kind);
      before = name || "";
      at = found.index + text.length;
    }
    return put(pre, source.slice(at));
  }

  // ------------------------------------------------------------------ one entry

  const number = (value, digits = 2) => value === null || value === undefined ? "–" : value.toFixed(digits).replace("-", "−");

  function fold(title, ...inside) {
    return make("details", "", words("summary", "", title), ...inside);
  }
  function goTo(environment) {
    const known = data.names[environment];
    if (!known || !byId.has(known[1])) return words("span", "", environment);
    const button = words("button", "link", known[0]);
    button.type = "button";
    button.addEventListener("click", () => open(known[1]));
    return button;
  }
  function scored(score, ok, failure) {
    if (score === null) return make("span", "", "not scored");
    const kind = score >= 0.999 ? "right" : score <= 0 ? "wrong" : "";
    const span = make("span", kind, `score ${number(score)}`);
    if (!ok) span.append(" (no final answer found)");
    if (failure) put(span, ` (the scorer failed: ${failure})`);
    return span;
  }
  function reply([text, score, ok, failure], title) {
    const holder = fold(title + " – ", block(text || "(empty)"));
    holder.firstChild.append(scored(score, ok, failure));
    return holder;
  }
  function facts(entry, detail) {
    const rows = [["id", entry.id]];
    if (entry.original) rows.push(["origin", "original environment"]);
    else rows.push(["proposed", `step ${entry.step}`]);
    if (entry.layer !== null) rows.push(["layers passed", `${entry.layer} of 5`]);
    if (detail && detail.family) rows.push(["scorer family", detail.family]);
    if (detail && detail.dialect) rows.push(["dialect", detail.dialect]);
    if (entry.environment) {
      rows.push(["in the pool", entry.retired === null ? `since step ${entry.admitted}` : `steps ${entry.admitted} to ${entry.retired}`]);
      rows.push(["use", `${entry.epochs} ${entry.epochs === 1 ? "epoch" : "epochs"}` + (entry.level === null ? "" : `, difficulty ${entry.level}`)]);
    }
    return rows;
  }
  function terms(entry) {
    if (entry.reward === null) return [];
    const rows = [["quality, Q_val", number(entry.quality, 3)], ["pass rate at calibration", number(entry.rate, 3)]];
    rows.push(["diversity, γ·N", entry.diversity === null ? "– (from L2 on)" : number(entry.diversity, 3)]);
    rows.push(["reward, R_gen", number(entry.reward, 3)]);
    if (entry.similarity !== null) rows.push(["similarity to what was admitted", number(entry.similarity, 3)]);
    if (entry.nearest) rows.push(["nearest", goTo(entry.nearest)]);
    if (entry.batch !== null) rows.push(["greatest similarity in its batch", number(entry.batch, 3)]);
    if (entry.entry_similarity !== null) rows.push(["similarity when it was decided", number(entry.entry_similarity, 3)]);
    return rows;
  }
  function listing(title, rows) {
    if (!rows.length) return null;
    const lines = rows.map(([name, value]) => make("tr", "", make("td", "", name), value instanceof Node ? make("td", "", value) : words("td", "", value)));
    return make("div", "", make("h4", "", title), make("table", "terms", make("tbody", "", ...lines)));
  }

  function grid(columns, rows, code) {
    const head = make("tr", "", ...columns.map((name) => Object.assign(make("th", "", name), { scope: "col" })));
    const lines = rows.map((row) => make("tr", "", ...row.map((cell, i) => words("td", i === code ? "mono" : "", cell))));
    return make("div", "scroll", make("table", "plain", make("thead", "", head), make("tbody", "", ...lines)));
  }

  function fill(body, entry) {
    const detail = data.details[entry.id];
    body.append(make("div", "pair", listing("Facts", facts(entry, detail)), listing("Reward", terms(entry))));
    if (entry.tags.length) {
      const chips = entry.tags.map((tag) => {
        const button = make("button", "", tag);
        button.type = "button";
        button.addEventListener("click", () => { $("tag").value = tag; refresh(); });
        return make("li", "", button);
      });
      body.append(make("h4", "", "Tags"), make("ul", "tags", ...chips));
    }
    if (entry.parents.length) {
      const line = make("p", "");
      entry.parents.forEach((parent, i) => line.append(i ? ", " : "", goTo(parent)));
      body.append(make("h4", "", "Examples that the generator saw"), line);
    }
    if (!detail) {
      body.append(make("p", "note", "The texts of this entry are not embedded in this file, to keep it small; the run's store has them."));
      for (const code of entry.codes) body.append(make("p", "finding", make("code", "", code), ` ${data.codes[code] || ""}`));
      return;
    }
    if (detail.findings && detail.findings.length) {
      body.append(make("h4", "", "Validation findings"));
      for (const [code, message, hint] of detail.findings) {
        body.append(make("div", "finding", make("p", "", words("code", "", code), " ", words("span", "", message)), words("p", "hint", hint)));
      }
    }
    body.append(make("h4", "", "Source"));
    const source = detail.source ? data.sources[detail.source] : null;
    body.append(source === null || source === undefined ? make("p", "empty", "The response has no fenced block, so there is no source.") : highlighted(source));
    if (detail.response) body.append(fold(source ? "What the generator said around it" : "The response", block(detail.response)));
    if (detail.template) body.append(fold("Prompt template", block(detail.template)));
    for (const [seed, difficulty, prompt, values] of detail.instances || []) {
      body.append(make("h4", "", `Instance at difficulty ${difficulty}, seed ${seed}`), block(prompt));
      body.append(grid(["value", "is", "shown in the prompt"], values.map(([path, value, seen]) => [path, value, seen]), 1));
    }
    if (detail.probes && detail.probes.length) {
      body.append(make("h4", "", "Scorer probes"));
      body.append(grid(["probe", "answer", "score"], detail.probes.map(([kind, answer, score]) => [kind, answer, number(score)]), 1));
    }
    if (detail.reviews && detail.reviews.length) {
      body.append(make("h4", "", "Reviews"));
      detail.reviews.forEach(([verdict, text], i) => {
        const holder = fold(`Review ${i + 1}: `, block(text || "(empty)"));
        holder.firstChild.append(make("span", ["accept", "confirmed"].includes(verdict) ? "right" : "wrong", verdict));
        body.append(holder);
      });
    }
    if (detail.calibration && detail.calibration.length) {
      body.append(make("h4", "", "Calibration"));
      detail.calibration.forEach(([task, ...rest], i) => {
        const holder = reply(rest, `Response ${i + 1}`);
        if (task) holder.insertBefore(block(task), holder.children[1]);
        body.append(holder);
      });
    }
    if (detail.solved && detail.solved.length) {
      body.append(make("h4", "", `Solver groups (${detail.solved.length} of ${detail.groups})`));
      for (const group of detail.solved) {
        const scores = group.scores.map((score) => number(score)).join(", ");
        const holder = fold(`Step ${group.step}: scores ${scores}`, block(group.task));
        group.replies.forEach((item, i) => holder.append(reply(item, `Response ${i + 1}`)));
        body.append(holder);
      }
    }
  }

  function card(entry) {
    const body = make("div", "body");
    const title = words("span", "title", entry.name);
    if (entry.name !== entry.id) title.append(words("small", "", entry.original ? "original" : entry.id));
    const summary = make(
      "summary", "", title,
      make("span", `fate d-${entry.state}`, data.states[entry.state] || entry.state),
      make("span", "fact", entry.original ? "seed" : `step ${entry.step}`),
      make("span", "fact", entry.rate === null ? "" : `pass ${number(entry.rate)}`),
      make("span", "fact", entry.reward === null ? "" : `R ${number(entry.reward)}`),
    );
    const holder = make("details", "entry", summary, body);
    holder.dataset.id = entry.id;
    holder.addEventListener("toggle", () => {
      if (holder.open && !body.firstChild) fill(body, entry);
    });
    return holder;
  }

  // ------------------------------------------------------------------ the list

  const SORTS = {
    newest: (a, b) => b.step - a.step || b.order - a.order,
    oldest: (a, b) => a.order - b.order,
    reward: (a, b) => (b.reward ?? -9) - (a.reward ?? -9) || a.order - b.order,
    rate: (a, b) => (b.rate ?? -9) - (a.rate ?? -9) || a.order - b.order,
    novel: (a, b) => (a.similarity ?? 9) - (b.similarity ?? 9) || a.order - b.order,
    layer: (a, b) => (b.layer ?? 5) - (a.layer ?? 5) || b.order - a.order,
    name: (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : a.order - b.order),
  };
  const haystacks = new Map();
  const sources = new Map();
  function matches(entry, query) {
    let text = haystacks.get(entry);
    if (text === undefined) {
      text = [entry.name, entry.id, ...entry.tags, ...entry.codes].join("\n").toLowerCase();
      haystacks.set(entry, text);
    }
    if (text.includes(query)) return true;
    const name = data.details[entry.id]?.source;
    if (!name) return false;
    if (!sources.has(name)) sources.set(name, (data.sources[name] || "").toLowerCase());
    return sources.get(name).includes(query);
  }
  let found = [];
  let shown = 0;
  function more() {
    const part = found.slice(shown, shown + PAGE).map(card);
    $("list").append(...part);
    shown += part.length;
    $("more").hidden = shown >= found.length;
  }
  function refresh() {
    const query = $("query").value.trim().toLowerCase();
    const state = $("state").value;
    const tag = $("tag").value;
    found = entries.filter((entry) =>
      (!state || entry.state === state || (state === "rejected" && !["pool", "retired", "entering", "judging", "undecided"].includes(entry.state)))
      && (!tag || entry.tags.includes(tag)) && (!query || matches(entry, query)));
    found.sort(SORTS[$("sort").value] || SORTS.newest);
    $("list").replaceChildren();
    shown = 0;
    more();
    $("count").textContent = found.length === entries.length ? `${entries.length.toLocaleString("en")} entries`
      : `${found.length.toLocaleString("en")} of ${entries.length.toLocaleString("en")} entries`;
  }
  function open(id) {
    const entry = byId.get(id);
    if (!entry) return;
    if (!found.includes(entry)) { $("filters").reset(); refresh(); }
    while (shown <= found.indexOf(entry)) more();
    const holder = [...$("list").children].find((item) => item.dataset.id === id);
    holder.open = true;
    holder.scrollIntoView({ block: "start" });
    holder.firstChild.focus({ preventScroll: true });
    history.replaceState(null, "", `#env=${encodeURIComponent(id)}`);
  }

  function count(values) {
    const counts = new Map();
    for (const value of values) counts.set(value, (counts.get(value) || 0) + 1);
    return counts;
  }
  function option(value, text) { return Object.assign(make("option", "", text), { value }); }
  const states = count(entries.map((entry) => entry.state));
  const rejected = entries.filter((entry) => !["pool", "retired", "entering", "judging", "undecided"].includes(entry.state)).length;
  if (rejected) $("state").append(option("rejected", `All rejected (${rejected})`));
  for (const [state, text] of Object.entries(data.states)) {
    if (states.has(state)) $("state").append(option(state, `${text} (${states.get(state)})`));
  }
  for (const [tag, times] of [...count(entries.flatMap((entry) => entry.tags))].sort((a, b) => (a[0] < b[0] ? -1 : 1))) {
    $("tag").append(option(tag, `${tag} (${times})`));
  }
  let timer = 0;
  $("query").addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(refresh, 120); });
  for (const id of ["state", "tag", "sort"]) $(id).addEventListener("change", refresh);
  $("filters").addEventListener("submit", (event) => event.preventDefault());
  $("filters").addEventListener("reset", () => setTimeout(refresh, 0));
  $("more").addEventListener("click", more);
  new IntersectionObserver((seen) => {
    if (seen.some((item) => item.isIntersecting) && shown < found.length) more();
  }, { rootMargin: "600px" }).observe($("more"));
  refresh();
  const linked = /^#env=(.+)$/.exec(location.hash);
  if (linked) {
    try { open(decodeURIComponent(linked[1])); } catch { /* a hash that is no entry */ }
  }
})();
