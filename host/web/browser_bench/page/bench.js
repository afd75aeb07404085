/* Runs all samples in each module, measures the time of an inference, and sends outputs and times to the server.
 *
 * The server's task.json has: module files, other runtimes with the forms of the model that they may accept, number of
 * samples, whether the model's state is kept between samples, number of rounds, the duration of a measured
 * batch, the duration of the warm-up, and the duration of the measurement after which `min_rounds` are enough, all in
 * milliseconds. inputs.bin has the inputs of all samples. The page reports its progress every second, so that the server
 * notices when it hangs. */

import { canLoad, description, hasSimd, load } from "./model.js";

const send = (path, body) => fetch(path, { method: "POST", body }).then((reply) => {
  if (!reply.ok) {
    throw new Error(`the server answered ${reply.status} for ${path}`);
  }
});

let reported = performance.now();

/** Reports that `done` of `total` units of a step are finished, if the latest report is at least a second old. */
async function report(step, done, total) {
  if (performance.now() - reported >= 1000) {
    await send("./progress", JSON.stringify([step, done, total]));
    reported = performance.now();
  }
}

/** Writes the inputs of sample `index` to the model. */
function fill(model, bytes, index) {
  const size = model.inputs.reduce((sum, tensor) => sum + tensor.data.byteLength, 0);
  let at = index * size;
  for (const { data } of model.inputs) {
    new Uint8Array(data.buffer, data.byteOffset, data.byteLength).set(bytes.subarray(at, at + data.byteLength));
    at += data.byteLength;
  }
}

/** Runs all samples and returns their outputs as bytes, one sample after another. Calls `ran` after each inference. */
async function outputsOf(model, bytes, task, ran) {
  const size = model.outputs.reduce((sum, tensor) => sum + tensor.data.byteLength, 0);
  const all = new Uint8Array(size * task.samples);
  let at = 0;
  for (let k = 0; k < task.samples; k++) {
    if (model.stateful && (k === 0 || !task.stateful)) {
      model.reset();
    }
    fill(model, bytes, k);
    model.invoke();
    for (const { data } of model.outputs) {
      all.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), at);
      at += data.byteLength;
    }
    await ran();
    if (k % 100 === 99) {
      await new Promise((resolve) => setTimeout(resolve)); /* the browser may end a page that never rests */
    }
  }
  return all;
}

/** Returns the milliseconds that `count` inferences take, with the copy of their inputs and outputs. */
function milliseconds(model, bytes, samples, count) {
  const outputs = model.outputs.map(({ data }) => data.slice());
  const begin = performance.now();
  for (let k = 0; k < count; k++) {
    fill(model, bytes, k % samples);
    model.invoke();
    model.outputs.forEach(({ data }, n) => outputs[n].set(data));
  }
  return performance.now() - begin;
}

/** Warms a runtime up, then returns the number of inferences of a batch that lasts about `task.batch_ms` if nothing
 * interrupts it. All runtimes have batches of this duration, because longer ones are interrupted more often. */
async function batchSize(runtime, task, alive) {
  const end = performance.now() + task.warm_up_ms;
  let short = 1;
  while (performance.now() < end) {
    short = await runtime.batch(short) < 10 ? 10 : 1;
    await alive();
    await new Promise((resolve) => setTimeout(resolve)); /* lets the browser put in better code */
  }
  let count = 1;
  while (await runtime.batch(count) < 0.5) {
    count *= 2;
    await alive();
  }
  let shortest = Infinity;
  const begin = performance.now();
  for (let k = 0; k < 3 || (k < 50 && performance.now() - begin < 1000); k++) {
    shortest = Math.min(shortest, await runtime.batch(count));
    await alive();
  }
  return Math.max(1, Math.round((task.batch_ms * count) / Math.max(shortest, 0.01)));
}

/** Loads a module of the package, and returns it as a runtime: `outputs()` of all samples, and `batch(count)`. */
async function openModule(file, bytes, task) {
  const begin = performance.now();
  const [model] = Object.values(await load(`./${file}`));
  fill(model, bytes, 0);
  model.invoke();
  return {
    loadMs: performance.now() - begin,
    outputs: (ran) => outputsOf(model, bytes, task, ran),
    batch: (count) => milliseconds(model, bytes, task.samples, count),
  };
}

async function main() {
  const task = await (await fetch("./task.json")).json();
  const bytes = new Uint8Array(await (await fetch("./inputs.bin")).arrayBuffer());
  const runtimes = [];
  const samples = (task.modules.length + task.peers.length) * task.samples;
  let ran = 0;
  const reportRuns = () => report("run", ran, samples);
  for (const name of task.modules) {
    const runs = canLoad(description.files.find((file) => file.name === name));
    runtimes.push(runs ? await openModule(name, bytes, task) : { error: `this browser cannot load ${name}` });
    await reportRuns();
  }
  for (const peer of task.peers) {
    const { openPeer } = await import("./peers.js");
    runtimes.push(await openPeer(peer, task.samples).catch((error) => ({ error: String(error.message) })));
    await reportRuns();
  }
  for (const [index, runtime] of runtimes.entries()) {
    if (runtime.error !== undefined) {
      continue;
    }
    try {
      const outputs = await runtime.outputs(() => {
        ran++;
        return reportRuns();
      });
      await send(`./outputs?runtime=${index}`, outputs);
    } catch (error) {
      if (index < task.modules.length) {
        throw error;
      }
      runtime.error = String(error?.message ?? error);
    }
  }
  const running = runtimes.filter(({ error }) => error === undefined);
  for (const runtime of running) {
    runtime.count = await batchSize(runtime, task, () => report("time", 0, task.rounds));
    runtime.times = [];
  }
  /* The runtimes take turns, so that all are measured under the same load. The order of each round is random. */
  const begin = performance.now();
  const enough = (round) => round >= task.min_rounds && performance.now() - begin > task.max_measured_ms;
  for (let round = 0; round < task.rounds && !enough(round); round++) {
    const order = running.map((runtime) => ({ runtime, key: Math.random() })).sort((a, b) => a.key - b.key);
    for (const { runtime: { batch, times, count } } of order) {
      times.push(await batch(count) / count);
      await report("time", round, task.rounds);
      await new Promise((resolve) => setTimeout(resolve));
    }
  }
  const results = runtimes.map(({ error, loadMs, times, form }) => (
    error === undefined ? { load_ms: loadMs, times_ms: times, form } : { error }
  ));
  await send("./result", JSON.stringify({
    agent: navigator.userAgent,
    simd: hasSimd(),
    modules: results.slice(0, task.modules.length),
    peers: results.slice(task.modules.length),
  }));
}

main().catch((error) => send("./result", JSON.stringify({ error: String(error.message ?? error) })))
  .finally(() => { document.getElementById("status").textContent = "Done"; });
