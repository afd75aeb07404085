// Shows what the device sends: server-sent events bring the new columns, scores, events and health.

import { COLORS, Drawing, SHOWN } from "/drawing.js";

const $ = (id) => document.getElementById(id);
const drawing = new Drawing($("waveform"), $("spectrogram"));
let nextColumn = 0, lastEvent = 0, lastPicture = null, source = null, isPaused = false, legend = 0;

function element(name, text, className = "") {
  const made = document.createElement(name);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}

function setText(id, text) {
  // Screen readers announce a status, so it is set only when it changes.
  if ($(id).textContent !== text) $(id).textContent = text;
}

function showScores(scores) {
  $("scores").replaceChildren(...scores.map((score) => {
    const row = document.createElement("li"), meter = document.createElement("meter");
    meter.max = 100;
    meter.value = score.percent;
    meter.setAttribute("aria-label", `Score of ${score.class}`);
    row.append(element("span", score.class), meter, element("span", `${score.percent}%`));
    return row;
  }));
}

function showHealth(view) {
  const ms = (value) => value === null ? "–" : `${value.toFixed(1)} ms`;
  const figures = [
    ["latency", ms(view.latency_ms)], ["time of a window", ms(view.period_ms)],
    ["headroom", view.headroom_percent === null ? "–" : `${view.headroom_percent.toFixed(1)}%`],
    ...Object.entries(view.health ?? {}).map(([name, value]) => [name.replaceAll("_", " "), value]),
    ["missing messages", view.missing_messages],
    ...(view.incomplete_pictures === null ? [] : [["incomplete pictures", view.incomplete_pictures]]),
  ];
  $("health").replaceChildren(...figures.map(([name, value]) => {
    const group = document.createElement("div");
    group.append(element("dt", name), element("dd", String(value)));
    return group;
  }));
}

function showSignal(view) {
  drawing.add(view.columns);
  drawing.draw(view.bands);
  const isPicture = view.sensor === "pictures", hasTraces = view.sensor === "motion" || view.sensor === "analog";
  const seconds = Math.round(SHOWN * (view.column_ms ?? 20) / 1000);
  $("waveform").hidden = isPicture;
  setLabel("waveform", `${hasTraces ? `Traces of ${view.channels} channels` : "Waveform"}: the last ${seconds} seconds`);
  setLabel("spectrogram", `Spectrogram: the last ${seconds} seconds`);
  showChannels(hasTraces ? view.channels : 0);
  $("picture").hidden = view.picture === null;
  if (view.picture !== lastPicture) $("picture").src = `/picture?${lastPicture = view.picture}`;
}

function setLabel(id, text) {
  if ($(id).getAttribute("aria-label") !== text) $(id).setAttribute("aria-label", text);
}

// Names the colors of the traces.
function showChannels(count) {
  if (count === legend) return;
  legend = count;
  $("channels").hidden = !count;
  $("channels").replaceChildren(...Array.from({ length: count }, (_, k) => {
    const item = element("li", `channel ${k + 1}`), svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const mark = document.createElementNS("http://www.w3.org/2000/svg", "circle");
    for (const name of ["cx", "cy", "r"]) mark.setAttribute(name, "50%");
    mark.setAttribute("fill", COLORS[k % COLORS.length]);
    svg.setAttribute("aria-hidden", "true");
    svg.append(mark);
    item.prepend(svg);
    return item;
  }));
}

function showEvents(events) {
  for (const event of events.filter((each) => each.number > lastEvent)) {
    const row = document.createElement("tr");
    const cells = [`${event.seconds.toFixed(3)} s`, event.class, event.kind, `${event.percent}%`, event.sample];
    row.append(...cells.map((text) => element("td", String(text))));
    $("events").prepend(row);
    while ($("events").childElementCount > 50) $("events").lastElementChild.remove();
    lastEvent = event.number;
  }
}

function show(view) {
  setText("device", view.device);
  setText("status", view.status);
  $("status").className = view.is_connected ? "live" : "";
  setText("sensor", view.sensor ? `${view.sensor}, ${view.rate} ${view.unit}s per second` : "");
  setText("h-index", view.unit);
  if (view.next_column < nextColumn) drawing.clear();
  nextColumn = view.next_column;
  showSignal(view);
  showScores(view.scores);
  showHealth(view);
  showEvents(view.events);
  $("notes").replaceChildren(...view.notes.slice(-5).map((text) => element("li", text)));
}

function connect() {
  const events = source = new EventSource("/events");
  events.addEventListener("open", () => { drawing.clear(); nextColumn = 0; });
  events.addEventListener("message", (event) => show(JSON.parse(event.data)));
  events.addEventListener("error", () => {
    events.close();
    $("status").className = "";
    setText("status", "The command has ended, or cannot be reached. Trying again…");
    setTimeout(() => { if (!isPaused && source === events) connect(); }, 2000);
  });
}

// A page that changes by itself must be able to stand still. It loses no events: the server sends the latest ones again.
$("pause").addEventListener("click", () => {
  isPaused = !isPaused;
  setText("pause", isPaused ? "Continue" : "Pause");
  source.close();
  if (isPaused) setText("status", "Paused");
  else connect();
});

connect();
