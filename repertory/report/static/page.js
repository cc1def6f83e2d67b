"use strict";
// Draws the page from its data. All text from runs is set as text, never as markup.

const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d31", "#7f7f7f"];
const DASHES = ["solid", "dash", "dot", "dashdot"];
let data = JSON.parse(document.getElementById("data").textContent);

function element(tag, content, attributes) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) made.setAttribute(name, value);
  for (const part of [].concat(content === undefined || content === null ? [] : content)) {
    made.append(part instanceof Node ? part : String(part));
  }
  return made;
}

function number(value, digits) {
  if (value === null || value === undefined) return "";
  if (Number.isInteger(value) && Math.abs(value) >= 1000) return value.toLocaleString("en");
  return String(Number(value.toPrecision(digits || 4)));
}

function spread(mean, deviation) {
  if (mean === null || mean === undefined) return "";
  return number(mean) + (deviation === null || deviation === undefined ? "" : " ± " + number(deviation, 3));
}

function table(titles, rows, isText) {
  const head = element("tr", titles.map((title, i) => element("th", title, isText && isText[i] ? { class: "text" } : {})));
  const body = rows.map((row) => element("tr", row.map((cell, i) => {
    if (cell instanceof Node && cell.tagName === "TD") return cell;
    return element("td", cell, isText && isText[i] ? { class: "text" } : {});
  })));
  return element("div", element("table", [element("thead", head), element("tbody", body)]), { class: "scroll" });
}

function section(id, title, parts) {
  const made = element("section", [element("h2", title)].concat(parts), { id });
  document.getElementById("sections").append(made);
  document.getElementById("contents").append(element("a", title, { href: "#" + id }));
  return made;
}

const note = (text) => element("p", text, { class: "note" });

function plot(id, traces, layout, tall) {
  const place = element("div", null, { class: tall ? "plot tall" : "plot", id });
  plots.push({ place, traces, layout });
  return place;
}

let plots = [];

function drawPlots() {
  const style = getComputedStyle(document.documentElement);
  const ink = style.getPropertyValue("--ink").trim();
  const line = style.getPropertyValue("--line").trim();
  const narrow = window.innerWidth < 600;
  for (const { place, traces, layout } of plots) {
    const axis = { gridcolor: line, zerolinecolor: line, automargin: true };
    const whole = {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: ink, size: narrow ? 11 : 13 },
      margin: { t: layout.title ? 40 : 16, r: 12, b: 50, l: 56 }, hovermode: "closest",
      legend: narrow ? { orientation: "h", y: -0.25 } : {},
      ...layout, xaxis: { ...axis, ...layout.xaxis }, yaxis: { ...axis, ...layout.yaxis },
    };
    Plotly.react(place, traces, whole, { responsive: true, displaylogo: false, displayModeBar: false });
  }
}

// ---- sections

function conditionsSection() {
  if (!data.conditions.length) return;
  const published = data.conditions.some((row) => row["lifetime published"] !== null);
  const titles = ["condition", "runs", "steps", "lifetime"].concat(published ? ["published", "difference"] : [], ["final"],
    published ? ["published", "difference"] : []);
  const rows = data.conditions.map((row) => {
    const cells = [row.condition, row.runs, number(row.steps)];
    for (const which of ["lifetime", "final"]) {
      cells.push(spread(row[which], row[which + " sd"]));
      if (!published) continue;
      cells.push(spread(row[which + " published"], row[which + " published sd"]));
      const gap = row[which + " difference"];
      const far = gap !== null && Math.abs(gap) > 2;
      cells.push(element("td", gap === null ? "" : (gap > 0 ? "+" : "") + gap.toFixed(1) + " sd" + (far ? " !" : ""),
        far ? { class: "far" } : {}));
    }
    return cells;
  });
  section("conditions", "Scores", [
    note("Mean ± standard deviation over runs; score: " + (data.domains.length > 1 ? "each domain's own" : data.score) + ". " + (published
      ? "Differences are in published standard deviations; more than two are marked with !." : "")), table(titles, rows)]);
}

function styleOf(curve, index, curves) {
  const sizes = [...new Set(curves.map((other) => other.policies))].sort((a, b) => a - b);
  if (curves.length > sizes.length * 2) return { color: COLOURS[index % 8], dash: DASHES[Math.floor(index / 8) % 4] };
  if (sizes.length === 1) return { color: COLOURS[index % 8], dash: "solid" };
  return { color: COLOURS[sizes.indexOf(curve.policies) % 8], dash: curve.adaptive ? "dash" : "solid" };
}

function developmentSection() {
  if (!data.development.length) return;
  const learners = [...new Set(data.development.map((curve) => curve.learner))];
  const parts = learners.map((learner) => {
    const curves = data.development.filter((curve) => curve.learner === learner);
    const traces = curves.map((curve, index) => ({
      x: curve.steps, y: curve.mean, name: curve.condition, mode: "lines", line: { width: 2, ...styleOf(curve, index, curves) },
      error_y: { type: "data", array: curve.error.map((e) => e || 0), thickness: 1, width: 0, visible: curve.runs > 1 },
      hovertemplate: "%{y:.4g} at %{x:.3g} million steps<extra>" + escapeMarkup(curve.condition) + "</extra>",
    }));
    return plot("development-" + learner, traces, {
      title: { text: learner.toUpperCase(), font: { size: 14 } }, xaxis: { title: { text: "steps lived (millions)" }, rangemode: "tozero" },
      yaxis: { title: { text: curves[0].score } },
    });
  });
  section("development", "Development", [
    note("Means over " + data.stretch + (data.stretch === 1 ? " block" : " blocks") + ", with the standard error over runs. Solid: unadaptive; dashed: adaptive. A click on a name hides it."),
    element("div", parts, { class: "pair" })]);
}

// Plotly reads a little markup in names; runs may be called anything.
function escapeMarkup(text) { return String(text).replace(/</g, "‹").replace(/>/g, "›"); }

function finalSection() {
  if (data.conditions.length < 2) return;
  if (data.domains.length > 1) {
    section("final", "Final against lifetime", [note("Scores of different domains do not compare: give the folder of one domain's runs.")]);
    return;
  }
  const learners = [...new Set(data.conditions.map((row) => row.learner))];
  const traces = learners.map((learner, index) => {
    const rows = data.conditions.filter((row) => row.learner === learner);
    return {
      x: rows.map((row) => row.lifetime), y: rows.map((row) => row.final), text: rows.map((row) => escapeMarkup(row.condition)),
      mode: "markers", type: "scatter", name: learner.toUpperCase(), marker: { size: 10, color: COLOURS[index % 8], symbol: index },
      hovertemplate: "%{text}: lifetime %{x:.4g}, final %{y:.4g}<extra></extra>",
    };
  });
  const all = data.conditions.flatMap((row) => [row.lifetime, row.final]);
  const ends = [Math.min(...all), Math.max(...all)];
  traces.push({ x: ends, y: ends, mode: "lines", name: "equal", line: { color: "#999999", width: 1, dash: "dot" }, hoverinfo: "skip" });
  section("final", "Final against lifetime", [
    note("Above the line, a library ends better than it lived on the whole; below it, it lost what it had."),
    plot("final-plot", traces, { xaxis: { title: { text: "lifetime " + data.score } }, yaxis: { title: { text: "final " + data.score } } })]);
}

function chosen(names, draw, label) {
  const select = element("select", names.map((name, i) => element("option", name, { value: i })), { "aria-label": label });
  select.addEventListener("change", () => { draw(Number(select.value)); drawPlots(); });
  return select;
}

function assignmentSection() {
  if (!data.assignment.length) return;
  const place = plot("assignment-plot", [], {}, true);
  const mine = plots[plots.length - 1];
  const draw = (index) => {
    const map = data.assignment[index];
    const hover = map.favourite.map((row, task) => row.map((policy, i) => policy === null ? "not met"
      : escapeMarkup(map.tasks[task]) + "<br>policy " + policy + ", " + (100 * map.share[task][i]).toFixed(0) + "% of episodes"));
    mine.traces = [{
      type: "heatmap", x: map.steps.map((s) => number(s, 3)), y: map.tasks.map((_, i) => i), z: map.share, text: map.favourite.map((row) =>
        row.map((policy) => policy === null ? "" : policy)), texttemplate: "%{text}", hovertext: hover, hoverinfo: "text",
      colorscale: "Cividis", zmin: 0, zmax: 1, colorbar: { title: { text: "share" }, thickness: 12 },
    }];
    mine.layout = {
      xaxis: { title: { text: "steps lived (millions), end of stretch" }, type: "category" },
      yaxis: { title: { text: "task" }, autorange: "reversed", dtick: map.tasks.length > 40 ? 10 : 1 },
    };
  };
  const select = chosen(data.assignment.map((map) => map.condition + ", run " + map.run), draw, "Condition");
  const start = data.assignment.reduce((best, map, i) => map.policies > data.assignment[best].policies && map.policies <= 9 ? i : best, 0);
  select.value = start;
  draw(start);
  section("assignment", "Who plays what", [note(
    "Each task's favourite policy (number) and its share of the task's episodes (colour): specialisation forming. Blank: not met."), select, place]);
}

function perTaskSection() {
  if (data.per_task.note) section("tasks", "Tasks", [note(data.per_task.note)]);
  if (!data.per_task.conditions.length) return;
  section("tasks", "Tasks", [note("Score of each task (" + data.score + ") over the last quarter of the lifetimes; blank: not met."),
    plot("tasks-plot", [{
      type: "heatmap", x: data.per_task.tasks.map((_, i) => i), y: data.per_task.conditions.map(escapeMarkup), z: data.per_task.scores,
      colorscale: "Viridis", colorbar: { thickness: 12 },
      hovertext: data.per_task.scores.map((row) => row.map((s, i) => escapeMarkup(data.per_task.tasks[i]) + ": " + number(s))), hoverinfo: "text+y",
    }], { xaxis: { title: { text: "task" } }, yaxis: { autorange: "reversed" } }, data.per_task.conditions.length > 8)]);
}

function learningSection() {
  const parts = [];
  const learnerOf = Object.fromEntries(data.development.map((curve) => [curve.condition, curve]));
  for (const learner of new Set(data.development.map((curve) => curve.learner))) {
    const entries = data.learning.conditions.filter((entry) => learnerOf[entry.condition].learner === learner);
    if (!entries.length) continue;
    const curves = entries.map((entry) => learnerOf[entry.condition]);
    for (const [kind, label] of [["forgetting", "interfering blocks"], ["transfer", "prior blocks"]]) {
      const traces = entries.map((entry, index) => ({
        x: entry[kind].bin, y: entry[kind].mean, name: entry.condition, mode: "lines+markers", line: styleOf(curves[index], index, curves),
        error_y: { type: "data", array: entry[kind].error.map((e) => e || 0), thickness: 1, width: 0 },
        hovertemplate: "%{y:.3g}<extra>" + escapeMarkup(entry.condition) + "</extra>",
      }));
      parts.push(plot(kind + "-" + learner, traces, { title: { text: learner.toUpperCase() + ": " + kind + " ratio", font: { size: 14 } },
        xaxis: { title: { text: label }, type: "category" }, yaxis: { title: { text: "ratio" } } }));
    }
  }
  const notes = data.learning.notes.map(note);
  if (!parts.length && !notes.length) return;
  section("learning", "Forgetting and transfer", [note("Against a policy of its own for every task, in units of the random policy's score: "
    + "below zero, a task is played worse for what came in between, or before."), element("div", parts, { class: "pair" })].concat(notes));
}

function capacitySection() {
  const notes = data.capacity_notes.map(note);
  if (!data.capacity.length) {
    if (notes.length) section("capacity", "Task capacity", notes);
    return;
  }
  const traces = data.capacity.map((curve, index) => ({
    x: curve.tolerances, y: curve.capacities, name: curve.learner.toUpperCase() + ": ITC " + number(curve.itc, 3), mode: "lines",
    line: { shape: "hv", width: 2, color: COLOURS[index % 8] },
  }));
  const rows = data.capacity.map((curve) => [curve.learner, number(curve.itc), curve["itc interval"] ? number(curve["itc interval"][0], 3)
    + " to " + number(curve["itc interval"][1], 3) : "needs 2 runs", number(curve["itc exact"]), number(curve["published itc"]), number(curve.tolerance),
    number(curve.capacity), number(curve["published capacity"])]);
  section("capacity", "Task capacity", [note("Tasks per policy, by the share of the one-to-one score that may be given up."),
    plot("capacity-plot", traces, { showlegend: true, xaxis: { title: { text: "tolerance" }, range: [0, 1] }, yaxis: { title: { text: "tasks per policy" }, rangemode: "tozero" } }),
    table(["learner", "ITC", "95% interval", "exact integral", "published ITC", "tolerance", "capacity", "published"], rows)].concat(notes));
}

function significanceSection() {
  const parts = [];
  for (const [learner, pairs] of Object.entries(data.significance)) {
    const names = [...new Set(pairs.flatMap((pair) => [pair.condition_1, pair.condition_2]))];
    const z = names.map(() => names.map(() => null));
    const hover = names.map(() => names.map(() => ""));
    for (const pair of pairs) {
      for (const [a, b, sign] of [[pair.condition_1, pair.condition_2, 1], [pair.condition_2, pair.condition_1, -1]]) {
        const i = names.indexOf(a), j = names.indexOf(b);
        z[i][j] = pair.p_holm;
        hover[i][j] = escapeMarkup(a) + " less " + escapeMarkup(b) + ": " + number(sign * pair.difference) + "<br>p " + number(pair.p, 3)
          + ", Holm " + number(pair.p_holm, 3) + ", released " + number(pair.p_released, 3);
      }
    }
    parts.push(plot("significance-" + learner, [{
      type: "heatmap", x: names.map(escapeMarkup), y: names.map(escapeMarkup), z, hovertext: hover, hoverinfo: "text", zmin: 0, zmax: 0.1, colorscale: "Cividis", reversescale: true,
      colorbar: { title: { text: "p (Holm)" }, thickness: 12 },
    }], { title: { text: learner.toUpperCase(), font: { size: 14 } }, yaxis: { autorange: "reversed" }, margin: { b: 110, l: 120, t: 40, r: 10 } }));
  }
  if (!parts.length) return;
  section("significance", "Significance", [note(
    "Pairwise F-tests of lifetime scores, Holm-corrected; dark blue is 0.1 or more, light is small. 'released' is the test as the paper's code computes it."),
    element("div", parts, { class: "pair" })]);
}

function librariesSection() {
  if (!data.libraries.length) return;
  const rows = data.libraries.map((row) => [row.condition, row.runs, number(row.spread, 3), number(row.memory / 1e6, 4), number(Math.round(row["steps per second"]))]);
  section("libraries", "Libraries and speed", [note("Policy spread: mean total-variation distance between the policies of a library."),
    table(["condition", "runs", "policy spread", "memory (MB)", "steps/s"], rows)]);
}

function timeSection() {
  if (!data.time.length) return;
  const days = data.time.some((row) => row["published days per run"]);
  const minutes = (seconds) => number(seconds / 60, 3);
  const rows = data.time.map((row) => [row.learner, row.runs, number(row.steps / 1e6), number(row["core hours"], 3), number(row["wall-clock hours"], 3),
    minutes(row["mean run seconds"]), minutes(row["longest run seconds"]), number(Math.round(row["steps per core second"]))]
    .concat(days ? [row["published days per run"], number(Math.round(row["times faster"]))] : [], [row.source]));
  section("time", "Time used", [note("Of finished runs, one core each; wall-clock hours are of all runs one after another. 'from speed': not measured over "
    + "the whole run, but worked out from its speed."), table(["learner", "runs", "million steps", "core-hours", "wall-clock hours", "minutes a run", "most",
    "steps/s per core"].concat(days ? ["paper, days a run", "times faster"] : [], ["known"]), rows)]);
}

function claimsSection() {
  if (!data.claims || !data.claims.length) return;
  const marks = { "reproduced": "✓ reproduced", "not reproduced": "✗ not reproduced", "not yet decidable": "· not yet decidable" };
  const rows = data.claims.map((claim) => [element("td", [marks[claim.verdict] || claim.verdict].concat(claim.certainty
    ? [element("br"), element("small", claim.certainty)] : [])), claim.claim, claim.figures]);
  const count = (state) => data.claims.filter((claim) => claim.verdict === state).length;
  section("claims", "The paper's claims", [note(count("reproduced") + " reproduced, " + count("not reproduced") + " not reproduced, "
    + count("not yet decidable") + " not yet decidable with the runs at hand. With fewer runs than the paper's, a verdict is clear if the mean "
    + "scores lie beyond their bounds by more than two standard errors at the published spread."), table(["", "claim", "decided from"], rows, [false, true, true])]);
}

function picturesSection() {
  const notes = (data.picture_notes || []).map(note);
  if (!data.pictures || !(data.pictures.length || notes.length)) return;
  const figures = data.pictures.map((picture) => element("figure", [element("img", null, { src: picture.source, alt: picture.caption, loading: "lazy" }),
    element("figcaption", picture.caption)]));
  section("pictures", "Policies at work", [element("div", figures, { class: "pictures" })].concat(notes));
}

function problemsSection() {
  if (!data.problems.length) return;
  section("problems", "Left out", [note("These runs cannot be read, and are in no table or figure here."),
    element("ul", data.problems.map((problem) => element("li", problem)))]);
}

function progressSection() {
  const open = data.progress.filter((run) => !run.finished);
  const parts = [];
  if (open.length) {
    parts.push(table(["condition", "run", "blocks", "", "last score"], open.map((run) => [run.condition, run.run, run.blocks + " of " + run.of,
      element("td", element("progress", null, { max: run.of, value: run.blocks })), number(run.score)])));
  }
  if (data.missing) {
    parts.push(element("h3", "Not run yet"));
    parts.push(element("p", data.missing.conditions.join(", ")));
    parts.push(element("p", element("code", data.missing.command)));
  }
  if (parts.length) section("progress", "Under way and missing", parts);
}

function settingsSection() {
  if (!data.settings.length) return;
  section("settings", "Settings, code and machine", data.settings.map((entry) => element("details", [element("summary", entry.condition),
    element("pre", JSON.stringify({ settings: entry.settings, made_by: entry.made_by }, null, 1))])));
}

function memorySection() {
  if (!data.memory) return;
  section("memory", "Memory of growing libraries", [note("Policies held by libraries that grow with the tasks they meet (simulation), and by a fixed one (dashed)."),
    element("img", null, { src: data.memory, alt: "Memory of growing libraries", style: "max-width: 100%; background: white" })]);
}

function draw() {
  plots = [];
  document.title = data.folder + ": repertory report";
  document.getElementById("title").textContent = data.title;
  document.getElementById("summary").replaceChildren(...data.summary.map((sentence) => element("p", sentence)));
  document.getElementById("sections").replaceChildren();
  document.getElementById("contents").replaceChildren();
  for (const make of [conditionsSection, developmentSection, finalSection, assignmentSection, perTaskSection, learningSection, capacitySection,
    significanceSection, librariesSection, timeSection, memorySection, claimsSection, picturesSection, progressSection, problemsSection, settingsSection]) make();
  drawPlots();
}

draw();
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawPlots);

// ---- the dashboard serves this page with data-live; then new data is fetched and drawn as it comes.
if (document.documentElement.dataset.live) {
  const live = document.getElementById("live");
  live.hidden = false;
  const refresh = async () => {
    try {
      const response = await fetch("data.json", { cache: "no-store" });
      const fresh = await response.text();
      if (!response.ok) {
        live.textContent = "cannot be refreshed: " + fresh;
        return;
      }
      if (fresh !== refresh.last) {
        const hidden = plots.map((p) => (p.place.data || []).filter((t) => t.visible === "legendonly").map((t) => t.name));
        const top = window.scrollY;
        const first = refresh.last === undefined;
        refresh.last = fresh;
        if (!first || JSON.stringify(data) !== fresh) {
          data = JSON.parse(fresh);
          draw();
          plots.forEach((p, i) => { (p.traces || []).forEach((t) => { if ((hidden[i] || []).includes(t.name)) t.visible = "legendonly"; }); });
          drawPlots();
          window.scrollTo(0, top);
        }
      }
      live.textContent = "live, " + new Date().toLocaleTimeString();
    } catch (error) {
      live.textContent = "the dashboard has stopped";
    }
  };
  refresh();
  setInterval(refresh, Number(document.documentElement.dataset.live) * 1000);
}
