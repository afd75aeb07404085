"""The filters of two channels are stored with two weights per int16. Each weight is stored once, in the order in which
the kernels read it."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.firmware.generator.lower.conv.channel_pairs import row_order, tap_order
from arenite.firmware.generator.lower.conv.conv_2d_columns_dsp import column_order
from tests.example_count import example_count


@settings(max_examples=example_count(200), deadline=None)
@given(st.integers(1, 7), st.integers(1, 7), st.integers(1, 40), st.integers(1, 3))
def test_every_tap_is_stored_once(k_h: int, k_w: int, in_c: int, dilation: int) -> None:
    taps = tap_order(k_h, k_w, in_c, dilation)
    total = k_h * k_w * in_c
    assert sorted(taps.order[taps.order >= 0]) == list(range(total))
    assert taps.runs * taps.run_width == k_w
    assert taps.groups * 4 == len(taps.order)
    # Groups of four taps read at most three taps beyond a run, which is a part of a row of the window.
    assert 0 <= 4 * taps.run_groups + taps.rest - taps.run_width * in_c < 4
    filled = taps.runs * k_h * -(-(taps.run_width * in_c) // 4)
    assert -(-total // 4) <= taps.groups <= filled


@settings(max_examples=example_count(50), deadline=None)
@given(st.integers(1, 7), st.integers(1, 7), st.integers(1, 40), st.integers(1, 3))
def test_groups_have_the_order_of_sxtb16(k_h: int, k_w: int, in_c: int, dilation: int) -> None:
    taps = tap_order(k_h, k_w, in_c, dilation)
    # SXTB16 extends bytes 0 and 2 of a word, so the taps of a group are stored in the order 0, 2, 1, 3.
    groups = taps.order[: taps.runs * k_h * taps.run_groups * 4].reshape(-1, 4)
    first = groups[:, :1]
    is_expected = (groups - first == np.array([0, 2, 1, 3])) | (groups == -1)
    assert is_expected.all() and (first >= 0).all()


@given(st.integers(1, 100))
def test_a_row_is_padded_to_a_multiple_of_eight(depth: int) -> None:
    order = row_order(depth)
    assert len(order) % 8 == 0 and 0 <= len(order) - depth < 8
    assert sorted(order[order >= 0]) == list(range(depth))


@given(st.integers(1, 5), st.integers(1, 10))
def test_shared_columns_are_stored_group_by_group(k_h: int, groups: int) -> None:
    in_c = 4 * groups
    order = column_order(k_h, in_c)
    assert sorted(order) == list(range(k_h * 3 * in_c))
    split = order.reshape(k_h, groups, 3, 4)
    assert (split - split[..., :1] == np.array([0, 2, 1, 3])).all()
    assert (np.diff(split[..., 0], axis=2) == in_c).all()
