"""Choose the signature of a SavedModel. Arenite and the framework's process both use this module, so it imports
nothing but the standard library."""

from typing import Any


class SignatureProblem(Exception):
    """There is no signature, or the user must choose one. ``problem`` says what is wrong, ``hint`` what to try.
    ``kind`` is "usage" for a wrong or missing option, or "model" for a model that cannot be converted."""

    def __init__(self, problem: Any, hint: Any, kind: Any = "usage") -> None:
        super().__init__(problem)
        self.kind, self.problem, self.hint = kind, problem, hint


def choose_signature(source: Any, signature: Any, names: Any) -> Any:
    """Return the name of the signature to convert, one of the list ``names``.

    ``source`` is the folder of the SavedModel, and ``signature`` the name that the user chose, or "". Raises
    ``SignatureProblem`` if there is no such signature, or if the user must choose one.
    """
    if not names:
        raise SignatureProblem(
            f"{source} has no signature, so its inputs are unknown.",
            "Save the model with signatures, for example with model.export().",
            "model",
        )
    if signature:
        if signature not in names:
            raise SignatureProblem(
                f"{source} has no signature '{signature}'.", f"Choose one of {', '.join(names)}."
            )
        return signature
    if "serving_default" in names:  # Keras exports the same function a second time, as "serve"
        names = [name for name in names if name != "serve"]
    if len(names) > 1:
        raise SignatureProblem(
            f"{source} has {len(names)} signatures: {', '.join(names)}.",
            f"Choose the one to convert, for example --signature {names[0]}.",
        )
    return names[0]
