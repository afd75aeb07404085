"""Open a model with the runtime for its file."""

from __future__ import annotations

from arenite.host.llm.language_model import LITERT_LM, ONNX_GENAI
from arenite.host.llm.litert_lm_runtime import LiteRtLmRuntime
from arenite.host.llm.llama_cpp_runtime import LlamaCppOptions, LlamaCppRuntime
from arenite.host.llm.onnx_genai_runtime import OnnxGenAiRuntime
from arenite.host.llm.runtime import BenchRuntime, RuntimeOptions


def open_runtime(options: RuntimeOptions) -> BenchRuntime:
    """Load a model.

    Raises:
        UsageError: The package of the runtime is not installed.
        ToolError: The runtime cannot load the model.
    """
    if options.runtime == ONNX_GENAI:
        return OnnxGenAiRuntime(options.path, options.context, options.threads)
    if options.runtime == LITERT_LM:
        return LiteRtLmRuntime(options.path, options.context, options.threads, options.has_log)
    return LlamaCppRuntime(
        LlamaCppOptions(
            options.path, options.context, options.cache_type, options.threads, has_log=options.has_log
        )
    )
