"""The options of ``arenite camera``, with their help."""

from __future__ import annotations

from pathlib import Path

import click

from arenite.host.camera.options import DESCRIBE_EVERY_S
from arenite.host.cli.camera_fields import field_option
from arenite.host.cli.option_types import option_group

#: A decorator that adds the options to the command.
camera_options = option_group(
    field_option(
        "--source",
        sets="source.sources",
        metavar="SOURCE",
        help=(
            "Where frames come from: /dev/videoN, a video file, a folder of pictures or a pattern such as "
            "dir/*.jpg, rtsp://…, gst:PIPELINE (GStreamer), csi:N (camera N of a Jetson), photos (photographs "
            "that Arenite provides), or synthetic (a moving square). Repeat the option for several cameras; one "
            "frame of each camera is then a set. Default: the sources in the environment variable "
            "ARENITE_SOURCE, one per line; without it, a camera if there is one, else photos."
        ),
    ),
    click.option(
        "--source-file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help=(
            "Read the sources from this file, one per line. Use it for passwords, because other users can read "
            "the command line. Cannot be combined with --source."
        ),
    ),
    field_option(
        "--model",
        sets="model.name",
        metavar="MODEL",
        help=(
            "Name of a model of `arenite zoo list`, a short name such as blazeface (face_detection_short_range) or vww "
            "(visual_wake_words), or a .tflite or .onnx file. docs/zoo.md lists the short names."
        ),
    ),
    field_option(
        "--frames", sets="loop.frames", help="Stop after this number of answers. Default: no limit."
    ),
    field_option(
        "--duration",
        sets="loop.duration_s",
        metavar="SECONDS",
        help="Stop after this number of seconds. Default: no limit. If --frames is also given, "
        "the run stops at the limit that it reaches first.",
    ),
    field_option(
        "--budget",
        sets="energy.limits",
        metavar="LIMITS",
        help=(
            'Limits, such as "power=5W,temperature=70C,latency=50ms". A control loop, the governor, keeps them by '
            "lowering the frame rate and other settings. Default: no limits."
        ),
    ),
    click.option(
        "--json", "as_json", is_flag=True, help="Print one JSON object to standard output when the run ends."
    ),
    field_option(
        "--width",
        sets="source.width",
        help="Request frames of this width, in pixels. Default: the source chooses.",
    ),
    field_option(
        "--height",
        sets="source.height",
        help="Request frames of this height, in pixels. Default: the source chooses.",
    ),
    field_option(
        "--fps",
        sets="source.fps",
        help="Request this frame rate, in frames per second. Default: the source chooses.",
    ),
    field_option(
        "--pixels",
        sets="source.pixels",
        metavar="FORMAT",
        help="Request this pixel format, such as yuyv, nv12 or rgb. Default: the source chooses.",
    ),
    field_option(
        "--pace",
        sets="source.pace",
        help=(
            "live: process frames at the source's rate and drop late frames. file: process every frame, as fast "
            "as possible. auto: live for cameras and streams, file for files."
        ),
    ),
    field_option(
        "--loop",
        sets="source.loop",
        help="When a video or picture folder ends, play it again. Default: stop.",
    ),
    field_option(
        "--jitter",
        sets="source.jitter_ms",
        metavar="MS",
        help="With several cameras: longest time between the first and the last capture of a set, in milliseconds.",
    ),
    field_option(
        "--timeout",
        sets="source.timeout_ms",
        metavar="MS",
        help=(
            "With several cameras: longest time to wait for a late camera, in milliseconds. After that time, the "
            "previous frame of this camera is used again, if there is one."
        ),
    ),
    field_option(
        "--preprocessing",
        sets="model.preprocessing",
        metavar="FILE",
        help="TOML or JSON file with preprocessing steps. Default: the steps that the model file records.",
    ),
    field_option(
        "--postprocessing",
        sets="model.postprocessing",
        metavar="FILE",
        help="TOML or JSON file with postprocessing steps. Default: the steps that the model file records.",
    ),
    field_option(
        "--labels",
        sets="model.labels",
        metavar="FILE",
        help="Text file with one class label per line. Default: the labels that the model file records.",
    ),
    field_option(
        "--window",
        sets="model.window",
        metavar="RECTANGLE",
        help=(
            "LEFT,TOP,WIDTH,HEIGHT in pixels: run the model on only this part of the frame. Default: the whole "
            "frame."
        ),
    ),
    field_option(
        "--runtime",
        sets="model.runtime",
        metavar="NAME",
        help=(
            "Runtime of the model, for example litert-cpu, litert-gpu, litert-npu, litert-interpreter, "
            "delegate:LIBRARY, onnx-cpu or onnx-cuda. auto: the runtime that --measure-runtimes chose earlier "
            "for this model on this device, else the CPU."
        ),
    ),
    field_option(
        "--runtime-option",
        sets="model.runtime_options",
        metavar="NAME=VALUE",
        help="Set an option of the runtime, such as precision=fp16. May be given several times.",
    ),
    field_option(
        "--measure-runtimes",
        sets="model.measure_runtimes",
        help=(
            "Measure the model with every runtime of this computer, use the runtime with the lowest latency, and "
            "remember it for later runs. Only with --runtime auto or delegate:LIBRARY."
        ),
    ),
    field_option("--threads", sets="model.threads", help="Number of threads for the model on the CPU."),
    field_option(
        "--warm-up", sets="model.warm_up", help="Number of inferences to run before the first frame."
    ),
    field_option(
        "--overlap/--in-a-row",
        sets="loop.overlap",
        help=(
            "Prepare the next frame while the model runs (--overlap), or after the model has finished "
            "(--in-a-row). Default: --overlap if an inference takes so long that this saves time."
        ),
    ),
    field_option(
        "--ladder",
        sets="model.variants",
        metavar="VARIANT",
        help=(
            "Another variant of the model, which needs less time: MODEL[@WIDTHxHEIGHT][@RUNTIME]. The governor, "
            "which keeps the limits of --budget, may switch to it. May be given several times."
        ),
    ),
    field_option(
        "--cascade",
        sets="model.cascade",
        metavar="RULE",
        help=(
            '"MODEL:LABEL>=SCORE -> MODEL": run the second model only when the first model finds LABEL with at '
            "least this score."
        ),
    ),
    field_option(
        "--rerun-below",
        sets="model.rerun_below",
        metavar="SCORE:MODEL",
        help="Also run this more precise model when the score of the answer is below SCORE.",
    ),
    field_option(
        "--also",
        sets="model.also",
        metavar="MODEL",
        help="Another model that runs on every frame. May be given several times.",
    ),
    field_option(
        "--memory-budget",
        sets="model.memory_mb",
        metavar="MB",
        help=(
            "Maximum memory of all models together, in MB. If they need more, models are unloaded, and loaded "
            "again when they are needed. Default: no limit."
        ),
    ),
    field_option(
        "--updates",
        sets="updates.repository",
        metavar="URL_OR_DIR",
        help=(
            "Take newer versions of the model from this signed repository (docs/camera-updates.md) while the loop "
            "runs. Needs --trusted-root and the extra `update`."
        ),
    ),
    field_option(
        "--trusted-root",
        sets="updates.trusted_root",
        metavar="FILE",
        help="Root metadata of the repository, root.json, which you got from its publisher in a safe way.",
    ),
    field_option(
        "--check-every",
        sets="updates.check_every_s",
        metavar="SECONDS",
        help="Time between two checks of the repository.",
    ),
    field_option(
        "--shadow",
        sets="updates.shadow_s",
        metavar="SECONDS",
        help=(
            "Time in which a new version answers a sample of the frames too, before it may serve. 0: it serves as soon "
            "as it is warm."
        ),
    ),
    field_option(
        "--min-agreement",
        sets="updates.min_agreement",
        metavar="SHARE",
        help=(
            "Lowest agreement of the answers of a new version with those of the version before, from 0 to 1. 0: the "
            "answers are not compared."
        ),
    ),
    field_option(
        "--probation",
        sets="updates.probation_s",
        metavar="SECONDS",
        help=(
            "Time after the switch in which the version before returns if the new one raises an error, is too slow or "
            "disagrees."
        ),
    ),
    field_option(
        "--scenario",
        sets="loop.scenario",
        help=(
            "Measure this scenario of MLPerf Inference. This takes 10 minutes, as a valid result requires, unless "
            "--duration or --quick gives another time."
        ),
    ),
    field_option(
        "--quick",
        sets="loop.quick",
        help="With --scenario: measure for 10 seconds. This is too short for a valid result of MLPerf.",
    ),
    field_option(
        "--qps",
        sets="loop.qps",
        help="With --scenario server: test this rate in queries per second. Default: search for the highest rate.",
    ),
    field_option(
        "--soak",
        sets="loop.soak_minutes",
        metavar="MINUTES",
        help=(
            "Run for this number of minutes (2 or more), and compare the frame rate, times, power and temperature of "
            "the first minute with those of the steady state."
        ),
    ),
    field_option(
        "--motion",
        sets="loop.motion",
        help="Run the model only on frames in which something has moved. For other frames, repeat the last answer.",
    ),
    field_option(
        "--cache",
        sets="loop.cache",
        help="If the input of the model equals an earlier input, return the stored answer.",
    ),
    field_option(
        "--pin",
        sets="loop.pin",
        metavar="CORES",
        help="Run only on these CPU cores, such as 2 or 1-3. Default: all.",
    ),
    field_option("--lock-memory", sets="loop.lock_memory", help="Keep all memory of the process in RAM."),
    field_option(
        "--realtime",
        sets="loop.realtime",
        help="Run with this priority of Linux's real-time scheduler SCHED_FIFO.",
    ),
    field_option(
        "--time-slice",
        sets="loop.time_slice_ms",
        metavar="MS",
        help=(
            "Time slice of the loop in milliseconds. With a short one, such as 0.1, the kernel schedules the loop "
            "sooner if other programs use the processor. Needs Linux 6.12, but no special privileges. "
            "Default: the time slice of the system."
        ),
    ),
    field_option(
        "--early-wake",
        sets="loop.early_wake_ms",
        metavar="MS",
        show_default=False,
        help=(
            "Wake up this many milliseconds before a frame of a live source is due, and poll for it. This makes the "
            "latency smaller and steadier. It costs this processor time per frame, or twice as much if the frame is "
            "late. Paused while a limit of --budget restricts the loop: it then sleeps until the frame arrives. "
            "Default: 0, always sleep."
        ),
    ),
    field_option(
        "--warm-model",
        sets="loop.warm_model",
        help=(
            "Run the model on the previous input just before a frame is due, so that caches, clock and threads of the "
            "runtime are warm. This doubles the work of the model. Paused at the same times as --early-wake. Not for "
            "models with state."
        ),
    ),
    field_option("--root", sets="energy.root", type=click.Path(path_type=Path, exists=True), hidden=True),
    field_option(
        "--host",
        sets="energy.host",
        metavar="PROFILE",
        help=(
            "Profile of this computer in profiles/hosts, which is used to estimate the power. Default: the "
            "profile that matches this computer."
        ),
    ),
    field_option(
        "--power-source",
        sets="energy.power_source",
        metavar="NAME",
        help=(
            "Sensor to read the power from, or a part of its name, such as ina3221, rapl or battery. Default: the "
            "best sensor of this computer."
        ),
    ),
    field_option(
        "--set-frequency",
        sets="energy.set_frequency",
        help="Allow the governor to lower the processor's maximum frequency.",
    ),
    field_option(
        "--rest-saves",
        sets="energy.rest_saves_w",
        metavar="WATTS",
        help=(
            "Power in watts that the device saves while it waits between two bursts of frames. With this option, "
            "the governor may process the frames in bursts."
        ),
    ),
    field_option(
        "--dashboard",
        sets="outputs.dashboard",
        is_flag=False,
        flag_value="127.0.0.1:0",
        metavar="[HOST:PORT]",
        help=(
            "Serve a web page with the current frame, the results and the power at HOST:PORT. Without HOST:PORT, the "
            "page is on a free port and only this computer can open it."
        ),
    ),
    field_option(
        "--token",
        sets="outputs.token",
        envvar="ARENITE_TOKEN",
        metavar="auto",
        help=(
            "auto: generate an access token for the dashboard. A token is required when other computers can reach the "
            "dashboard. Other users can read the command line, so set your own token in the environment variable "
            "ARENITE_TOKEN or with --token-file."
        ),
    ),
    click.option(
        "--token-file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help=(
            "Read the access token of the dashboard from the first line of this file. Cannot be combined with "
            "--token."
        ),
    ),
    field_option(
        "--output",
        sets="outputs.output",
        metavar="FILE",
        help="Write one line of JSON per answer to this file; - is standard output.",
    ),
    field_option(
        "--tls-cert",
        sets="outputs.tls_cert",
        metavar="FILE",
        help="Serve the dashboard over TLS (https) with the certificate in this PEM file. Default: no TLS.",
    ),
    field_option(
        "--tls-key",
        sets="outputs.tls_key",
        metavar="FILE",
        help="PEM file with the private key of --tls-cert. Default: the key is in the file of --tls-cert.",
    ),
    field_option(
        "--callback",
        sets="outputs.callback",
        metavar="FUNCTION",
        help="module:function or FILE.py:function: call this Python function with every answer.",
    ),
    field_option(
        "--mqtt",
        sets="outputs.mqtt",
        envvar="ARENITE_MQTT",
        metavar="URL",
        help=(
            "mqtt://user:password@host:port/topic: publish every answer to this MQTT broker. Default: the "
            "environment variable ARENITE_MQTT. Use the variable for a password, because other users can read the "
            "command line."
        ),
    ),
    field_option(
        "--describe",
        sets="outputs.describe",
        metavar="URL",
        help=(
            "Let the language model at this address, such as http://127.0.0.1:8080 of `arenite serve MODEL.gguf`, put "
            "the newest answer into a sentence. The loop does not wait for it."
        ),
    ),
    field_option(
        "--describe-every",
        sets="outputs.describe_every_s",
        metavar="SECONDS",
        help=(
            "Shortest time between two descriptions. A new one also needs other labels than the one before. Default: "
            f"{DESCRIBE_EVERY_S:g}."
        ),
    ),
    field_option(
        "--describe-instruction",
        sets="outputs.describe_instruction",
        metavar="TEXT",
        help="Instruction for the language model of --describe. Default: put the answer into one short sentence.",
    ),
    field_option(
        "--timeline",
        sets="outputs.timeline",
        metavar="FILE",
        help="Write a trace of the run to this file, which ui.perfetto.dev can open.",
    ),
)
