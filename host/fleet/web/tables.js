// Parts of the page, made of text nodes only: nothing that a device reports is read as HTML.

export const number = (value) => value.toLocaleString("en-US");
export const counted = (value, noun) => `${number(value)} ${noun}${value === 1 ? "" : "s"}`;

export function element(name, className = "", ...content) {
  const node = document.createElement(name);
  if (className) node.className = className;
  node.append(...content);
  return node;
}

// `columns` has [title, class]; a cell is a text or a node.
export function table(columns, rows) {
  const head = element("tr");
  for (const [title, className] of columns) {
    const cell = element("th", className ?? "", title);
    cell.scope = "col";
    head.append(cell);
  }
  const body = element("tbody");
  for (const row of rows) {
    const line = element("tr");
    row.forEach((cell, k) => line.append(element("td", columns[k][1] ?? "", cell)));
    body.append(line);
  }
  return element("table", "", element("thead", "", head), body);
}

export function counts(title, devices) {
  const total = Object.values(devices).reduce((sum, count) => sum + count, 0);
  const rows = Object.entries(devices).map(([name, count]) =>
    [name || "(not told yet)", number(count), `${Math.round((100 * count) / total)} %`]);
  return table([[title], ["devices", "n"], ["share", "n"]], rows);
}

export function ago(nowMs, timeMs) {
  const seconds = Math.max(0, Math.round((nowMs - timeMs) / 1000));
  const [count, unit] = seconds < 120 ? [seconds, "s"] : seconds < 7200 ? [Math.round(seconds / 60), "min"]
    : seconds < 172800 ? [Math.round(seconds / 3600), "h"] : [Math.round(seconds / 86400), "days"];
  const node = element("time", "", `${count} ${unit} ago`);
  node.dateTime = node.title = new Date(timeMs).toISOString();
  return node;
}

const STATES = {
  running: ["running", "warn"], paused: ["paused", "warn"], rolling_back: ["rolling back", "bad"],
  rolled_back: ["rolled back", "bad"], done: ["done", "good"],
};

const states = (devices) => Object.entries(devices).map(([state, count]) => `${number(count)} ${state}`).join(", ");

const figure = (value) => (value === null ? "–" : String(Number(value.toPrecision(4))));

function verdict(gate) {
  if (gate.violated) return element("span", "bad", "violated");
  return gate.enough ? element("span", "good", "holds") : element("span", "warn", "too little data");
}

export function rollout(nowMs, facts) {
  const [words, kind] = STATES[facts.state];
  const title = element("h2", "", `Rollout ${facts.id}: ${facts.release} to the group ${facts.group}`);
  title.id = `rollout-${facts.id}`;
  const card = element("section", "card", element("div", "head", title, element("span", `pill ${kind}`, words),
    element("span", "soft", "started ", ago(nowMs, facts.created_ms))));
  card.setAttribute("aria-labelledby", title.id);
  if (facts.reason) card.append(element("p", "reason", facts.reason));
  const waves = element("ol", "waves");
  facts.wave_list.forEach((wave, k) => waves.append(element("li", wave.state,
    element("strong", "", `Wave ${k + 1}, up to ${wave.share / 10} %`), element("p", "soft", wave.state),
    element("p", "soft", states(wave.devices) || "no devices"))));
  card.append(waves);
  if (facts.gates.length) {
    const rows = facts.gates.map((g) => [g.board, g.gate, figure(g.value), figure(g.limit), verdict(g)]);
    const gates = element("div", "scroll", table([["board"], ["gate"], ["value", "n"], ["limit", "n"], ["verdict"]], rows));
    gates.tabIndex = 0; // so that the keyboard scrolls it too
    gates.role = "region";
    gates.ariaLabel = `Gates of rollout ${facts.id}`;
    card.append(element("h3", "", "Gates"), gates);
  }
  return card;
}
