"""Run MLCommons' LoadGen with a real model on photographs. Tests run this module as a child process, because LoadGen
has global state.

python -m tests.host.camera.scenarios.loadgen_child SCENARIO FOLDER SECONDS RATE LIMIT_MS
"""

from __future__ import annotations

import sys

import mlperf_loadgen as loadgen

from arenite.host.camera.scenarios.frame_system import FrameSystem
from arenite.host.camera.scenarios.rules import SCHEDULE_SEED
from tests.host.camera.frames.photo_frames import frame_of, photograph
from tests.host.camera.serving.real_servers import server_of

SCENARIOS = {
    "single-stream": loadgen.TestScenario.SingleStream,
    "multi-stream": loadgen.TestScenario.MultiStream,
    "offline": loadgen.TestScenario.Offline,
    "server": loadgen.TestScenario.Server,
}


def main(scenario: str, folder: str, seconds: float, rate: float, limit_ms: float) -> None:
    """Run ``scenario`` for ``seconds`` and write LoadGen's logs to ``folder``. ``rate`` is the number of queries
    (server) or samples (offline) per second, and ``limit_ms`` the latency limit of the scenario server."""
    settings = loadgen.TestSettings()
    settings.scenario = SCENARIOS[scenario]
    settings.mode = loadgen.TestMode.PerformanceOnly
    settings.min_duration_ms = round(seconds * 1000)
    # The minimum numbers of queries in MLPerf's rules.
    settings.min_query_count = 662 if scenario == "multi-stream" else 64 if scenario == "single-stream" else 1
    settings.schedule_rng_seed = SCHEDULE_SEED
    settings.single_stream_expected_latency_ns = settings.multi_stream_expected_latency_ns = 50_000
    settings.server_target_qps = settings.offline_expected_qps = rate
    settings.server_target_latency_ns = round(limit_ms * 1e6)
    outputs = loadgen.LogOutputSettings()
    outputs.outdir = folder
    outputs.copy_summary_to_stdout = False
    logs = loadgen.LogSettings()
    logs.log_output = outputs
    logs.enable_trace = True
    frames = [frame_of(photograph(index % 4)) for index in range(16)]
    system = FrameSystem(server_of("visual_wake_words"), frames)

    def issue(samples: list) -> None:
        """Serve a query and report its end to LoadGen."""
        system.serve([sample.index for sample in samples])
        loadgen.QuerySamplesComplete([loadgen.QuerySampleResponse(sample.id, 0, 0) for sample in samples])

    with system:
        system.warm_up()
        sut = loadgen.ConstructSUT(issue, lambda: None)
        library = loadgen.ConstructQSL(len(frames), len(frames), lambda _: None, lambda _: None)
        loadgen.StartTestWithLogSettings(sut, library, settings, logs, "")
        loadgen.DestroyQSL(library)
        loadgen.DestroySUT(sut)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(float, sys.argv[3:6]))
