"""The drawing of the arena is well-formed, complete, to scale and self-contained."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

from arenite.converters.planner import OpRequirements, Plan, plan
from arenite.converters.planner.memory_split import AccessCounts, plan_split
from arenite.converters.planner.streaming.plan_streaming import plan_streaming
from arenite.host.report.arena_svg import arena_svg
from tests.converters.planner.random_graphs import Case, GraphBuilder
from tests.converters.planner.streaming.random_chains import ImageBuilder

SVG = "{http://www.w3.org/2000/svg}"


def example() -> Case:
    """Return a graph with a variable, a scratch buffer, a value with two names, and an operator that computes in
    place."""
    b = GraphBuilder()
    x = b.input(64)
    handle = b.handle("state<1>", 96)
    (variable_value,) = b.op([handle], [96], name="READ_VARIABLE")
    (joined,) = b.op([x, variable_value], [160], name="CONCATENATION", needs=OpRequirements(scratch=48))
    (sliced,) = b.op([joined], [96], name="STRIDED_SLICE")
    b.op([handle, sliced], [], name="ASSIGN_VARIABLE")
    (view,) = b.op([joined], [160], name="RESHAPE", needs=OpRequirements(alias=((0, 0),)))
    (act,) = b.op([view], [160], name="RELU", needs=OpRequirements(in_place=((0, 0),)))
    (y,) = b.op([act], [16])
    return b.case([y])


def draw(case: Case, memory_plan: Plan) -> ET.Element:
    """Return the drawing of the plan, parsed as XML."""
    return ET.fromstring(arena_svg(case.graph, memory_plan, case.needs))


def blocks(root: ET.Element) -> dict[str, dict[str, float]]:
    """Return the position and size of every block of the drawing, by the block's title."""
    boxes = {}
    for rect in root.iter(f"{SVG}rect"):
        title = rect.find(f"{SVG}title")
        if title is not None and "ar-block" in rect.get("class", ""):
            boxes[title.text or ""] = {k: float(rect.get(k, "0")) for k in ("x", "y", "width", "height")}
    return boxes


def test_every_block_is_drawn_to_scale() -> None:
    case = example()
    memory_plan = plan(case.graph, case.needs, persistent=case.persistent)
    boxes = blocks(draw(case, memory_plan))
    assert len(boxes) == 8  # six values (one value has two names), one scratch buffer, one variable
    scale = {}
    for title, box in boxes.items():
        match = re.search(r"([\d,]+) B at \[([\d,]+), ([\d,]+)\), steps (\d+) to (\d+) of 8", title)
        assert match, title
        size, start, end, first, last = (int(g.replace(",", "")) for g in match.groups())
        assert end - start == size
        scale[title] = box["height"] / size
        # The change of name is drawn in the middle of a step.
        shared = "computed in place" in title or "#3" in title
        assert abs(box["width"] - 96 * (last - first + 1 - 0.5 * shared)) < 0.11
    assert max(scale.values()) - min(scale.values()) < 0.01
    bottoms = {title: box["y"] + box["height"] for title, box in boxes.items()}
    variable = next(t for t in bottoms if "variable" in t)
    assert bottoms[variable] == max(bottoms.values())


def test_aliases_and_in_place_operators_are_in_the_titles() -> None:
    case = example()
    titles = blocks(draw(case, plan(case.graph, case.needs, persistent=case.persistent)))
    assert any("#3 t3" in t and "#5 t5" in t and "the same bytes, with several shapes" in t for t in titles)
    assert any("#6 t6" in t and "computed in place" in t for t in titles)
    apart = plan(case.graph, case.needs, persistent=case.persistent, in_place=False, alias=False)
    titles = blocks(draw(case, apart))
    assert len(titles) == 9 and not any("in place" in t or "several" in t for t in titles)


def test_variables_that_are_initialized_once_or_read_in_place_are_drawn() -> None:
    b = GraphBuilder()
    b.op([], [], name="CALL_ONCE", options={"init_subgraph_index": 1})
    handle, unused = b.handle("state", 96), b.handle("unused", 32)
    (variable_value,) = b.op([handle], [96], name="READ_VARIABLE", needs=OpRequirements(alias=((0, 0),)))
    (y,) = b.op([variable_value], [16])
    case = b.case([y])
    memory_plan = plan(case.graph, case.needs, persistent=case.persistent)
    assert (
        memory_plan.offsets[variable_value] == memory_plan.variable_offsets["/state"]
        and unused not in memory_plan.offsets
    )
    titles = blocks(draw(case, memory_plan))
    assert len(titles) == 2  # the variable and the output; the size of the unused variable is unknown
    assert any(f"read in place as #{variable_value} t{variable_value}" in t for t in titles)
    text = arena_svg(case.graph, memory_plan, case.needs, persistent=case.persistent)
    assert "variable /unused" in text


def test_names_are_escaped_and_control_characters_replaced() -> None:
    case = example()
    tensors = tuple(replace(t, name=f"<script>&\"'\x00{t.index}") for t in case.graph.tensors)
    case = replace(case, graph=replace(case.graph, tensors=tensors))
    memory_plan = plan(case.graph, case.needs, persistent=case.persistent)
    text = arena_svg(case.graph, memory_plan, case.needs)
    assert "<script>" not in text and "\x00" not in text
    assert any("<script>&\"'\ufffd0" in t for t in blocks(draw(case, memory_plan)))


def test_the_drawing_is_self_contained_in_light_and_dark() -> None:
    case = example()
    memory_plan = plan(case.graph, case.needs, persistent=case.persistent)
    text = arena_svg(case.graph, memory_plan, case.needs)
    assert text == arena_svg(case.graph, memory_plan, case.needs, persistent=case.persistent)
    assert "prefers-color-scheme:dark" in text
    assert not re.search(r"href|url\(|@import|<script|<image", text)
    assert re.findall(r"https?://[^\"]*", text) == ["http://www.w3.org/2000/svg"]


def test_the_lower_bound_is_labelled() -> None:
    case = example()
    memory_plan = plan(case.graph, case.needs, persistent=case.persistent)
    words = " ".join(t.text or "" for t in draw(case, memory_plan).iter(f"{SVG}text"))
    assert f"arena {memory_plan.arena_bytes:,} B = lower bound of every order" in words
    open_plan = replace(memory_plan, status="gap", lower_bound=memory_plan.lower_bound - 16)
    words = " ".join(t.text or "" for t in draw(case, open_plan).iter(f"{SVG}text"))
    assert f"lower bound {memory_plan.lower_bound - 16:,} B" in words
    for name in ("CONCATENATION 2", "RELU 6", "address in the arena, bytes", "kernel scratch", "variable"):
        assert name in words


def test_graphs_without_operators_or_bytes_are_drawn() -> None:
    b = GraphBuilder()
    case = b.case([b.input(0)])
    assert blocks(draw(case, plan(case.graph, case.needs))) == {}
    b = GraphBuilder()
    case = b.case([b.input(32)])
    assert len(blocks(draw(case, plan(case.graph, case.needs)))) == 1


def test_an_arena_over_two_memories_has_a_line_between_them() -> None:
    b = GraphBuilder()
    (middle,) = b.op([b.input(64)], [128])
    (y,) = b.op([middle], [32])
    case = b.case([y])
    memory_plan = plan_split(
        case.graph, case.needs, (0, 1), AccessCounts({0: 9, middle: 1, y: 9}), (64, 1000)
    )
    assert memory_plan is not None and (memory_plan.fast_bytes, memory_plan.slow_bytes) == (64, 128)
    root = draw(case, memory_plan)
    text = " ".join("".join(t.itertext()) for t in root.iter(f"{SVG}text"))
    assert "64 B in the first memory below the line, 128 B in the second above it" in text
    line = next(p for p in root.iter(f"{SVG}path") if p.get("class") == "ar-bound")
    height = float(re.fullmatch(r"M\d+ ([\d.]+)H[\d.]+", line.get("d", ""))[1])  # type: ignore[index]
    boxes = blocks(root)
    slow = next(box for title, box in boxes.items() if "128 B at" in title)
    assert abs(slow["y"] + slow["height"] - height) < 1.1
    assert all(box["y"] >= height - 1.1 for title, box in boxes.items() if "128 B at" not in title)


def test_rows_of_a_streamed_tensor_are_drawn_at_their_addresses() -> None:
    b = ImageBuilder()
    first = b.window(b.input(20, 8), 32)
    second = b.window(b.window(first, 32), 32)
    case = b.case(b.dense(b.view(b.mean(b.add(second, first))), 10))
    streamed = plan_streaming(case.graph, case.needs)
    assert streamed is not None
    (segment,) = streamed.segments
    assert len(segment.rows) >= 3
    boxes = blocks(draw(case, streamed))
    for tensor, offsets in segment.rows.items():
        count = len(set(offsets))
        titles = [title for title in boxes if re.search(rf"#{tensor}\b", title)]
        drawn = 0
        for title in titles:
            assert f"row by row: its 20 rows have {count} addresses, which other rows use too" in title
            match = re.search(r"([\d,]+) B at \[", title)
            assert match
            drawn += int(match[1].replace(",", ""))
        assert drawn == len({byte for offset in offsets for byte in range(offset, offset + 32)})
