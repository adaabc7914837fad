import re
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from skscn import (
    DeepSCNRegressor,
    IRVFLRegressor,
    ModifiedQuickpropRegressor,
    SCNClassifier,
    SCNEnsembleClassifier,
    SCNEnsembleRegressor,
    SCNRegressor,
    save_model,
)
from skscn.report import write_report
from skscn.tables import TableEncoder
from skscn.words import number

HOSTILE = "<script>alert('x')</script> & \"quotes\" $\\frac{1}$ {{ 7 * 6 }} 名前"
FEW = {"max_nodes": 3, "early_stopping": True, "validation_fraction": 0.2, "random_state": 0}
REGRESSORS = [
    SCNRegressor(**FEW),
    IRVFLRegressor(max_nodes=3, random_state=0),
    ModifiedQuickpropRegressor(max_nodes=3, max_iter=20, random_state=0),
    SCNEnsembleRegressor(SCNRegressor(**FEW), n_members=2, random_state=0),
]
CLASSIFIERS = [SCNClassifier(**FEW), SCNEnsembleClassifier(SCNClassifier(**FEW), n_members=2, random_state=0)]


def name(estimator):
    return type(estimator).__name__


@pytest.mark.slow
@pytest.mark.parametrize("estimator", REGRESSORS, ids=name)
def test_every_regressor(estimator, diabetes, report):
    X, y = diabetes
    page = report(estimator.fit(X[:200], y[:200]), X[200:], y[200:])
    assert f"predictions of {y.name} are off by" in page.text
    assert "Always predicting the mean would be off by" in page.text
    assert ("Prediction intervals" in page.text) == hasattr(estimator, "predict_interval")
    assert "Confusion matrix" not in page.text
    for column in X:
        assert column in page.text


def test_an_ensemble_without_out_of_bag_rows_has_no_intervals(diabetes, report):
    X, y = diabetes
    member = SCNRegressor(max_nodes=2, early_stopping=False)
    text = report(SCNEnsembleRegressor(member, n_members=2, random_state=0).fit(X, y), X, y).text
    assert "Members 2" in text
    assert "rediction intervals hold" not in text
    assert "had not seen" not in text


@pytest.mark.slow
@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=name)
@pytest.mark.parametrize("count", [2, 3])
def test_every_classifier(estimator, count, blobs, report):
    X, y = blobs[0][: 60 * count], np.array(["ant", "bee", "cat"])[blobs[1]][: 60 * count]
    page = report(estimator.fit(X, y), X, y)
    assert f"Always predicting ant, the most frequent of {count} classes" in page.text
    for heading in ("Confusion matrix", "Precision", "Reliability"):
        assert heading in page.text
    assert "Residual" not in page.text


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [REGRESSORS[0], REGRESSORS[-1]], ids=name)
def test_several_outputs_each_have_their_errors(estimator, diabetes, report):
    X, y = diabetes
    Y = pd.DataFrame({"sugar": y, "flat": 0.0 * y + 0.1, "bmi": X["bmi"]})
    page = report(estimator.fit(X, Y), X, Y)
    for output in Y:
        assert f"Errors of {output}, with" in page.text
    assert "It is best for bmi (100" in page.text


def test_one_output_as_a_column(diabetes, report):
    X, y = diabetes
    page = report(IRVFLRegressor(max_nodes=2, random_state=0).fit(X, y.to_frame()), X, y.to_frame())
    assert "predictions of target are off by" in page.text


def test_names_are_text_and_nothing_else(diabetes, blobs, report):
    X, y = diabetes
    names = [f"{HOSTILE} {j}" for j in range(X.shape[1])]
    model = SCNRegressor(max_nodes=3, random_state=0).fit(X.to_numpy(), y)
    regression = report(
        model,
        X.to_numpy(),
        y.rename(HOSTILE),
        feature_names=names,
        groups={HOSTILE: [0, 1]},
        title=HOSTILE,
        model_path=HOSTILE,
        data_name=HOSTILE,
    )
    labels = np.array([HOSTILE, "<img src=x onerror=alert(1)>", "</style><b>"])[blobs[1]]
    classification = report(SCNClassifier(max_nodes=3, random_state=0).fit(blobs[0], labels), blobs[0], labels)
    for page in (regression, classification):
        assert not {tag for tag, _ in page.elements} & {"script", "img", "b"}
        assert "alert('x')" in page.text
        assert "{{ 7 * 6 }}" in page.text
        assert "名前" in page.text


def test_nothing_is_fetched(page):
    for _, attributes in page.elements:
        for attribute in ("src", "href", "xlink:href"):
            link = attributes.get(attribute) or "#"
            assert link.startswith(("#", "data:"))
    assert "url(http" not in page.source
    assert "@import" not in page.source


def test_every_picture_says_what_is_seen_and_every_table_has_headings(page):
    pictures = [svg for svg in page.all("svg") if svg.get("aria-hidden") != "true"]
    assert len(pictures) == 9
    for svg in pictures:
        assert svg["role"] == "img"
        assert any(character.isdigit() for character in svg["aria-label"])
    assert page.all("html") == [{"lang": "en"}]
    assert all("scope" in th for th in page.all("th"))


def test_headings_are_in_order(page):
    levels = [int(tag[1]) for tag, _ in page.elements if tag in ("h1", "h2", "h3", "h4")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert max(np.diff(levels)) == 1


def test_changed_parameters_are_marked(page):
    assert "max_nodes 8 changed from 'auto'" in page.text
    assert "early_stopping True changed from 'auto'" in page.text
    assert "random_state 0 changed from None" in page.text
    assert page.text.count("changed from") == 3


def test_how_to_use_the_model(page):
    assert "load_model('my models/a.scn')" in page.text
    assert "skscn predict 'my models/a.scn' 'new rows.csv' -o predictions.csv" in page.text
    assert "skscn export 'my models/a.scn' 'my models/a.onnx'" in page.text


@pytest.fixture(scope="module")
def orders():
    """A table of all kinds of columns, with missing values, and how long orders took."""
    rng = np.random.default_rng(0)
    n = 260
    minutes = rng.integers(0, 300 * 1440, n)
    table = pd.DataFrame(
        {
            "ordered at": pd.Timestamp("2025-01-01") + pd.to_timedelta(minutes, "min"),
            "city": rng.choice(["Brno", "Praha"], n),
            "km": np.where(rng.random(n) < 0.1, np.nan, rng.uniform(1.0, 9.0, n).round(2)),
            "express": rng.random(n) < 0.5,
        }
    )
    table["minutes"] = 3.0 * table["km"].fillna(5.0) + 5.0 * (table["city"] == "Praha") + rng.normal(size=n)
    return table


@pytest.fixture(scope="module")
def of_orders(orders):
    """A pipeline as ``skscn fit`` makes them."""
    member = SCNRegressor(max_nodes=6, early_stopping=True, validation_fraction=0.2)
    ensemble = SCNEnsembleRegressor(member, n_members=3, random_state=0)
    return make_pipeline(TableEncoder(), ensemble).fit(orders.drop(columns="minutes"), orders["minutes"])


@pytest.fixture(scope="module")
def orders_page(of_orders, orders, report):
    X = of_orders[0].transform(orders)
    y = orders["minutes"].to_numpy()
    return report(of_orders[-1], X, y, encoder=of_orders[0], target_name="minutes", data_name="orders.csv")


def run_printed(page, folder, monkeypatch):
    """What the code on a page computes."""
    (code,) = [text for text in page.words if text.startswith(("from skscn import load", "import pandas"))]
    monkeypatch.chdir(folder)
    found = {}
    exec(code, found)
    return found


def test_the_printed_code_runs_on_a_table(of_orders, orders, orders_page, tmp_path, monkeypatch):
    save_model(of_orders, tmp_path / "model.scn")
    orders.to_csv(tmp_path / "orders.csv", index=False)
    found = run_printed(orders_page, tmp_path, monkeypatch)
    np.testing.assert_allclose(found["predictions"], of_orders.predict(orders))
    assert (found["lower"] < found["upper"]).all()


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [REGRESSORS[-1], CLASSIFIERS[0]], ids=name)
@pytest.mark.parametrize("named", [True, False])
def test_the_printed_code_runs_on_rows(estimator, named, diabetes, report, tmp_path, monkeypatch):
    X, y = diabetes[0][:200], diabetes[1][:200]
    y = (y > y.median()).rename("ill") if isinstance(estimator, SCNClassifier) else y
    rows = X if named else X.to_numpy()
    model = clone(estimator).fit(rows, y)
    page = report(model, rows, y, feature_names=list(X), data_name="rows.csv")
    save_model(model, tmp_path / "model.scn")
    X.assign(target=y).to_csv(tmp_path / "rows.csv", index=False)
    found = run_printed(page, tmp_path, monkeypatch)
    np.testing.assert_array_equal(found["predictions"], model.predict(rows))
    assert ("probabilities" in found) == isinstance(estimator, SCNClassifier)


def test_the_growth_speaks_of_the_nodes_that_were_kept(report):
    rng = np.random.default_rng(0)
    X = rng.uniform(-3.0, 3.0, (150, 2))
    y = np.sin(2.0 * X[:, 0]) + rng.normal(0.0, 0.5, 150)
    settings = {"early_stopping": True, "n_iter_no_change": 8, "alpha": 0.0}
    network = SCNRegressor(max_nodes=30, random_state=2, **settings).fit(X, y)
    history, kept = network.history_, network.history_["nodes"] <= network.n_nodes_
    assert 0 < kept.sum() < len(history)
    page = report(network, X, y)
    last = history[kept][-1]
    assert f"to {number(last['train_rmse'])} with {network.n_nodes_} nodes" in page.text
    assert f"The error on held-out rows is then {number(last['validation_rmse'])}." in page.text
    low, high = history["scope"][kept].min(), history["scope"][kept].max()
    assert f"range from {number(low)} to {number(high)};" in page.text
    assert page.text.count("tried but not kept.") == 2
    assert f"Nodes tried and not kept {history['nodes'][-1] - network.n_nodes_} " in page.text


def test_the_data_are_the_columns_of_the_table(orders_page, orders):
    text = orders_page.text.split("The data")[2].split("How to use it")[0]
    first, last = (f"{moment:%Y-%m-%d}" for moment in (orders["ordered at"].min(), orders["ordered at"].max()))
    assert f"ordered at date – {first} " in text
    assert f" {last} " in text
    assert f"km number {orders['km'].isna().sum()} {orders['km'].min():.2f} {orders['km'].median():.2f} " in text
    assert "city category – 2 categories, most often" in text
    assert "express boolean – true in" in text
    for part in ("sine", "is missing", "city ="):
        assert part not in orders_page.text


def test_dependences_have_one_scale(orders_page):
    """The pictures of a number and of a date have the same numbers at their sides."""
    shown = orders_page.source.split("with the most important inputs")[1].split("How it grew")[0]
    scales = [re.findall(r"text-anchor: end[^>]*>([^<]+)<", picture) for picture in shown.split("<svg")[1:]]
    assert len(scales) == 2
    assert len(scales[0]) >= 3
    assert scales[0] == scales[1]


def test_the_target_has_its_name(orders_page):
    assert "predictions of minutes are off by" in orders_page.text
    assert "the target" not in orders_page.text


def test_columns_of_one_input_are_shuffled_and_set_together(report):
    rng = np.random.default_rng(0)
    colour = rng.integers(3, size=400)
    X = np.column_stack([np.eye(3)[colour], rng.normal(size=400)])
    y = np.array([1.0, 5.0, 9.0])[colour] + 0.1 * X[:, 3]
    names = ["red", "green", "blue", "noise"]
    model = SCNRegressor(max_nodes=10, random_state=0).fit(X, y)
    page = report(model, X, y, feature_names=names, groups={"colour": [0, 1, 2]})
    assert "The most important inputs are colour and noise." in page.text
    assert "colour Mean prediction for each category" in page.text
    assert [f"{v:.0f}" for v in map(float, page.text.split("the target red ")[1].split()[:5:2])] == ["1", "5", "9"]
    assert "colour 3 categories, most often" in page.text


def test_rows_may_come_as_a_frame_or_as_an_array_with_names(page, network, diabetes, report):
    X, y = diabetes
    paths = {"model_path": "my models/a.scn", "data_name": "new rows.csv"}
    of_array = report(network, X.to_numpy(), y, feature_names=list(X), **paths)
    assert of_array.text.split("In short")[1] == page.text.split("In short")[1]
    with pytest.raises(ValueError, match="feature names should match"):
        report(network, X.rename(columns={"bp": "pressure"}), y)


def test_a_model_that_is_no_better_than_the_mean(report):
    rng = np.random.default_rng(0)
    model = SCNRegressor(max_nodes=3, early_stopping=False, random_state=0)
    model.fit(rng.normal(size=(50, 2)), rng.normal(size=50))
    text = report(model, rng.normal(size=(50, 2)), rng.normal(size=50)).text
    assert "the model is worse than that; its error is" in text
    assert "a value below 0 means that squared errors are larger" in text
    assert "no better" not in text
    assert "of the variance." not in text


def test_classes_that_are_predicted_worse_than_by_the_most_frequent_one(blobs, report):
    X, y = blobs
    model = SCNClassifier(max_nodes=3, random_state=0).fit(X, y)
    text = report(model, X, (y + 1) % 3).text
    assert "would be correct in 33 % of cases: the model is worse than that." in text.replace("\N{NO-BREAK SPACE}", " ")


@pytest.fixture(scope="module")
def drifting():
    """A process that leaves what it was in training: rows of two columns, targets, times."""
    rng = np.random.default_rng(0)
    time = np.arange(600)
    flow, level = np.sin(time / 15.0) + 0.1 * rng.normal(size=600), rng.normal(size=600)
    y = flow**2 + 0.1 * level + np.where(time > 400, (time - 400) / 40.0, 0.0)
    table = pd.DataFrame({"flow": flow, "level": np.where(time > 400, 1000.0 * level, level)})
    return table, y, np.datetime64("2025-01-01T00:00") + 5 * time.astype("timedelta64[m]")


@pytest.fixture(scope="module")
def drifting_page(drifting, report):
    table, y, times = drifting
    encoder = TableEncoder().fit(table[:400])
    X = encoder.transform(table)
    member = SCNRegressor(max_nodes=10, early_stopping=True)
    model = SCNEnsembleRegressor(member, n_members=4, random_state=0).fit(X[:400], y[:400])
    assert model.oob_score_ > 0.8
    order = np.random.default_rng(1).permutation(np.arange(400, 600))
    return report(model, X[order], y[order], encoder=encoder, times=times[order], seen=0.0)


def test_an_estimate_from_training_that_is_not_confirmed_is_remarked_upon(drifting_page):
    assert "Not confirmed: when the model was fitted, its tests gave R² " in drifting_page.text
    assert "but on these rows it is -" in drifting_page.text
    assert "The model was not trained on these rows. The out-of-bag estimate" in drifting_page.text


def test_an_estimate_from_later_rows_is_not_blamed_on_neighbours(drifting, drifting_page, report):
    table, y, times = drifting
    X, y = table[["flow"]].to_numpy(), np.where(np.arange(600) == 599, 100.0, y)
    member = SCNRegressor(max_nodes=10)
    model = SCNEnsembleRegressor(member, n_members=2, validation="last", random_state=0).fit(X[:400], y[:400])
    text = report(model, X[400:], y[400:], times=times[400:], seen=0.0).text
    assert "Not confirmed" in text
    assert "neighbouring training rows are similar" not in text
    assert "neighbouring training rows are similar" in drifting_page.text
    assert "1 true value far from all others is outside the plot" in text


def test_inputs_outside_the_training_range_are_shown(drifting_page):
    assert "so the model extrapolates: level (" in drifting_page.text
    assert "level Is the unit the same?" in drifting_page.text
    assert {"href": "#ranges"} in drifting_page.all("a")
    assert [h3 for h3 in drifting_page.all("h3") if h3.get("id") == "ranges"]


def test_targets_and_predictions_are_shown_over_time(drifting_page, page):
    assert "200 rows from 2025-01-02 09:20 to 2025-01-03 01:55." in drifting_page.text
    assert re.search(
        r"residual is [\d.]+ in the first, [\d.]+ in the middle and [\d.]+ in the last third", drifting_page.text
    )
    assert "The blue band is the 90" in drifting_page.text
    assert "over time" not in page.text


@pytest.mark.parametrize("times", [np.arange(442), np.full(3, np.datetime64("2025-01-01"))])
def test_times_that_do_not_fit_are_refused(network, diabetes, report, times):
    with pytest.raises(ValueError, match="times must be datetime64, one for each of the 442 rows"):
        report(network, *diabetes, times=times)


def test_rows_without_any_time_are_not_shown_over_time(network, diabetes, report):
    nowhen = np.full(len(diabetes[1]), np.datetime64("NaT", "s"))
    assert "over time" not in report(network, *diabetes, times=nowhen).text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seen", "words"),
    [
        (None, "If the model was trained on these rows, expect larger errors"),
        (0.0, "The model was not trained on these rows."),
        (0.4, "The model was trained on about 40 % of these rows: expect larger errors"),
        (1.0, "The model was trained on these rows: expect larger errors"),
    ],
)
def test_rows_of_training(network, diabetes, report, seen, words):
    text = report(network, *diabetes, seen=seen).text
    assert words in text
    assert "In training, its RMSE on held-out rows was" in text
    assert "Not confirmed" not in text


def test_a_page_as_people_write(page, orders_page, report, blobs):
    X, y = blobs
    classes = report(SCNClassifier(max_nodes=2, random_state=0).fit(X, y), X, y)
    assert "F1 is the harmonic mean of the two." in classes.text
    for text in (page.text, orders_page.text, classes.text):
        assert "Feature importance" in text
        for odd in ("goes by", "What matters most", "asked for", "judged on", "beside", "without a model"):
            assert odd not in text


def test_a_constant_target_and_a_network_without_nodes(report):
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = SCNRegressor(random_state=0).fit(X, X[:, 0])
    assert model.n_nodes_ == 0
    assert "linear part alone" in report(model, X, np.full(30, 0.1)).text


def test_classes_that_the_model_does_not_know(blobs, report):
    X, y = blobs
    model = SCNClassifier(max_nodes=3, random_state=0).fit(X[y < 2], y[y < 2])
    assert "of 3 classes" in report(model, X, y).text
    with pytest.raises(ValueError, match=r"None of the classes in y \('a'\)"):
        report(model, X, np.full(len(y), "a"))


def test_sparse_rows_and_many_rows_are_sampled(report):
    dense = np.maximum(np.random.default_rng(0).normal(size=(1500, 4)), 0.0)
    X, y = sparse.csr_array(dense), dense.sum(axis=1)
    page = report(SCNRegressor(max_nodes=3, random_state=0).fit(X, y), X, y)
    assert "a random sample of 1,000 rows" in page.text
    assert "On 1,500 rows" in page.text


def test_the_same_twice(page, network, diabetes, report):
    again = report(network, *diabetes, model_path="my models/a.scn", data_name="new rows.csv")
    assert again.source.split("<main>")[1] == page.source.split("<main>")[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"feature_names": ["a"]}, "3 columns and 1 feature_names"),
        ({"groups": {"a": [0, 3]}}, "numbers of the 3 columns"),
        ({"groups": {"a": [0, 1], "b": [1]}}, "each at most once"),
    ],
)
def test_what_does_not_fit_is_refused(network, diabetes, report, arguments, message):
    with pytest.raises(ValueError, match=message):
        report(network, *diabetes, **arguments)


def test_rows_are_checked(network, diabetes, report):
    X, y = diabetes
    with pytest.raises(ValueError, match="at least two rows"):
        report(network, X[:1], y[:1])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        report(network, X, y[:5])
    with pytest.raises(ValueError, match="predicts 1 outputs; y has 2"):
        report(network, X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="series is for table models"):
        report(network, X, y, series="a")
    with pytest.raises(TypeError, match="LinearRegression has no growth history"):
        report(LinearRegression().fit(X, y), X, y)


@pytest.mark.parametrize("package", ["jinja2", "matplotlib"])
def test_a_missing_package_is_asked_for(network, diabetes, tmp_path, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf'^A report needs {package}: pip install "scikit-scn\[plot\]"'):
        write_report(network, *diabetes, tmp_path / "report.html")


def test_the_sizes_of_layers_are_facts(report):
    X = np.random.default_rng(0).uniform(size=(150, 2))
    settings = {"max_nodes": 9, "nodes_per_layer": 5, "max_layers": 2, "early_stopping": False, "random_state": 0}
    assert "Layers 2, of 5, 4 nodes" in report(DeepSCNRegressor(**settings).fit(X, X[:, 0] * X[:, 1]), X, X[:, 0]).text
