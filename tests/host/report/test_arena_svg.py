"""The drawn arena: well-formed, complete, to scale, and with nothing from elsewhere."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

from arenite.converters.planner import OpRequirements, Plan, plan
from arenite.converters.planner.memory_split import AccessCounts, plan_split
from arenite.host.report.arena_svg import arena_svg
from tests.converters.planner.random_graphs import Case, GraphBuilder

SVG = "{http://www.w3.org/2000/svg}"


def example() -> Case:
    b = GraphBuilder()
    x = b.input(64)
    handle = b.handle("state<1>", 96)
    (old,) = b.op([handle], [96], name="READ_VARIABLE")
    (joined,) = b.op([x, old], [160], name="CONCATENATION", needs=OpRequirements(scratch=48))
    (kept,) = b.op([joined], [96], name="STRIDED_SLICE")
    b.op([handle, kept], [], name="ASSIGN_VARIABLE")
    (view,) = b.op([joined], [160], name="RESHAPE", needs=OpRequirements(alias=((0, 0),)))
    (act,) = b.op([view], [160], name="RELU", needs=OpRequirements(in_place=((0, 0),)))
    (y,) = b.op([act], [16])
    return b.case([y])


def drawn(case: Case, made: Plan) -> ET.Element:
    return ET.fromstring(arena_svg(case.graph, made, case.needs))


def blocks(root: ET.Element) -> dict[str, dict[str, float]]:
    """Title to position and size of every block."""
    found = {}
    for rect in root.iter(f"{SVG}rect"):
        title = rect.find(f"{SVG}title")
        if title is not None and "ar-block" in rect.get("class", ""):
            found[title.text or ""] = {k: float(rect.get(k, "0")) for k in ("x", "y", "width", "height")}
    return found


def test_every_block_is_there_to_scale() -> None:
    case = example()
    made = plan(case.graph, case.needs, persistent=case.persistent)
    found = blocks(drawn(case, made))
    assert len(found) == 8  # six values (one of them under two names), one scratch, one variable
    scale = {}
    for title, box in found.items():
        match = re.search(r"([\d,]+) B at \[([\d,]+), ([\d,]+)\), steps (\d+) to (\d+) of 8", title)
        assert match, title
        size, start, end, first, last = (int(g.replace(",", "")) for g in match.groups())
        assert end - start == size
        scale[title] = box["height"] / size
        shared = "computed in place" in title or "#3" in title  # the change is drawn in the middle of a step
        assert abs(box["width"] - 96 * (last - first + 1 - 0.5 * shared)) < 0.11
    assert max(scale.values()) - min(scale.values()) < 0.01
    bottoms = {title: box["y"] + box["height"] for title, box in found.items()}
    variable = next(t for t in bottoms if "variable" in t)
    assert bottoms[variable] == max(bottoms.values())


def test_two_names_of_one_block_and_in_place_are_told() -> None:
    case = example()
    titles = blocks(drawn(case, plan(case.graph, case.needs, persistent=case.persistent)))
    assert any("#3 t3" in t and "#5 t5" in t and "one block with several shapes" in t for t in titles)
    assert any("#6 t6" in t and "computed in place" in t for t in titles)
    apart = plan(case.graph, case.needs, persistent=case.persistent, in_place=False, alias=False)
    titles = blocks(drawn(case, apart))
    assert len(titles) == 9 and not any("in place" in t or "several" in t for t in titles)


def test_variables_that_are_initialised_once_or_read_in_their_place_are_drawn() -> None:
    b = GraphBuilder()
    b.op([], [], name="CALL_ONCE", options={"init_subgraph_index": 1})
    handle, unused = b.handle("state", 96), b.handle("unused", 32)
    (old,) = b.op([handle], [96], name="READ_VARIABLE", needs=OpRequirements(alias=((0, 0),)))
    (y,) = b.op([old], [16])
    case = b.case([y])
    made = plan(case.graph, case.needs, persistent=case.persistent)
    assert made.offsets[old] == made.variable_offsets["/state"] and unused not in made.offsets
    titles = blocks(drawn(case, made))
    assert len(titles) == 2  # the variable and the output; nothing tells the size of the unused variable
    assert any(f"read in place as #{old} t{old}" in t for t in titles)
    text = arena_svg(case.graph, made, case.needs, persistent=case.persistent)
    assert "variable /unused" in text


def test_names_are_escaped_and_control_characters_replaced() -> None:
    case = example()
    tensors = tuple(replace(t, name=f"<script>&\"'\x00{t.index}") for t in case.graph.tensors)
    case = replace(case, graph=replace(case.graph, tensors=tensors))
    made = plan(case.graph, case.needs, persistent=case.persistent)
    text = arena_svg(case.graph, made, case.needs)
    assert "<script>" not in text and "\x00" not in text
    assert any("<script>&\"'\ufffd0" in t for t in blocks(drawn(case, made)))


def test_it_stands_alone_in_light_and_dark() -> None:
    case = example()
    made = plan(case.graph, case.needs, persistent=case.persistent)
    text = arena_svg(case.graph, made, case.needs)
    assert text == arena_svg(case.graph, made, case.needs, persistent=case.persistent)
    assert "prefers-color-scheme:dark" in text
    assert not re.search(r"href|url\(|@import|<script|<image", text)
    assert re.findall(r"https?://[^\"]*", text) == ["http://www.w3.org/2000/svg"]


def test_the_bound_is_named() -> None:
    case = example()
    made = plan(case.graph, case.needs, persistent=case.persistent)
    words = " ".join(t.text or "" for t in drawn(case, made).iter(f"{SVG}text"))
    assert f"arena {made.arena_bytes:,} B = lower bound of every order" in words
    open_plan = replace(made, status="gap", lower_bound=made.lower_bound - 16)
    words = " ".join(t.text or "" for t in drawn(case, open_plan).iter(f"{SVG}text"))
    assert f"lower bound {made.lower_bound - 16:,} B" in words
    for name in ("CONCATENATION 2", "RELU 6", "address in the arena, bytes", "kernel scratch", "variable"):
        assert name in words


def test_graphs_without_operators_or_bytes_are_drawn() -> None:
    b = GraphBuilder()
    case = b.case([b.input(0)])
    assert blocks(drawn(case, plan(case.graph, case.needs))) == {}
    b = GraphBuilder()
    case = b.case([b.input(32)])
    assert len(blocks(drawn(case, plan(case.graph, case.needs)))) == 1


def test_an_arena_over_two_memories_has_a_line_between_them() -> None:
    b = GraphBuilder()
    (middle,) = b.op([b.input(64)], [128])
    (y,) = b.op([middle], [32])
    case = b.case([y])
    made = plan_split(case.graph, case.needs, (0, 1), AccessCounts({0: 9, middle: 1, y: 9}), (64, 1000))
    assert made is not None and (made.fast_bytes, made.slow_bytes) == (64, 128)
    root = drawn(case, made)
    text = " ".join("".join(t.itertext()) for t in root.iter(f"{SVG}text"))
    assert "64 B in the first memory below the line, 128 B in the second above it" in text
    line = next(p for p in root.iter(f"{SVG}path") if p.get("class") == "ar-bound")
    height = float(re.fullmatch(r"M\d+ ([\d.]+)H[\d.]+", line.get("d", ""))[1])  # type: ignore[index]
    found = blocks(root)
    slow = next(box for title, box in found.items() if "128 B at" in title)
    assert abs(slow["y"] + slow["height"] - height) < 1.1
    assert all(box["y"] >= height - 1.1 for title, box in found.items() if "128 B at" not in title)
