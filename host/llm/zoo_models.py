"""Language models of the zoo, which commands take by name in place of a file."""

from __future__ import annotations

from pathlib import Path

from arenite.errors import UsageError
from arenite.host.llm.onnx_genai_model import CONFIG
from arenite.models.manifest import ZooEntry, manifest


def zoo_language_models() -> tuple[str, ...]:
    """Return the names of the zoo's language models, in the order of the manifest."""
    return tuple(item.name for item in manifest().models.values() if item.is_language_model)


def is_zoo_language_model(text: str | Path) -> bool:
    """Return whether ``text`` is the name of a language model of the zoo, and not the path of a file."""
    item = _entry(text)
    return item is not None and item.is_language_model


def language_model_path(model: str | Path, *, progress: bool = True) -> Path:
    """Return the path of a language model. ``model`` is a path, which is returned as it is (for a genai_config.json,
    its folder), or a name of the zoo, whose file is downloaded if the cache does not have it; ``progress`` shows that
    on standard error.

    Raises:
        UsageError: The zoo's model with this name is not a language model.
        ToolError: The file could not be downloaded, does not have the pinned hash, or cannot be written.
    """
    item = _entry(model)
    if item is None:
        path = Path(model)
        return path.parent if path.name == CONFIG else path
    if not item.is_language_model:
        raise UsageError(
            f"The zoo's {item.name} is for {item.task}, and is not a language model.",
            f"Give a .gguf file, or a language model of the zoo: {', '.join(zoo_language_models())}.",
        )
    from arenite.models.zoo import fetch  # the downloader takes time to import

    return fetch(item.name, progress=progress)


def _entry(text: str | Path) -> ZooEntry | None:
    """Return the zoo's model with this name, or None if there is none or ``text`` is an existing file."""
    item = manifest().models.get(str(text))
    return None if item is None or Path(text).exists() else item
