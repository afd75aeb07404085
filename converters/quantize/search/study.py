"""Choose the next recipes of a search with an Optuna study, and store outcomes in a file, so that an interrupted search
can continue.

Only the main process uses the study. The worker processes, which try the recipes, do not. The file is an SQLite
database. Every outcome is one transaction, so an interruption loses only the recipes that were being tried. The
sampler's random numbers depend only on the seed and the number of the trial, so an interrupted search with one worker
gives the same result as an uninterrupted search.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from arenite.converters.quantize.search.budget import Budget
from arenite.converters.quantize.search.outcome import TrialOutcome
from arenite.errors import UsageError

_OUTCOME, _IDENTITY = "outcome", "identity"

#: The number of random trials before the sampler models the outcomes.
_RANDOM_TRIALS = 8


class Study:
    """Proposes the next recipe with Optuna and stores outcomes.

    ``choices`` has the possible values of each parameter, ``objectives`` the names of the figures to minimize,
    ``identity`` everything that identifies the search, and ``first`` the sets of parameters to try first. ``resumed``
    is the number of outcomes that the file already had.
    """

    def __init__(
        self,
        path: Path | None,
        choices: Mapping[str, Sequence[Any]],
        objectives: Sequence[str],
        budget: Budget,
        identity: Mapping[str, Any],
        seed: int,
        first: Sequence[Mapping[str, Any]],
    ) -> None:
        self._optuna = _optuna()
        self._choices, self._objectives, self._budget, self._seed = choices, objectives, budget, seed
        storage = None if path is None else _storage(self._optuna, path)
        key = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
        self._study = self._optuna.create_study(
            study_name="arenite",
            storage=storage,
            directions=["minimize"] * len(objectives),
            load_if_exists=True,
        )
        stored_key = self._study.user_attrs.get(_IDENTITY)
        if stored_key is None:
            self._study.set_user_attr(_IDENTITY, key)
        elif stored_key != key:
            raise UsageError(
                f"{path} belongs to another search: the model, the data, the board, its kernels, the budget or the "
                f"seed was different.",
                "Give another file with --study, or delete this file to start again.",
            )
        state = self._optuna.trial.TrialState
        # These trials were running when the search was interrupted. They are repeated first.
        self._interrupted = [
            t._trial_id for t in self._study.get_trials(deepcopy=False, states=(state.RUNNING,))
        ]
        self.resumed = len(self.outcomes())
        if not self._study.get_trials(deepcopy=False):
            for params in first:
                self._study.enqueue_trial(dict(params))
        self._asked: dict[int, Any] = {}

    def outcomes(self) -> list[TrialOutcome]:
        """Return the outcomes of all finished trials, in the order of their numbers."""
        state = self._optuna.trial.TrialState
        done = self._study.get_trials(deepcopy=False, states=(state.COMPLETE,))
        return [TrialOutcome.from_json(t.user_attrs[_OUTCOME]) for t in done]

    def ask(self) -> tuple[int, dict[str, Any]]:
        """Return the number and the parameters of the next trial."""
        done = len(self.outcomes()) + len(self._asked)
        self._study.sampler = self._sampler(done)
        if self._interrupted:
            trial = self._optuna.trial.Trial(self._study, self._interrupted.pop(0))
        else:
            trial = self._study.ask()
        params = {name: trial.suggest_categorical(name, list(v)) for name, v in self._choices.items()}
        self._asked[trial.number] = trial
        return trial.number, params

    def tell(self, number: int, outcome: TrialOutcome) -> None:
        """Store the outcome of the trial ``number``."""
        trial = self._asked.pop(number)
        trial.set_user_attr(_OUTCOME, outcome.to_json())
        with warnings.catch_warnings():  # Optuna warns if an interrupted call has already set the constraint
            warnings.simplefilter("ignore")
            trial.set_constraint("budget", sum(outcome.violations(self._budget)))
        if outcome.builds:
            figures = outcome.figures(self._budget)
            self._study.tell(trial, [figures[k] for k in self._objectives])
        else:  # very bad values, so that the sampler learns to avoid these parameters
            self._study.tell(trial, [1e12] * len(self._objectives))

    def _sampler(self, number: int) -> Any:
        """Return the sampler for the trial ``number``. Its random numbers depend only on this number and the seed."""
        return self._optuna.samplers.TPESampler(
            n_startup_trials=_RANDOM_TRIALS,
            multivariate=True,
            constant_liar=True,
            seed=(self._seed * 1_000_003 + number) % 2**32,
        )


def _optuna() -> Any:
    try:
        import optuna
    except ImportError as error:
        raise UsageError(
            "The package optuna is not installed.", "Install it with pip install 'arenite[search]'."
        ) from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def _storage(optuna: Any, path: Path) -> Any:
    """Return the database at ``path``. Raises ``UsageError`` for another kind of file, or a file that cannot be
    written."""
    if path.exists() and path.stat().st_size and not path.read_bytes()[:16].startswith(b"SQLite format 3"):
        raise UsageError(
            f"{path} is not a file that --study wrote.",
            "Give the name of a new file, or a file that --study wrote.",
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return optuna.storages.RDBStorage(f"sqlite:///{quote(str(path.resolve()))}")
    except Exception as error:  # SQLAlchemy's, Optuna's and the file system's errors have no common base
        raise UsageError(
            f"Cannot store the search in {path}: {str(error).splitlines()[0]}.",
            "Give a file in a folder that you may write to.",
        ) from error
