// Asks for the fleet every few seconds, and shows it.

import { ago, counted, counts, element, number, rollout, table } from "./tables.js";
import "./theme.js";

const REFRESH_MS = 5_000;
const SEARCH_DELAY_MS = 200;
const UNSERVED_MS = 60_000; // a server notes every second that it is connected to the broker
const $ = (id) => document.getElementById(id);

let offset = 0, timer = null, round = 0, search = "", searchTimer = null;

function status(kind, text) {
  // Screen readers announce the text, so it is set only when it changes.
  if ($("status").textContent === text) return;
  $("status").className = `pill ${kind}`;
  $("status").textContent = text;
}

function say(id, text) {
  if ($(id).textContent !== text) $(id).textContent = text;
}

function showOverview(data) {
  const fleet = data.status;
  $("title").textContent = document.title = fleet.fleet ? `Fleet ${fleet.fleet}` : "arenite fleet";
  say("about", `${counted(fleet.devices.total, "device")}, ${counted(Object.keys(fleet.releases).length, "release")}`);
  for (const state of ["online", "silent", "offline"]) say(state, number(data.presence[state]));
  say("events", number(fleet.events.stored));
  say("events-lost", `stored; ${number(fleet.events.lost)} lost`);
  $("events-lost").className = fleet.events.lost ? "bad" : "soft";
  $("silent").classList.toggle("bad", data.presence.silent > 0);
  for (const [id, title] of [["releases", "release"], ["groups", "group"], ["boards", "board"]])
    $(id).replaceChildren(counts(title, fleet[id]));
  $("rollouts").replaceChildren(...data.current.map((facts) => rollout(data.time_ms, facts)));
  $("audit").replaceChildren(table([["time"], ["who"], ["rollout", "n"], ["what"]], data.audit.map((entry) =>
    [ago(data.time_ms, entry.time_ms), entry.actor, entry.rollout ? String(entry.rollout) : "–", entry.text])));
  if (data.time_ms - data.served_ms > UNSERVED_MS) status("warn", "No server is connected to the broker");
  else status("live", "Live");
}

const KINDS = { online: "good", silent: "bad", offline: "warn" };

function showDevices(data) {
  const last = data.offset + data.devices.length;
  say("found", data.total ? `${number(data.offset + 1)} to ${number(last)} of ${counted(data.total, "device")}`
    : "No device has these words.");
  $("before").disabled = data.offset === 0;
  $("after").disabled = last >= data.total;
  $("devices").replaceChildren(table(
    [["device"], ["state"], ["board"], ["group"], ["release"], ["should run"], ["last event"], ["last start"]],
    data.devices.map((d) => [d.device, element("span", KINDS[d.state], d.state), d.board, d.group, d.release || "–",
      d.desired || "–", d.seen_ms ? ago(data.time_ms, d.seen_ms) : "never", d.reset_cause || "–"])));
}

function lost(text) {
  document.body.classList.add("lost");
  say("lost", text);
  $("lost").hidden = false;
  status("off", "Connection lost");
}

async function get(path) {
  const answer = await fetch(path, { signal: AbortSignal.timeout(60_000) });
  if (answer.status === 401) throw new Error("This page needs its token: open the address that the command printed.");
  if (!answer.ok) throw new Error((await answer.text()).trim() || `Status ${answer.status}`);
  return answer.json();
}

async function refresh() {
  clearTimeout(timer);
  const own = ++round;
  try {
    const [overview, devices] = await Promise.all([
      get("/overview"), get(`/devices?search=${encodeURIComponent(search)}&offset=${offset}`)]);
    if (own !== round) return; // the user has asked for something else since
    document.body.classList.remove("lost");
    $("lost").hidden = true;
    showOverview(overview);
    showDevices(devices);
  } catch (error) {
    if (own !== round) return;
    lost(error instanceof TypeError || error.name === "TimeoutError" ? "Connection lost. Trying again…" : error.message);
  }
  timer = setTimeout(() => { if (document.hidden) return; refresh(); }, REFRESH_MS);
}

function go(newOffset) {
  offset = Math.max(0, newOffset);
  refresh();
}

$("search").addEventListener("input", () => {
  search = $("search").value;
  clearTimeout(searchTimer);
  searchTimer = setTimeout(() => go(0), SEARCH_DELAY_MS);
});
$("before").addEventListener("click", () => go(offset - 100));
$("after").addEventListener("click", () => go(offset + 100));
document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });

refresh();
