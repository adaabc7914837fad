"""Draw the first figure of the README: a table, a plant, the paper. ``python docs/make_overview.py``."""

from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.pipeline import make_pipeline

from skscn import SCNEnsembleRegressor, SCNRegressor
from skscn.datasets import make_db1, make_flats, make_plant
from skscn.plot import FitDisplay, PredictionErrorDisplay, SeriesDisplay
from skscn.series import Lags
from skscn.tables import TableEncoder

TITLES = "A table: rents of new flats", "A plant: the next hours", "The paper: SC-III on its first data set"
IMAGE = Path(__file__).parent / "images" / "overview.png"


def draw_table(ax: plt.Axes) -> None:
    """Rents of 200 flats that the model has not seen, with intervals."""
    flats = pd.DataFrame(make_flats(1000, random_state=0))
    X, y = flats.drop(columns="rent"), flats["rent"]
    model = SCNEnsembleRegressor(random_state=0).fit(X[:800], y[:800])
    PredictionErrorDisplay.from_estimator(model, X[800:], y[800:].to_numpy(), coverage=0.9, ax=ax)
    ax.set(xlabel="predicted rent", ylabel="rent")


def draw_plant(ax: plt.Axes) -> None:
    """Half a day after the training rows; the search for lags has found what the product depends on."""
    plant = pd.DataFrame(make_plant(3144, random_state=0))
    X, y = plant.drop(columns="quality"), plant["quality"].to_numpy()
    ensemble = SCNEnsembleRegressor(validation="last", random_state=0)
    model = make_pipeline(TableEncoder(time="time"), Lags(), ensemble).fit(X[:3000], y[:3000])
    new, times = model[:-1].transform(X[3000:]), plant["time"][3000:]
    SeriesDisplay.from_estimator(model[-1], new, y[3000:], times=times.to_numpy(), coverage=0.9, ax=ax)
    ax.set(ylabel="quality")


def draw_paper(ax: plt.Axes) -> None:
    """Figure 3 of the paper, last panel."""
    db1 = make_db1(random_state=0)
    model = SCNRegressor(configuration="ladder", scopes=(100, 150, 200), max_nodes=50, random_state=0)
    FitDisplay.from_estimator(model.fit(db1.data, db1.target), db1.test_data, db1.test_target, ax=ax)
    ax.set(xlabel="x", ylabel="f(x)")


if __name__ == "__main__":
    figure, axes = plt.subplots(1, 3, figsize=(13.5, 4.2), layout="constrained")
    for title, draw, ax in zip(TITLES, (draw_table, draw_plant, draw_paper), axes, strict=True):
        draw(ax)
        # Above the legend of the second one.
        ax.set_title(title, pad=22)
    figure.savefig(IMAGE, dpi=90)
