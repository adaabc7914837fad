"""``skscn fit``: from a file with a table to a file with a model."""

from __future__ import annotations

import time

import typer

from skscn.cli._fit_from_disk import fit_from_disk
from skscn.cli._fit_in_memory import fit_in_memory
from skscn.cli._fit_options import FitOptions, FitSettings, read_settings
from skscn.cli._fit_summary import summarise
from skscn.cli._fitted import Fitted, save_fitted
from skscn.cli._networks import limit_reached
from skscn.cli._voice import Voice
from skscn.estimators.networks import grown_networks
from skscn.readers import TableFile
from skscn.rows.reading import default_memory_limit

# How much of the memory that fits may take the table itself may be, with its encoded copy and the basis to come.
_SHARE_OF_TABLE = 0.25


def run_fit(file: TableFile, inputs: list[str], options: FitOptions, voice: Voice) -> None:
    """Fit a model to these columns of a file, save it, test it, and report."""
    started = time.perf_counter()
    try:
        fitted = _fit(file, inputs, read_settings(options), options, voice)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("nothing had finished, so no model was written") from None
    try:
        save_fitted(fitted, options)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"{fitted.path} contains the model, without the results of its tests") from None
    voice.result(*summarise(fitted, time.perf_counter() - started, options.data))
    voice.notes(limit_reached(grown_networks(fitted.estimator)))
    if fitted.interrupted or fitted.tests_interrupted:
        holds = "what had been trained" if fitted.interrupted else "the whole model; only its tests were cut short"
        kept = f"; {options.model} is unchanged" if fitted.path != options.model else ""
        voice.note(f"Interrupted: {fitted.path} contains {holds}{kept}.")
        raise typer.Exit(130)


def _fit(file: TableFile, inputs: list[str], settings: FitSettings, options: FitOptions, voice: Voice) -> Fitted:
    voice.notes(file.notes)
    limit = default_memory_limit() if options.memory_limit is None else options.memory_limit
    if file.size <= _SHARE_OF_TABLE * limit:
        return fit_in_memory(file, inputs, settings, options, voice)
    return fit_from_disk(file, inputs, settings, options, limit, voice)
