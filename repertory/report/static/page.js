"use strict";
// Shows the charts that the page brings, in the colours of its theme, and keeps a live page up to date.

let charts = JSON.parse(document.getElementById("charts").textContent);
const phone = window.matchMedia("(max-width: 640px)");

function theme() {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const axis = { gridcolor: colour("--line"), linecolor: colour("--line"), zerolinecolor: colour("--line") };
  const hover = { bgcolor: colour("--card"), bordercolor: colour("--line"), font: { color: colour("--ink") }, namelength: -1 };
  return { layout: { paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: colour("--ink"), size: phone.matches ? 11 : 13 },
    xaxis: axis, yaxis: axis, hoverlabel: hover } };
}

function show(place) {
  const chart = charts[place.dataset.chart];
  if (!chart) return;
  const hidden = new Set((place.data || []).filter((trace) => trace.visible === "legendonly").map((trace) => trace.legendgroup));
  const data = chart.data.map((trace) => (hidden.has(trace.legendgroup) && trace.legendgroup ? { ...trace, visible: "legendonly" } : trace));
  const layout = { ...structuredClone(phone.matches ? chart.narrow : chart.layout), template: theme() };
  place.style.height = layout.height + "px";
  const title = layout.title ? layout.title.text : "";
  if (place.id !== place.dataset.chart && title) place.setAttribute("aria-label", "Chart: " + title);  // one of several
  Plotly.react(place, data, layout, { responsive: true, displaylogo: false, displayModeBar: false });
}

function showAll() {
  document.querySelectorAll(".plot").forEach(show);
}

// A table that is wider than the page says so, and can be reached and scrolled by keyboard; one that fits need not be.
function hint() {
  for (const region of document.querySelectorAll(".scroll")) {
    const hidden = region.scrollWidth > region.clientWidth + 1;
    region.toggleAttribute("tabindex", hidden);
    if (hidden) region.tabIndex = 0;
    let line = region.previousElementSibling;
    if (!line || !line.classList.contains("hint")) {
      if (!hidden) continue;
      line = Object.assign(document.createElement("p"), { className: "hint", textContent: "More columns: scroll sideways \u2192" });
      region.before(line);
    }
    line.hidden = !hidden;
  }
}
window.addEventListener("resize", hint);

document.getElementById("sections").addEventListener("change", (event) => {
  const place = document.getElementById(event.target.dataset.plot);
  place.dataset.chart = event.target.value;
  show(place);
});
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", showAll);
phone.addEventListener("change", showAll);
showAll();
hint();

// ---- The dashboard serves this page with data-live; it then asks for new content, and shows it as it comes.

function replaceContent(content) {
  charts = content.charts;
  const kept = new Map([...document.querySelectorAll(".plot")].map((place) => [place.id, place]));
  const chosen = new Map([...document.querySelectorAll("select")].map((select) => [select.dataset.plot, select.value]));
  const open = new Set([...document.querySelectorAll("details[open] summary")].map((summary) => summary.textContent));
  const top = window.scrollY;
  for (const part of ["summary", "contents", "sections"]) document.getElementById(part).innerHTML = content[part];
  for (const select of document.querySelectorAll("select")) {
    if (charts[chosen.get(select.dataset.plot)]) select.value = chosen.get(select.dataset.plot);
    document.getElementById(select.dataset.plot).dataset.chart = select.value;
  }
  for (const place of document.querySelectorAll(".plot")) {
    const before = kept.get(place.id);
    if (!before) continue;
    before.dataset.chart = place.dataset.chart;
    place.replaceWith(before);  // what the reader has hidden or zoomed into stays
  }
  for (const details of document.querySelectorAll("details")) details.open = open.has(details.firstElementChild.textContent);
  showAll();
  hint();
  window.scrollTo(0, top);
}

if (document.documentElement.dataset.live) {
  const live = document.getElementById("live");
  live.hidden = false;
  // Read aloud only when something is wrong: the time of each refresh is no news.
  const say = (text, isWrong) => {
    if (isWrong) live.setAttribute("role", "alert");
    else live.removeAttribute("role");
    if (live.textContent !== text) live.textContent = text;
  };
  let last;
  const refresh = async () => {
    try {
      const response = await fetch("data.json", { cache: "no-store" });
      const fresh = await response.text();
      if (!response.ok) {
        say("cannot be refreshed: " + fresh, true);
        return;
      }
      const content = JSON.parse(fresh);
      if (fresh !== last) replaceContent(content);
      last = fresh;
      say(content.notice || "live, " + new Date().toLocaleTimeString(), Boolean(content.notice));
    } catch (error) {
      say("the dashboard has stopped", true);
    }
  };
  refresh();
  setInterval(refresh, Number(document.documentElement.dataset.live) * 1000);
}
