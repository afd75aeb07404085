// Shows tiles, stages, governor and counts from the loop's state, which loop_state.py describes.

import { Chart, MINUTES, make, number } from "./charts.js";

const STAGES = ["capture", "preprocess", "invoke", "postprocess"];
const ROWS = [...STAGES, "total", "age"];
const NAMES = { total: "total", age: "since capture" };
const MAX_LOG_ENTRIES = 200;
const MAX_DOTS = 12; // a lever with more levels is drawn as a bar
const $ = (id) => document.getElementById(id);
const known = (value) => value !== null && value !== undefined;

class Tile {
  constructor(id, unit, options = {}) {
    this.root = $(id);
    const place = this.root.querySelector(".chart");
    this.chart = new Chart(place, place.dataset.fields.split(" "), { unit, title: this.root.querySelector("h2").textContent.trim(), ...options });
  }

  set(value, digits, sub, limits) {
    this.root.querySelector(".value").textContent = number(value, digits);
    this.root.querySelector(".sub").textContent = sub;
    this.root.classList.toggle("over", known(value) && limits.some((limit) => limit.hard && value > limit.value));
    this.chart.limits = limits;
    const meter = this.root.querySelector(".meter"), hard = limits.find((limit) => limit.hard);
    if (!meter) return;
    meter.hidden = !hard || !known(value);
    if (meter.hidden) return;
    const percent = (value / hard.value) * 100;
    meter.setAttribute("aria-valuenow", Math.round(Math.min(percent, 100)));
    meter.setAttribute("aria-valuetext", `${Math.round(percent)} % of ${hard.label}`);
    meter.className = `meter ${percent > 100 ? "over" : percent > 90 ? "near" : ""}`;
    meter.firstElementChild.style.width = `${Math.min(percent, 100)}%`;
  }
}

export class Panels {
  constructor() {
    this.tiles = {
      fps: new Tile("tile-fps", "fps"), latency: new Tile("tile-latency", "ms"),
      power: new Tile("tile-power", "W"), heat: new Tile("tile-heat", "°C", { low: 20 }),
    };
    this.share = new Map();
    for (const stage of STAGES) {
      const part = make("span", { class: stage });
      this.share.set(stage, part);
      $("share").append(part);
    }
    this.rows = new Map();
    for (const row of ROWS) this.rows.set(row, this.makeRow(row));
    this.points = [];
  }

  makeRow(name) {
    const cells = ["p50", "p95", "p99"].map(() => make("td", { class: "n" }, "–"));
    const place = make("div", { class: "chart" });
    const title = NAMES[name] || name;
    const row = make("tr", { class: name }, make("th", { scope: "row" }, make("i", { "aria-hidden": "true" }), title), ...cells,
      make("td", { class: "trend" }, place));
    row.hidden = true;
    $("stage-rows").append(row);
    return { row, cells, chart: new Chart(place, [`${name}.p95`, `${name}.p50`], { unit: "ms", title }) };
  }

  hello(fields, points) {
    this.columns = new Map(fields.map((field, k) => [field, k]));
    this.points = points;
  }

  add(point) {
    this.points.push(point);
    const oldest = point[0] - MINUTES * 60;
    while (this.points.length && this.points[0][0] < oldest) this.points.shift();
  }

  show(state) {
    this.tileValues(state);
    this.stages(state.stage_ms || {});
    this.governor(state.governor || {});
    this.counts(state);
    for (const tile of Object.values(this.tiles)) tile.chart.draw(this.points, this.columns);
    for (const { row, chart } of this.rows.values()) if (!row.hidden) chart.draw(this.points, this.columns);
  }

  tileValues(state) {
    const budget = state.budget || {}, power = state.power || {}, heat = state.temperature || {};
    const dropped = this.points.length ? this.points[this.points.length - 1][this.columns.get("dropped")] : null;
    const rate = known(dropped) && dropped > 0 ? `${number(dropped, 1)} dropped per second` : "no frames dropped";
    const latest = this.points.length ? this.points[this.points.length - 1][this.columns.get("fps")] : state.fps;
    this.tiles.fps.set(latest, 1, rate, []);
    const age = state.stage_ms?.age || {};
    this.tiles.latency.set(age.p95, undefined, `median ${number(age.p50)} ms${limitText(budget.latency_ms, "ms")}`, limit(budget.latency_ms, "ms", true));
    const source = power.source ? `${power.source}` : known(power.value) ? "" : "no sensor and no estimate";
    this.tiles.power.set(power.value, 2, source + limitText(budget.power_w, "W", source ? " · " : ""), limit(budget.power_w, "W", true));
    const kind = $("tile-power").querySelector(".kind");
    kind.hidden = !power.kind;
    kind.textContent = power.kind || "";
    kind.classList.toggle("estimated", power.kind === "estimated");
    const zone = heat.source || (known(heat.value) ? "" : "no sensor");
    this.tiles.heat.set(heat.value, 1, zone + limitText(budget.temperature_c, "°C", zone ? " · " : ""), [
      ...limit(budget.temperature_c, "°C", true),
      ...(known(heat.trip) && heat.trip !== budget.temperature_c ? [{ value: heat.trip, near: 1.15, label: `throttles ${number(heat.trip, 0)} °C` }] : []),
    ]);
  }

  stages(stageMs) {
    const sum = STAGES.reduce((total, stage) => total + (stageMs[stage]?.p50 || 0), 0);
    for (const [stage, part] of this.share) {
      const value = stageMs[stage]?.p50 || 0, percent = sum ? (value / sum) * 100 : 0;
      part.style.flexGrow = value;
      part.hidden = !value;
      part.textContent = percent >= 12 ? `${stage} ${number(percent, 0)} %` : "";
      part.title = `${stage}: ${number(value)} ms, ${number(percent, 0)} %`;
    }
    $("share").setAttribute("aria-label", `Shares of the stages, median: ${STAGES.filter((s) => stageMs[s])
      .map((s) => `${s} ${number(sum ? (stageMs[s].p50 / sum) * 100 : 0, 0)} %`).join(", ")}`);
    for (const [name, { row, cells }] of this.rows) {
      row.hidden = !stageMs[name];
      ["p50", "p95", "p99"].forEach((p, k) => { cells[k].textContent = number(stageMs[name]?.[p]); });
    }
  }

  governor(governor) {
    const { minutes, settles_c: settles, forecast } = governor;
    const pill = $("forecast");
    if (known(minutes)) {
      pill.textContent = minutes < 1 ? "would throttle in under a minute" : `would throttle in ${number(minutes, minutes < 10 ? 1 : 0)} min`;
      pill.className = `pill ${minutes < 5 ? "bad" : "warn"}`;
    } else {
      pill.textContent = known(settles) ? `settles at ${number(settles, 0)} °C, no throttling in sight` : "no forecast yet";
      pill.className = `pill ${known(settles) ? "good" : "quiet"}`;
    }
    pill.title = forecast || "";
    $("governor-note").textContent = governor.note || "";
    $("governor-note").hidden = !governor.note;
    $("levers").replaceChildren(...(governor.levels || []).map(({ lever, level, levels, label }) => {
      const dots = make("span", { class: levels > MAX_DOTS ? "track" : "dots", role: "img", "aria-label": `step ${level} of ${levels - 1}` });
      if (levels > MAX_DOTS) {
        const bar = make("span");
        bar.style.width = `${(level / (levels - 1)) * 100}%`;
        dots.append(bar);
      } else {
        for (let k = 0; k < levels; k++) dots.append(make("i", { class: level === 0 && k === 0 ? "full" : k && k <= level ? "on" : "" }));
      }
      return make("div", {}, make("dt", {}, lever), dots, make("dd", {}, plain(label)));
    }));
  }

  // Add actions to the log, which shows the newest first. With `replace`, remove earlier actions.
  log(actions, replace) {
    const list = $("log");
    if (replace) list.replaceChildren();
    for (const action of actions) {
      const t = Math.round(action.t_s), at = `${Math.floor(t / 60)}:${String(t % 60).padStart(2, "0")}`;
      list.prepend(make("li", {}, make("time", { title: "minutes since the loop began" }, at),
        make("b", {}, `${action.lever} ${plain(action.from)} → ${plain(action.to)}`), make("p", {}, action.reason)));
    }
    while (list.children.length > MAX_LOG_ENTRIES) list.lastChild.remove();
    list.hidden = !list.children.length;
    $("log-empty").hidden = !list.hidden;
  }

  counts(state) {
    const f = state.frames || {};
    const rows = [["captured", f.captured], ["served", f.served], ["dropped", f.dropped], ["late", f.late, "bad"], ["from the cache", f.cached],
      ["damaged", f.errors, "bad"], ["reconnects", f.reconnects, "bad"]].map(([name, value, alarm]) => [name, known(value) ? number(value, 0) : null, alarm && value > 0]);
    if (known(state.energy_j)) rows.push(["energy", `${number(state.energy_j)} J`]);
    if (known(state.energy_j) && f.served) rows.push(["per frame", energy(state.energy_j / f.served)]);
    if (known(state.bytes_written) && f.served) rows.push(["written/frame", `${number(state.bytes_written / f.served / 1024)} KiB`]);
    if (known(state.t_s)) rows.push(["running for", clock(state.t_s)]);
    $("counts").replaceChildren(...rows.filter(([, value]) => value !== null).map(([name, value, alarm]) =>
      make("div", alarm ? { class: "bad" } : {}, make("dt", {}, name), make("dd", {}, value))));
    const description = state.description;
    $("description").hidden = !description;
    $("description").textContent = description ? `Answer ${description.number}: ${description.text}` : "";
    const notes = state.notes || [];
    $("notes").hidden = !notes.length;
    $("notes").replaceChildren(...notes.map((note) => make("li", {}, note)));
  }
}

function plain(value) { return typeof value === "number" ? String(Number(value.toFixed(2))) : String(value); }
function limitText(value, unit, before = " · ") { return known(value) ? `${before}limit ${number(value, value % 1 ? 1 : 0)} ${unit}` : ""; }
// Return the line of a limit for a chart. `hard`: a limit of the budget, which also has a meter below the value.
function limit(value, unit, hard) { return known(value) ? [{ value, hard, label: `${number(value, value % 1 ? 1 : 0)} ${unit}` }] : []; }

function energy(joules) { return joules >= 1 ? `${number(joules)} J` : `${number(joules * 1000)} mJ`; }

function clock(seconds) {
  const s = Math.floor(seconds % 60), m = Math.floor(seconds / 60) % 60, h = Math.floor(seconds / 3600);
  return h ? `${h} h ${m} min` : m ? `${m} min ${s} s` : `${s} s`;
}
