"""Groups of tensors in integer types that must have the same quantization."""

from __future__ import annotations

from dataclasses import dataclass

from arenite.converters.graph.model import Quantization

FLOAT = "float32"


@dataclass(frozen=True)
class TensorForm:
    """A float tensor of the source model in the type ``dtype`` of the quantized model. A tensor has several forms if
    its readers need different types. ``edge`` is None, or (operator index, position of the input) for a form that
    only one input reads. A third element, a word, tells two such forms of one input apart."""

    tensor: int
    dtype: str
    edge: tuple[int, int] | tuple[int, int, str] | None = None


class FormGroups:
    """Disjoint sets of integer forms that share one quantization (union-find). Each set is named by one of its
    forms, the root."""

    def __init__(self) -> None:
        self._parent: dict[TensorForm, TensorForm] = {}
        self.fixed: dict[TensorForm, Quantization] = {}  # required quantization by root

    def add(self, form: TensorForm) -> TensorForm:
        """Add an integer form as a group of its own if it is new. Return ``form``."""
        if form.dtype != FLOAT:
            self._parent.setdefault(form, form)
        return form

    def root(self, form: TensorForm) -> TensorForm:
        """Return the form that names the group of ``form``."""
        while self._parent[form] != form:
            form = self._parent[form]
        return form

    def fix(self, form: TensorForm, quant: Quantization) -> None:
        """Require ``quant`` for the group of ``form``."""
        self.fixed[self.root(form)] = quant

    def join(self, a: TensorForm, b: TensorForm) -> bool:
        """Join the groups of both forms. Return False and change nothing if their fixed quantizations differ."""
        a, b = self.root(a), self.root(b)
        if a == b:
            return True
        fixed = {self.fixed[r] for r in (a, b) if r in self.fixed}
        if len(fixed) > 1:
            return False
        self._parent[b] = a
        for quant in fixed:
            self.fixed[a] = quant
        return True

    def members(self) -> dict[TensorForm, list[TensorForm]]:
        """Return {root: all forms of its group}."""
        out: dict[TensorForm, list[TensorForm]] = {}
        for form in self._parent:
            out.setdefault(self.root(form), []).append(form)
        return out
