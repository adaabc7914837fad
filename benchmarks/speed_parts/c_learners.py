"""Part c: defaults against scikit-learn's neural network and boosting, at equal test error."""

import warnings
from collections.abc import Iterator
from functools import lru_cache, partial

import numpy as np

from skscn import SCNRegressor
from speed_parts.fits import make_data, timed
from speed_parts.results import Cell, Part, ResultStore
from speed_parts.sizes import Sizes
from speed_parts.writing import COLOURS, Table, seconds_text, times_text

DEFAULT_ITERATIONS = {"MLP": 200, "boosting": 100}
SYNTHETIC = ("sines", "friedman")


def table_names(sizes: Sizes) -> list[str]:
    return [*(f"{name}, {sizes.table_rows} rows" for name in SYNTHETIC), "diabetes"]


@lru_cache(maxsize=1)
def table_split(case: str, rows: int) -> list[np.ndarray]:
    """Training X, test X, training y, test y of one set."""
    from sklearn.datasets import load_diabetes, make_friedman1
    from sklearn.model_selection import train_test_split

    if case.startswith("sines"):
        X, y = make_data(rows, 10)
    elif case.startswith("friedman"):
        X, y = make_friedman1(rows, noise=1.0, random_state=0)
    else:
        X, y = load_diabetes(return_X_y=True)
    return train_test_split(X, y, random_state=0)


def learner(name: str, iterations: int | None):
    """A learner as it comes, but for its iterations; the neural network with inputs and targets standardised."""
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.neural_network import MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if name == "SCN":
        return SCNRegressor(random_state=0)
    if name == "boosting":
        return HistGradientBoostingRegressor(max_iter=iterations, random_state=0)
    scaled = make_pipeline(StandardScaler(), MLPRegressor(max_iter=iterations, random_state=0))
    return TransformedTargetRegressor(scaled, transformer=StandardScaler())


def learner_cells(sizes: Sizes) -> Iterator[Cell]:
    for case in table_names(sizes):
        for turn in range(sizes.fit_turns):
            yield Cell(("c", case, "SCN", turn), partial(measure_learner, case, sizes.table_rows, "SCN", None))
            for name, counts in sizes.iterations.items():
                for count in counts:
                    measure = partial(measure_learner, case, sizes.table_rows, name, count)
                    yield Cell(("c", case, f"{name} {count}", turn), measure)


def measure_learner(case: str, rows: int, name: str, iterations: int | None) -> dict:
    from sklearn.exceptions import ConvergenceWarning

    X, X_test, y, y_test = table_split(case, rows)
    model = learner(name, iterations)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = timed(lambda: model.fit(X, y))
    # That few iterations were not enough is a part of the result.
    stopped = [issubclass(warning.category, ConvergenceWarning) for warning in caught]
    for warning, is_stop in zip(caught, stopped, strict=True):
        if not is_stop:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    rmse = float(np.sqrt(np.mean((model.predict(X_test) - y_test) ** 2)))
    return result | {"rmse": rmse, "converged": not any(stopped)}


def learner_tables(store: ResultStore, sizes: Sizes) -> list[Table]:
    rows = []
    for case in table_names(sizes):
        error = store.median("c", case, "SCN", "rmse")
        for name in ("SCN", *sizes.iterations):
            method = name if name == "SCN" else f"{name} {DEFAULT_ITERATIONS[name]}"
            reached = (
                seconds_text(store.median("c", case, method))
                if name == "SCN"
                else reached_text(store, case, name, sizes.iterations[name])
            )
            rows.append(
                [
                    f"{case}: {name}",
                    seconds_text(store.median("c", case, method)),
                    times_text(store.ratio("c", case, method, "SCN")),
                    f"{store.median('c', case, method, 'rmse') / error:.3f}",
                    reached,
                ]
            )
    return [
        Table(
            "Defaults, processor time on one thread",
            ["set: learner", "fit", "times our time", "times our test RMSE", "time to our test RMSE"],
            rows,
            "The last column is the time of the shortest fit whose test error is not above ours, over these numbers of "
            "iterations: "
            + "; ".join(f"{name} {', '.join(map(str, counts))}" for name, counts in sizes.iterations.items())
            + ". For the neural network, inputs and targets are standardised.",
        )
    ]


def reached_text(store: ResultStore, case: str, name: str, counts: tuple[int, ...]) -> str:
    """The shortest fit of a learner that is as good as ours."""
    error = store.median("c", case, "SCN", "rmse")
    good = [
        (store.median("c", case, f"{name} {count}"), count)
        for count in counts
        if store.median("c", case, f"{name} {count}", "rmse") <= error
    ]
    if not good:
        return "not reached"
    seconds, count = min(good)
    return f"{seconds_text(seconds)} ({count} iterations)"


def draw_learners(store: ResultStore, sizes: Sizes):
    """Test error against fit time, both in units of ours, one panel a set."""
    from matplotlib.figure import Figure

    cases = table_names(sizes)
    figure = Figure(figsize=(4 * len(cases), 3.8), layout="constrained")
    axes = figure.subplots(1, len(cases))
    for ax, case in zip(axes, cases, strict=True):
        ax.axhline(1.0, color=COLOURS["SCN"], linewidth=1, linestyle=":")
        for name in ("SCN", *sizes.iterations):
            methods = ["SCN"] if name == "SCN" else [f"{name} {count}" for count in sizes.iterations[name]]
            times, errors = (
                [store.ratio("c", case, method, "SCN", what) for method in methods] for what in ("cpu", "rmse")
            )
            style = {"marker": "*", "markersize": 14, "linestyle": ""} if name == "SCN" else {"marker": "o"}
            ax.plot(times, errors, label=name, color=COLOURS[name], **style)
        ax.set(title=case, xlabel="times our fit time", xscale="log")
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        ax.grid(alpha=0.25)
    axes[0].set_ylabel("times our test RMSE")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center", frameon=False)
    return figure


PART = Part("Other learners", learner_cells, learner_tables, draw_learners)
