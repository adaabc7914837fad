"""``--every``: rows at irregular times."""

import numpy as np
import pandas as pd

from skscn import load_model
from skscn.datasets import EXAMPLES


def test_fit_and_predict(skscn, tmp_path):
    rows = pd.DataFrame(EXAMPLES["plant"](700, random_state=0))
    seconds = np.cumsum(np.random.default_rng(0).uniform(20, 160, len(rows)))
    rows["time"] = pd.Timestamp("2026-03-01") + pd.to_timedelta(seconds, unit="s")
    rows[:600].to_csv(tmp_path / "plant.csv", index=False)
    rows[600:].drop(columns="quality").to_csv(tmp_path / "later.csv", index=False)
    fit = ["fit", tmp_path / "plant.csv", "--target", "quality", "--time", "time", "--every", "5min", "--folds", "0"]
    done = skscn(*fit, "--set", "max_nodes=5", "--estimator", "network", "--model", tmp_path / "plant.scn")
    assert "600 rows became" in done.stderr
    assert "(5 minutes, mean)" in done.stderr
    skscn("predict", tmp_path / "plant.scn", tmp_path / "later.csv", "-o", tmp_path / "predicted.csv")
    predicted = pd.read_csv(tmp_path / "predicted.csv")
    assert list(predicted) == ["time", "prediction"]
    expected = load_model(tmp_path / "plant.scn").predict(tmp_path / "later.csv")
    np.testing.assert_allclose(predicted["prediction"], expected)
