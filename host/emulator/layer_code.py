"""Read the addresses of a firmware's layers from its symbols. A profile uses them to assign counts to layers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from arenite.errors import ToolError
from arenite.firmware.generator.generated_model import Generated

_HALF = re.compile(r"layer_\d+_second")


@dataclass(frozen=True)
class SegmentLayers:
    """A segment: layers that the firmware computes together, row by row.

    ``first``: the layer whose function runs the segment. ``order``: the layer of each row, in the order of computation.
    ``streamed_input``: True if the segment runs while its input arrives, without a layer function.
    """

    first: int
    order: tuple[int, ...]
    streamed_input: bool


def segment_layers(generated: Generated) -> tuple[SegmentLayers, ...]:
    """Return the segments of a model. Only layers that have code are numbered."""
    segments = []
    for code, segment in zip(generated.segments, generated.plan.segments, strict=True):
        first = sum(layer.call is not None for layer in generated.layers[: code.first])
        count = len(segment.stages)
        order = tuple(first + stage for stage in segment.schedule if stage < count)
        segments.append(SegmentLayers(first, order, code.streamed_input))
    return tuple(segments)


@dataclass(frozen=True)
class LayerCode:
    """The addresses of a firmware's layers.

    ``entries``: addresses where counting begins, each with a position in ``orders``. ``orders``: for each function, the
    layers of its runs in order: one layer, or the layer of each row of a segment. ``callers``: address and bytes of the
    functions that call the entries. ``split``: address of the function that marks the end of a row. ``count``: the
    number of layers.

    On two cores, ``halves`` are the layers of which the second core computes a half. In ``orders``, such a
    half is numbered after all layers. ``joins``: address and bytes of the function in which the first core
    waits. ``serves``: address and bytes of the function in which the second core waits.
    """

    entries: tuple[tuple[int, int], ...]
    orders: tuple[tuple[int, ...], ...]
    callers: tuple[tuple[int, int], ...]
    split: int | None
    count: int
    halves: tuple[int, ...] = ()
    joins: tuple[int, int] | None = None
    serves: tuple[int, int] | None = None


def layer_code(path: Path, segments: Sequence[SegmentLayers] = ()) -> LayerCode:
    """Read the addresses from an ELF file's symbols and its table of layers. Raises ``ToolError`` for an ELF without
    these symbols."""
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile
    from elftools.elf.sections import SymbolTableSection

    try:
        with path.open("rb") as stream:
            elf = ELFFile(stream)
            table = elf.get_section_by_name(".symtab")
            named = table.iter_symbols() if isinstance(table, SymbolTableSection) else ()
            # Bit 0 of a Thumb function's address marks the instruction set.
            mask = ~1 if elf["e_machine"] == "EM_ARM" else ~0
            symbols = {s.name: s for s in named if s["st_size"]}
            layers = symbols.get("layers")
            if layers is None or "ar_infer" not in symbols:
                raise ToolError(f"{path} has no symbols for its layers.", "Build the project again.")
            section = elf.get_section(layers["st_shndx"])
            start = layers["st_value"] - section["sh_addr"]
            data = section.data()[start : start + layers["st_size"]]
            words = [int.from_bytes(data[k : k + 4], "little") & mask for k in range(0, len(data), 4)]
            spans = {n: (s["st_value"] & mask, s["st_size"]) for n, s in symbols.items()}
    except (OSError, ELFError) as error:
        raise ToolError(f"Cannot read {path}: {error}.", "Build the project again.") from error
    entries = list(_entries(words, segments, spans))
    halves = _halves(words, spans) if "ar_second_core" in spans else {}
    entries += [([address], (len(words) + k,)) for k, address in enumerate(halves.values())]
    return LayerCode(
        tuple((address, k) for k, (addresses, _) in enumerate(entries) for address in addresses),
        tuple(order for _, order in entries),
        tuple(spans[name] for name in ("ar_infer", "ar_take_rows", "ar_second_core") if name in spans),
        spans["ar_profile"][0] if "ar_profile" in spans else None,
        len(words),
        tuple(halves),
        spans.get("ar_join") if halves else None,
        spans.get("ar_second_core") if halves else None,
    )


def _halves(words: Sequence[int], spans: dict[str, tuple[int, int]]) -> dict[int, int]:
    """Return the address of the function that computes a layer's second half, by layer."""
    halves = {
        words.index(spans[name.removesuffix("_second")][0]): span[0]
        for name, span in spans.items()
        if _HALF.fullmatch(name)
    }
    return dict(sorted(halves.items()))


def _entries(
    words: Sequence[int], segments: Sequence[SegmentLayers], spans: dict[str, tuple[int, int]]
) -> Iterator[tuple[list[int], tuple[int, ...]]]:
    """Yield (addresses at which a layer or a segment begins or continues, order of its layers)."""
    starts = {s.first: s.order for s in segments if not s.streamed_input}
    for position, address in enumerate(words):
        if address:
            yield [address], starts.get(position, (position,))
    for segment in segments:
        if segment.streamed_input:
            yield [spans[n][0] for n in ("ar_stream_begin", "ar_stream_run") if n in spans], segment.order
