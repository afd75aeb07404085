// Line charts of the last minutes, as SVG. The style sheet colors them.

const SVG = "http://www.w3.org/2000/svg";
const WIDE = 100, HIGH = 40;
export const MINUTES = 5;

// Return a new HTML element with attributes and children.
export function make(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

function svg(name, attributes = {}) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
}

// Format a number, by default with about three significant digits; a dash if there is none.
export function number(value, digits) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (digits === undefined) {
    const size = Math.abs(value);
    digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  }
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function plain(value) { return String(Number(value.toPrecision(3))); }
function ago(seconds) { return seconds >= 90 ? `${Math.round(seconds / 60)} minutes` : `${Math.round(seconds)} s`; }

// Return a round number at or above `value`.
function ceiling(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((step) => step * power >= value * 0.999) * power;
}

export class Chart {
  // `place`: the element that gets the chart. `fields`: the first field is drawn with its area, the others with thinner lines.
  // `marks`: whether the chart has labels. `low`: the start of the axis, 0 by default.
  constructor(place, fields, { unit = "", title = "", marks = true, low = null } = {}) {
    Object.assign(this, { place, fields, unit, title, low });
    this.limits = [];
    this.svg = svg("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, preserveAspectRatio: "none", "aria-hidden": "true" });
    this.svg.append(svg("line", { x1: 0, x2: WIDE, y1: HIGH, y2: HIGH }));
    this.area = svg("path", { class: "area" });
    this.lines = fields.map((_, k) => svg("path", { class: k ? "second" : "first" }));
    this.limitLines = svg("g");
    this.hoverLine = svg("line", { class: "hover", y1: 0, y2: HIGH, visibility: "hidden" });
    this.svg.append(this.area, ...this.lines.slice().reverse(), this.limitLines, this.hoverLine);
    place.replaceChildren(this.svg);
    place.setAttribute("role", "img");
    this.hover = make("span", { class: "mark hover", hidden: "" });
    this.limitMarks = [];
    if (marks) {
      this.topMark = make("span", { class: "mark scale" });
      place.append(this.topMark, this.hover);
      place.addEventListener("pointermove", (event) => this.point(event));
      place.addEventListener("pointerleave", () => this.leave());
    }
    this.marks = marks;
  }

  draw(points, columns) {
    this.points = points;
    this.columns = this.fields.map((field) => columns.get(field));
    this.time = columns.get("t");
    const last = points.length ? points[points.length - 1][this.time] : 0;
    // A short run fills the whole width too.
    this.seconds = Math.min(Math.max(points.length ? last - points[0][this.time] : 0, 30), MINUTES * 60);
    this.from = last - this.seconds;
    let highest = 0, lowest = Infinity;
    for (const point of points) {
      for (const column of this.columns) {
        const value = point[column];
        if (value === null || value === undefined) continue;
        if (value > highest) highest = value;
        if (value < lowest) lowest = value;
      }
    }
    // A limit extends the axis only if it is at most `near` times (by default 2.5 times) the highest value.
    const shown = this.limits.filter((limit) => limit.value <= (limit.near || 2.5) * highest);
    const highestValue = highest;
    for (const limit of shown) highest = Math.max(highest, limit.value);
    this.base = this.low === null ? 0 : Math.min(this.low, Math.floor(lowest / 10) * 10);
    if (!Number.isFinite(this.base)) this.base = 0;
    this.top = this.base + ceiling((highest - this.base) * 1.08);
    this.lines.forEach((line, k) => line.setAttribute("d", this.path(this.columns[k])));
    const first = this.path(this.columns[0], true);
    this.area.setAttribute("d", first);
    this.drawLimits(shown);
    if (this.marks) {
      this.topMark.textContent = highest > 0 ? `${this.base ? `${plain(this.base)}–` : ""}${plain(this.top)} ${this.unit}, last ${ago(this.seconds)}` : "";
    }
    this.describe(lowest, highestValue);
  }

  x(t) { return ((t - this.from) / this.seconds) * WIDE; }
  y(value) { return HIGH - ((value - this.base) / (this.top - this.base)) * HIGH; }

  path(column, closed = false) {
    let text = "", begin = null, end = null;
    const finish = () => { if (closed && begin !== null) text += `L${end} ${HIGH}L${begin} ${HIGH}Z`; begin = null; };
    for (const point of this.points) {
      const value = point[column];
      if (value === null || value === undefined) { finish(); continue; }
      const x = this.x(point[this.time]).toFixed(2);
      text += `${begin === null ? "M" : "L"}${x} ${this.y(value).toFixed(2)}`;
      if (begin === null) begin = x;
      end = x;
    }
    finish();
    return text;
  }

  drawLimits(shown) {
    this.limitLines.replaceChildren();
    this.limitMarks.forEach((mark) => mark.remove());
    this.limitMarks = [];
    for (const limit of shown) {
      const y = this.y(limit.value);
      this.limitLines.append(svg("line", { class: "limit", x1: 0, x2: WIDE, y1: y, y2: y }));
      if (!this.marks) continue;
      const mark = make("span", { class: "mark limit" }, limit.label);
      mark.style.top = `calc(${(y / HIGH) * 100}% - .75rem)`;
      this.place.append(mark);
      this.limitMarks.push(mark);
    }
  }

  describe(lowest, highest) {
    const last = this.points.length ? this.points[this.points.length - 1][this.columns[0]] : null;
    const text = last === null || last === undefined ? "no figures" :
      `now ${number(last)} ${this.unit}, minimum ${number(lowest)}, maximum ${number(highest)}`;
    this.place.setAttribute("aria-label", `${this.title}, last ${ago(this.seconds)}: ${text}`);
  }

  point(event) {
    if (!this.points?.length) return;
    const box = this.place.getBoundingClientRect();
    const share = Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
    const t = this.from + share * this.seconds;
    let best = this.points[0];
    for (const point of this.points) if (Math.abs(point[this.time] - t) < Math.abs(best[this.time] - t)) best = point;
    const x = this.x(best[this.time]);
    this.hoverLine.setAttribute("x1", x);
    this.hoverLine.setAttribute("x2", x);
    this.hoverLine.setAttribute("visibility", "visible");
    const ago = Math.round(this.points[this.points.length - 1][this.time] - best[this.time]);
    this.hover.textContent = `${this.columns.map((c) => number(best[c])).join(" / ")} ${this.unit}, ${ago} s ago`;
    this.hover.hidden = false;
    this.hover.style.left = x < 50 ? `${x}%` : "auto";
    this.hover.style.right = x < 50 ? "auto" : `${100 - x}%`;
  }

  leave() {
    this.hover.hidden = true;
    this.hoverLine.setAttribute("visibility", "hidden");
  }
}
