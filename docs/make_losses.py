"""Draw the figures of docs/losses.md, and print the numbers that the page quotes. ``python docs/make_losses.py``."""

from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss, mean_pinball_loss, mean_poisson_deviance
from sklearn.model_selection import train_test_split

from skscn import SCNClassifier, SCNEnsembleRegressor, SCNRegressor
from skscn.plot.style import BLUE, GREEN, GREY, ORANGE, PURPLE

IMAGES = Path(__file__).parent / "images"
LEVELS = (0.05, 0.5, 0.95)
SEEDS = 10


def save(figure: plt.Figure, name: str) -> None:
    """Write docs/images/NAME.svg, the same bytes for the same figure."""
    with matplotlib.rc_context({"svg.hashsalt": "skscn"}):
        figure.savefig(IMAGES / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)


def curve(x: np.ndarray) -> np.ndarray:
    """The truth behind the outliers."""
    return np.sin(8 * x) * (0.4 + x)


def draw_outliers() -> None:
    """A curve, 300 points with noise of 0.1, of which about one in eight is far too high."""
    rng = np.random.default_rng(0)
    x = rng.uniform(size=300)
    y = curve(x) + rng.normal(0, 0.1, len(x))
    bad = rng.random(len(x)) < 0.15
    y[bad] += rng.uniform(1, 4, bad.sum())
    grid = np.linspace(0.01, 0.99, 400)
    colours = {"squared": BLUE, "huber": GREEN, "welsch": ORANGE, "absolute": PURPLE}
    figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
    ax.plot(x, y, ".", color=GREY, markersize=4)
    ax.plot(grid, curve(grid), color="black", linewidth=5, alpha=0.15, label="truth")
    print(f"outliers: {bad.sum()} of {len(x)} rows")
    for loss in ("squared", "huber", "welsch", "bisquare", "kde", "absolute"):
        model = SCNRegressor(loss=loss, random_state=0).fit(x[:, np.newaxis], y)
        found = model.predict(grid[:, np.newaxis])
        rmse = np.sqrt(np.mean((found - curve(grid)) ** 2))
        print(f"  {loss}: RMSE from the truth {rmse:.3f}, {model.n_nodes_} nodes")
        if loss in colours:
            ax.plot(grid, found, color=colours[loss], label=f"{loss} ({rmse:.2f})")
    ax.set(xlabel="x", ylabel="y", ylim=(-2, 4))
    ax.legend(ncols=5, loc="upper center", bbox_to_anchor=(0.5, 1.13), frameon=False)
    save(figure, "losses_outliers")


def show_clusters() -> None:
    """Wrong values that are all wrong by the same amount: 10, 20 and 30 % of 600 rows."""
    for share in (0.1, 0.2, 0.3):
        drawn = []
        for seed in range(SEEDS):
            rng = np.random.default_rng(seed)
            x = rng.uniform(size=600)
            y = curve(x) + rng.normal(0, 0.1, len(x))
            bad = rng.random(len(x)) < share
            y[bad] += 2 + rng.normal(0, 0.03, bad.sum())
            drawn.append((x[:, np.newaxis], y, curve(x), bad))
        show(f"{share:.0%} wrong by the same amount", drawn)


def show_regimes() -> None:
    """A regime that is real: y is higher by 2 if a second input is above 0.9, 0.95 or 0.97."""
    for limit in (0.9, 0.95, 0.97):
        drawn = []
        for seed in range(SEEDS):
            rng = np.random.default_rng(seed)
            x, other = rng.uniform(size=(2, 600))
            truth, rare = curve(x) + 2 * (other > limit), other > limit
            drawn.append((np.column_stack([x, other]), truth + rng.normal(0, 0.1, len(x)), truth, rare))
        show(f"regime of {1 - limit:.0%}", drawn)


def show(title: str, drawn: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]) -> None:
    """Errors on special rows and on the others, and the share of low weights; in several draws."""
    for loss in ("squared", "huber", "welsch", "bisquare", "kde"):
        errors, others, low = [], [], []
        for X, y, truth, special in drawn:
            model = SCNRegressor(loss=loss, random_state=0).fit(X, y)
            squares = (model.predict(X) - truth) ** 2
            errors.append(np.sqrt(squares[special].mean()))
            others.append(np.sqrt(squares[~special].mean()))
            low.append(np.mean(getattr(model, "row_weights_", np.ones(len(y)))[special] < 0.2))
        print(
            f"{title}, {loss}: RMSE there, median {np.median(errors):.3f}, worst {max(errors):.3f}; elsewhere "
            f"{np.median(others):.3f}, {max(others):.3f}; low weights there {np.round(low, 2).tolist()}",
            flush=True,
        )


def show_edge() -> None:
    """Quantiles next to an edge of the distribution: exponential noise."""

    def drawn(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(seed)
        x = rng.uniform(size=n_rows)
        return x[:, np.newaxis], np.sin(6 * x) + (0.1 + 0.6 * x) * rng.exponential(size=n_rows)

    (X, y), (X_test, y_test) = drawn(800, seed=0), drawn(20_000, seed=1)
    for level in LEVELS:
        model = SCNRegressor(loss="quantile", quantile=level, random_state=0).fit(X, y)
        print(f"exponential noise, quantile {level}: share below {np.mean(y_test <= model.predict(X_test)):.3f}")


def fan(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Noise that grows with x."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=n_rows)
    return x[:, np.newaxis], np.sin(6 * x) + (0.1 + 0.6 * x) * rng.normal(size=n_rows)


def draw_quantiles() -> None:
    """Three networks, and one ensemble, on 800 rows."""
    (X, y), (X_test, y_test), grid = (
        fan(800, seed=1),
        fan(20_000, seed=100),
        np.linspace(0.01, 0.99, 300)[:, np.newaxis],
    )
    networks = [SCNRegressor(loss="quantile", quantile=q, random_state=0).fit(X, y) for q in LEVELS]
    ensemble = SCNEnsembleRegressor(random_state=0).fit(X, y)
    ways = {
        'SCNRegressor(loss="quantile"), three fits': lambda rows: np.column_stack([n.predict(rows) for n in networks]),
        "SCNEnsembleRegressor.predict_quantiles": lambda rows: ensemble.predict_quantiles(rows, LEVELS),
    }
    z = 1.6449
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True, layout="constrained")
    for ax, (title, predicted) in zip(axes, ways.items(), strict=True):
        found = predicted(X_test)
        below = [f"{np.mean(y_test <= column):.3f}" for column in found.T]
        losses = [f"{mean_pinball_loss(y_test, f, alpha=q):.4f}" for f, q in zip(found.T, LEVELS, strict=True)]
        inside = np.mean((found[:, 0] <= y_test) & (y_test <= found[:, 2]))
        print(f"{title}: share below {below}, pinball {losses}, inside {inside:.3f}")
        low, middle, high = predicted(grid).T
        ax.plot(X[::3], y[::3], ".", color=GREY, markersize=3)
        ax.fill_between(grid[:, 0], low, high, color=ORANGE, alpha=0.25, linewidth=0, label="0.05 to 0.95")
        ax.plot(grid, middle, color=ORANGE, label="0.5")
        for sign in (-z, z):
            truth = np.sin(6 * grid) + sign * (0.1 + 0.6 * grid)
            ax.plot(grid, truth, "k--", linewidth=0.8, label="true quantiles" if sign > 0 else None)
        ax.set(xlabel="x", title=f"{title}\n{inside:.0%} of new rows inside")
    axes[0].set_ylabel("y")
    axes[0].legend(frameon=False, loc="lower left")
    save(figure, "losses_quantiles")


def draw_reliability() -> None:
    """Held-out rows of two made sets with one tenth of the labels changed."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    made = {"two classes": {"n_clusters_per_class": 4}, "five classes": {"n_classes": 5, "n_redundant": 4}}
    for ax, (title, options) in zip(axes, made.items(), strict=True):
        X, y = make_classification(22_000, 20, n_informative=8, flip_y=0.1, random_state=0, **options)
        X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=1500, random_state=0)
        ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.8)
        for loss, colour in {"squared": BLUE, "log_loss": ORANGE}.items():
            model = SCNClassifier(loss=loss, random_state=0).fit(X_train, y_train)
            probabilities = model.predict_proba(X_test)
            value = log_loss(y_test, probabilities)
            right = model.predict(X_test) == y_test
            sure = probabilities.max(axis=1)
            print(
                f"{title}, {loss}: log loss {value:.3f}, accuracy {right.mean():.3f}, mean confidence {sure.mean():.3f}"
            )
            share, mean = calibration_curve(right, sure, n_bins=10, strategy="quantile")
            ax.plot(mean, share, "o-", color=colour, markersize=4, label=f"{loss}, log loss {value:.3f}")
        low = 0.95 * sure.min()
        ax.set(
            title=title, xlabel="probability of the predicted class", xlim=(low, 1.01), ylim=(low, 1.01), aspect="equal"
        )
        ax.legend(frameon=False)
    axes[0].set_ylabel("share predicted correctly")
    save(figure, "losses_reliability")


def counted(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Counts, and their rates."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=n_rows)
    rate = np.exp(1.8 * np.sin(7 * x) + 0.3)
    return x[:, np.newaxis], rng.poisson(rate).astype(float), rate


def draw_counts() -> None:
    """Rates between 0.2 and 8, from 400 counts."""
    (X, y, _), (X_test, _, rates) = counted(400, seed=0), counted(20_000, seed=1)
    order = np.argsort(X_test[:, 0])[::40]
    figure, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
    ax.plot(X, y, ".", color=GREY, markersize=4, label="counts")
    ax.plot(X_test[order], rates[order], color="black", linewidth=5, alpha=0.15, label="true rate")
    for loss, colour in {"squared": BLUE, "poisson": ORANGE}.items():
        found = SCNRegressor(loss=loss, random_state=0).fit(X, y).predict(X_test)
        rmse, deviance = np.sqrt(np.mean((found - rates) ** 2)), mean_poisson_deviance(rates, np.maximum(found, 1e-3))
        print(f"{loss}: RMSE from the rate {rmse:.3f}, deviance {deviance:.3f}, not positive {np.mean(found <= 0):.1%}")
        ax.plot(X_test[order], found[order], color=colour, label=loss)
    ax.axhline(0, color=GREY, linewidth=0.8)
    ax.set(xlabel="x", ylabel="count")
    ax.legend(frameon=False)
    save(figure, "losses_counts")


if __name__ == "__main__":
    draw_outliers()
    draw_quantiles()
    draw_reliability()
    draw_counts()
    show_clusters()
    show_regimes()
    show_edge()
