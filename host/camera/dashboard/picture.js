// Shows the newest picture with the model's answer. No picture is fetched while the page is hidden or paused.

import { make, number } from "./charts.js";

const COLORS = ["#ff9d5c", "#5cc8ff", "#b4f06a", "#ff7ab8", "#ffd84d", "#9d8cff", "#4df0c8", "#ff6b5e"];
const MIN_INTERVAL_MS = 90; // at most 11 pictures per second
const color = (index) => COLORS[((index % COLORS.length) + COLORS.length) % COLORS.length];
const $ = (id) => document.getElementById(id);

// Decode a message of preview.py: `ARF1`, length, JSON, RGB, mask.
function unpack(buffer) {
  const view = new DataView(buffer);
  const length = view.getUint32(4, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  const at = 8 + length, size = header.width * header.height * 3;
  const mask = header.mask ? new Uint8Array(buffer, at + size, header.mask.width * header.mask.height) : null;
  return { header, rgb: new Uint8Array(buffer, at, size), mask };
}

export class Picture {
  constructor() {
    this.canvas = $("picture");
    this.overlay = $("overlay");
    this.after = -1;
    this.camera = 0;
    this.paused = false;
    this.overlayOn = true;
    this.running = false;
    this.described = -Infinity;
    $("pause").addEventListener("click", () => this.pause(!this.paused));
    $("overlay-on").addEventListener("click", () => {
      this.overlayOn = !this.overlayOn;
      $("overlay-on").setAttribute("aria-pressed", this.overlayOn);
      this.drawOverlay();
    });
    new ResizeObserver(() => this.drawOverlay()).observe($("stage"));
    document.addEventListener("visibilitychange", () => this.go());
  }

  pause(paused) {
    this.paused = paused;
    $("pause").setAttribute("aria-pressed", paused);
    this.go();
  }

  // Start with a new run, which counts its pictures from the beginning.
  restart() {
    this.after = -1;
    this.go();
  }

  // Show one button per camera if there are several.
  cameras(count) {
    const place = $("cameras");
    if (count < 2 || place.children.length === count) return;
    place.hidden = false;
    place.replaceChildren(...Array.from({ length: count }, (_, camera) => {
      const button = make("button", { type: "button", class: "toggle", "aria-pressed": camera === this.camera, "aria-label": `camera ${camera}` }, String(camera));
      button.addEventListener("click", () => {
        this.camera = camera;
        [...place.children].forEach((other, k) => other.setAttribute("aria-pressed", k === camera));
        this.after = -1;
      });
      return button;
    }));
  }

  stop() { this.connected = false; this.aborter?.abort(); }

  async go() {
    this.connected = true;
    if (this.running) return;
    this.running = true;
    try {
      while (this.connected && !this.paused && !document.hidden) {
        const begin = performance.now(), camera = this.camera;
        this.aborter = new AbortController();
        const answer = await fetch(`/frame?after=${this.after}&camera=${this.camera}`, { signal: this.aborter.signal });
        if (!answer.ok) break;
        if (answer.status === 200 && camera === this.camera) {
          this.after = Number(answer.headers.get("X-Count"));
          this.show(unpack(await answer.arrayBuffer()));
        }
        const rest = MIN_INTERVAL_MS - (performance.now() - begin);
        if (rest > 0) await new Promise((done) => setTimeout(done, rest));
      }
    } catch {
      // The connection's timer reports the loss and calls this function again.
    } finally {
      this.running = false;
    }
  }

  show(message) {
    this.message = message;
    const { header, rgb } = message;
    const { width, height } = header;
    if (this.canvas.width !== width || this.canvas.height !== height) Object.assign(this.canvas, { width, height });
    const image = new ImageData(width, height);
    const words = new Uint32Array(image.data.buffer);
    for (let k = 0, at = 0; k < words.length; k++, at += 3) {
      words[k] = 0xff000000 | (rgb[at + 2] << 16) | (rgb[at + 1] << 8) | rgb[at];
    }
    this.canvas.getContext("2d").putImageData(image, 0, 0);
    $("no-picture").hidden = true;
    const by = header.by === "model" ? header.model : header.by;
    $("caption").textContent = `frame ${header.number.toLocaleString("en")} · ${number(header.age_ms, 1)} ms old${by ? ` · ${by}` : ""}`;
    this.drawOverlay();
    this.list(answers(header));
    if (performance.now() - this.described > 1000) {
      this.described = performance.now();
      this.canvas.setAttribute("aria-label", `Camera picture: ${describe(answers(header))}`);
    }
  }

  drawOverlay() {
    // The picture is drawn in the middle of its box, which may have another shape.
    const box = $("stage").getBoundingClientRect(), scale = window.devicePixelRatio || 1;
    this.overlay.width = Math.round(box.width * scale);
    this.overlay.height = Math.round(box.height * scale);
    const context = this.overlay.getContext("2d");
    if (!this.message || !this.overlayOn) return;
    const { header, mask } = this.message;
    const fit = Math.min(box.width / header.width, box.height / header.height);
    const wide = header.width * fit, high = header.height * fit;
    context.scale(scale, scale);
    context.translate((box.width - wide) / 2, (box.height - high) / 2);
    if (mask) drawMask(context, mask, header.mask, wide, high);
    for (const answer of answers(header)) {
      for (const box of answer.boxes || []) drawBox(context, box, wide, high);
      for (const [x, y, score] of answer.points || []) dot(context, x * wide, y * high, score > 0.5 ? "#ff9d5c" : "#ffffff88");
    }
  }

  list(all) {
    const rows = entries(all).slice(0, 5).map(({ name, score, index }) => {
      const mark = make("i", { "aria-hidden": "true" });
      mark.style.background = color(index);
      const bar = make("span");
      bar.style.width = `${Math.min(Math.max(score, 0), 1) * 100}%`;
      return make("li", {}, make("span", { class: "name", title: name }, mark, name),
        make("span", { class: "track", "aria-hidden": "true" }, bar), make("span", { class: "n" }, `${number(score * 100, 0)} %`));
    });
    if (!rows.length) rows.push(make("li", {}, make("span", { class: "none" }, describe(all))));
    $("answers").replaceChildren(...rows);
  }
}

// Return the answers of the model and of other models that ran on the same frame.
function answers(header) { return [header.answer, ...Object.values(header.also || {})].filter(Boolean); }

function entries(all) {
  const detections = all.flatMap((answer) => [...(answer.classes || []), ...(answer.boxes || [])]);
  return detections.map(({ label, score, index }) => ({ name: label || `class ${index}`, score, index }));
}

function describe(all) {
  const answer = all[0], detections = entries(all);
  if (!answer) return "no answer";
  if (detections.length) return detections.slice(0, 5).map(({ name, score }) => `${name} ${number(score * 100, 0)} %`).join(", ");
  if (answer.score !== undefined) return `score ${number(answer.score)}`;
  if (answer.values) return answer.values.slice(0, 6).map((value) => number(value)).join(", ");
  if (answer.mask) return `a mask of ${Object.keys(answer.mask.pixels).length} classes`;
  return answer.points?.length ? `${answer.points.length} points` : "nothing found";
}

function drawBox(context, detection, wide, high) {
  const [left, top, right, bottom] = detection.box;
  const x = left * wide, y = top * high, w = (right - left) * wide, h = (bottom - top) * high;
  context.lineWidth = 4;
  context.strokeStyle = "#0009";
  context.beginPath(); context.roundRect(x, y, w, h, 6); context.stroke();
  context.lineWidth = 2;
  context.strokeStyle = color(detection.index);
  context.stroke();
  const text = `${detection.label || `class ${detection.index}`} ${Math.round(detection.score * 100)} %`;
  context.font = "600 12px system-ui, sans-serif";
  const labelWidth = context.measureText(text).width + 12;
  const lx = Math.min(Math.max(x - 1, 0), Math.max(wide - labelWidth, 0)), ly = y >= 20 ? y - 20 : y + 3;
  context.fillStyle = color(detection.index);
  context.beginPath(); context.roundRect(lx, ly, labelWidth, 18, 5); context.fill();
  context.fillStyle = "#17110d";
  context.textBaseline = "middle";
  context.fillText(text, lx + 6, ly + 9.5);
  for (const [px, py] of detection.points || []) dot(context, px * wide, py * high, color(detection.index));
}

function dot(context, x, y, fill) {
  context.beginPath(); context.arc(x, y, 3.5, 0, 2 * Math.PI);
  context.fillStyle = fill; context.fill();
  context.lineWidth = 1.2; context.strokeStyle = "#000a"; context.stroke();
}

// Draw a mask of classes. Class 0 is the background and stays transparent.
function drawMask(context, mask, header, wide, high) {
  const small = new OffscreenCanvas(header.width, header.height), inner = small.getContext("2d");
  const image = inner.createImageData(header.width, header.height);
  for (let k = 0; k < mask.length; k++) {
    if (!mask[k]) continue;
    const value = parseInt(color(mask[k] - 1).slice(1), 16);
    image.data.set([value >> 16, (value >> 8) & 255, value & 255, 130], 4 * k);
  }
  inner.putImageData(image, 0, 0);
  const [left, top, right, bottom] = header.box;
  context.drawImage(small, left * wide, top * high, (right - left) * wide, (bottom - top) * high);
}
