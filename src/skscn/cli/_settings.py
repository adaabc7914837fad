"""``--set name=value``: parameters by their names."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

import typer

from skscn.words import not_found

# Parameters that have an option of their own, or no use here.
_ELSEWHERE = {
    "random_state": "use --seed",
    "n_jobs": "use --jobs",
    "verbose": "use --quiet to hide progress",
    "estimator": "use --estimator",
    "loss": "use --loss",
    "quantile": "use --quantile",
    "feedback": "use --feedback",
    "warm_start": "fit always trains a new model",
}
_WORDS = {"true": True, "false": False, "none": None}


def parse_settings(texts: Iterable[str], known: Iterable[str]) -> dict[str, Any]:
    """The values of "name=value" arguments, by name; unknown names are wrong usage."""
    names = sorted(set(known) - set(_ELSEWHERE))
    settings = {}
    for text in texts:
        name, sign, value = (part.strip() for part in text.partition("="))
        if not sign:
            raise _wrong(f"needs name=value, for example max_nodes=200; got {text!r}.")
        if name in _ELSEWHERE:
            raise _wrong(f"{name} cannot be set here; {_ELSEWHERE[name]}.")
        if name not in names:
            raise _wrong(not_found("parameter", name, names))
        settings[name] = _value(value)
    return settings


def _wrong(sentence: str) -> typer.BadParameter:
    return typer.BadParameter(sentence, param_hint="--set")


def _value(text: str) -> Any:
    """A Python literal, or the text itself."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
