// Connection to the loop: server-sent events, and a timer that reconnects when they stop.

import { Panels } from "./panels.js";
import { Picture } from "./picture.js";
import "./theme.js";

const SILENT_MS = 40_000; // the server sends an event at least every 15 s
const STALE_MS = 5_000; // the loop sends its state twice a second
const $ = (id) => document.getElementById(id);

const panels = new Panels();
const picture = new Picture();
let run = null, events = null, timer = null, retryMs = 500, lastEvent = 0, lastNews = 0, ready = false;

function status(kind, text) {
  // Screen readers announce the text, so it is set only when it changes.
  if ($("status-text").textContent === text) return;
  $("status").className = `pill ${kind}`;
  $("status-text").textContent = text;
}

function about(state) {
  const parts = [state.model?.name, state.runtime?.name, state.source?.name, state.source?.format, state.model?.input && `input ${state.model.input}`];
  $("about").textContent = parts.filter(Boolean).join(" · ") || "no news yet";
  $("about").title = $("about").textContent;
}

function show(state) {
  ready = Boolean(state.ready);
  about(state);
  panels.show(state);
}

function lost(text) {
  document.body.classList.add("lost");
  $("lost").textContent = text;
  $("lost").hidden = false;
  status("off", "Connection lost");
}

function connect() {
  timer = null;
  events?.close();
  lastEvent = performance.now();
  events = new EventSource("/events");
  events.addEventListener("hello", (event) => {
    const hello = JSON.parse(event.data);
    lastEvent = performance.now();
    retryMs = 500;
    document.body.classList.remove("lost");
    $("lost").hidden = true;
    $("title").textContent = document.title = hello.title;
    picture.cameras(hello.cameras);
    panels.hello(hello.fields, hello.points);
    panels.log(hello.log, true);
    if (hello.points.length) { lastNews = lastEvent; show(hello.state); }
    if (hello.run !== run) picture.restart();
    run = hello.run;
    picture.go();
    watch();
  });
  events.addEventListener("news", (event) => {
    const news = JSON.parse(event.data);
    lastEvent = lastNews = performance.now();
    panels.add(news.point);
    picture.cameras(news.cameras);
    panels.log(news.log, false);
    // A hidden page keeps its points and draws them when it becomes visible.
    if (!document.hidden) show(news.state);
    watch();
  });
  events.addEventListener("ping", () => { lastEvent = performance.now(); });
  events.addEventListener("error", failed);
}

function failed() {
  events.close();
  picture.stop();
  lost("Connection lost. Trying again…");
  // An event source does not report why a connection was refused, but a plain request does.
  fetch("/state").then((answer) => {
    if (answer.status === 401) lost("This dashboard needs its token: open the address that the command printed.");
    if (answer.status === 503) lost("Too many pages are open on this dashboard. Trying again…");
  }).catch(() => {});
  if (timer) return;
  timer = setTimeout(connect, retryMs);
  retryMs = Math.min(retryMs * 1.6, 5000);
}

function watch() {
  const now = performance.now();
  if (!document.body.classList.contains("lost")) {
    if (now - lastEvent > SILENT_MS) { failed(); return; }
    if (!lastNews) status("wait", "Waiting for the loop");
    else if (now - lastNews > STALE_MS) status("wait", `No update for ${Math.round((now - lastNews) / 1000)} s`);
    else if (!ready) status("wait", "Warming up");
    else status("live", "Live");
  }
}

setInterval(watch, 1000);
connect();
