/* Other runtimes for TFLite and ONNX models in the same page. Each function loads a runtime, and returns a function that opens a
 * model in it with one thread. This one returns `run(inputs, outputs)`, which copies typed arrays in, runs an inference,
 * and copies its outputs out. */

/** Loads a classic script of this server. */
const script = (address) => new Promise((resolve, reject) => {
  const element = document.createElement("script");
  element.onload = resolve;
  element.onerror = () => reject(new Error(`${address} does not load`));
  element.src = address;
  document.head.append(element);
});

async function litertjs() {
  const { loadLiteRt, loadAndCompile, Tensor } = await import("./peers/litertjs/index.js");
  await loadLiteRt("./peers/litertjs/wasm/");
  return async (bytes, { inputs: described }) => {
    const model = await loadAndCompile(bytes, { accelerator: "wasm", cpuOptions: { numThreads: 1 } });
    model.getInputDetails(); /* throws for types that LiteRT.js lacks */
    model.getOutputDetails();
    return async (inputs, outputs) => {
      const tensors = inputs.map((values, k) => new Tensor(values, described[k].shape));
      const results = await model.run(tensors);
      results.forEach((result, k) => {
        outputs[k].set(result.toTypedArray());
        result.delete();
      });
      tensors.forEach((tensor) => tensor.delete());
    };
  };
}

async function tfjsTflite() {
  window.exports = {}; /* the script ends with an assignment to a CommonJS module */
  await script("./peers/tfjs-tflite/tflite_web_api_client.js");
  const { tflite_web_api: api, TFLiteWebModelRunner } = window.tfweb;
  api.setWasmPath("./peers/tfjs-tflite/");
  return async (bytes) => {
    const runner = await TFLiteWebModelRunner.create(bytes.slice().buffer, { numThreads: 1 });
    const targets = runner.getInputs();
    const sources = runner.getOutputs();
    return (inputs, outputs) => {
      inputs.forEach((values, k) => targets[k].data().set(values));
      if (!runner.infer()) {
        throw new Error("the runtime reports that the inference failed");
      }
      sources.forEach((source, k) => outputs[k].set(source.data()));
    };
  };
}

async function onnxRuntimeWeb() {
  const ort = await import("./peers/onnxruntime-web/ort.js");
  const folder = new URL("./peers/onnxruntime-web/", location.href);
  ort.env.wasm.numThreads = 1;
  ort.env.wasm.wasmPaths = { mjs: new URL("ort-wasm.js", folder).href, wasm: new URL("ort-wasm.wasm", folder).href };
  return async (bytes, { inputs: described }) => {
    const session = await ort.InferenceSession.create(bytes, { executionProviders: ["wasm"] });
    const { inputNames, outputNames } = session;
    return async (inputs, outputs) => {
      const feeds = inputs.map((values, k) => (
        [inputNames[k], new ort.Tensor(described[k].dtype, values, described[k].shape)]
      ));
      const results = await session.run(Object.fromEntries(feeds));
      outputNames.forEach((name, k) => outputs[k].set(results[name].data));
    };
  };
}

const LOAD = { litertjs, "tfjs-tflite": tfjsTflite, "onnxruntime-web": onnxRuntimeWeb };
const ARRAYS = {
  float32: Float32Array, int8: Int8Array, uint8: Uint8Array, int16: Int16Array, int32: Int32Array, bool: Uint8Array,
};

/** Returns the bytes of one of the server's files. */
const fetched = async (path) => new Uint8Array(await (await fetch(path)).arrayBuffer());

/** Opens one form of the model, and returns its inputs by sample, its output arrays and its `run`. */
async function openForm(open, form, samples) {
  const [model, data] = await Promise.all([fetched(form.model), fetched(form.inputs_file)]);
  let at = 0;
  const inputs = Array.from({ length: samples }, () => form.inputs.map(({ dtype, elements }) => {
    const nbytes = elements * ARRAYS[dtype].BYTES_PER_ELEMENT;
    at += nbytes;
    return new ARRAYS[dtype](data.slice(at - nbytes, at).buffer);
  }));
  const outputs = form.outputs.map(({ dtype, elements }) => new ARRAYS[dtype](elements));
  const begin = performance.now();
  const run = await open(model, form);
  await run(inputs[0], outputs);
  return { inputs, outputs, run, openMs: performance.now() - begin };
}

/** Opens the first of the model's forms that the runtime accepts. Throws an error with the reasons if it accepts none.
 * `outputs(ran)` of the result calls `ran` after each inference. */
export async function openPeer({ name, forms }, samples) {
  const reasons = [];
  const begin = performance.now();
  const open = await LOAD[name]();
  const runtimeMs = performance.now() - begin;
  for (const [index, form] of forms.entries()) {
    try {
      const { inputs, outputs, run, openMs } = await openForm(open, form, samples);
      return {
        form: index,
        loadMs: runtimeMs + openMs,
        async outputs(ran) {
          const size = outputs.reduce((sum, values) => sum + values.byteLength, 0);
          const all = new Uint8Array(size * samples);
          let at = 0;
          for (const sample of inputs) {
            await run(sample, outputs);
            for (const values of outputs) {
              all.set(new Uint8Array(values.buffer), at);
              at += values.byteLength;
            }
            await ran();
          }
          return all;
        },
        async batch(count) {
          const begin = performance.now();
          for (let k = 0; k < count; k++) {
            const pending = run(inputs[k % samples], outputs);
            if (pending !== undefined) {
              await pending;
            }
          }
          return performance.now() - begin;
        },
      };
    } catch (error) {
      reasons.push(String(error?.message ?? error));
    }
  }
  throw new Error(reasons.join("; "));
}
