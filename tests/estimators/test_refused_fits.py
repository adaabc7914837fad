"""A fit that is refused or interrupted leaves an estimator as it was."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from skscn import (
    DeepSCNRegressor,
    OnlineSCNClassifier,
    OnlineSCNRegressor,
    RecurrentSCNEnsembleRegressor,
    RecurrentSCNRegressor,
    SCNClassifier,
    SCNEnsembleClassifier,
    SCNEnsembleRegressor,
    SCNRegressor,
)
from skscn.series import Lags
from skscn.tables import TableEncoder

RNG = np.random.default_rng(0)
FEW = pd.DataFrame(RNG.normal(size=(60, 3)), columns=["a", "b", "c"])
MANY = pd.DataFrame(RNG.normal(size=(60, 6)), columns=list("uvwxyz"))
NUMBERS, CLASSES = FEW["a"].abs().to_numpy() + 1.0, np.where(FEW["b"] > 0.0, "yes", "no")
SMALL = {"max_nodes": 3, "random_state": 0}
RECURRENT = {**SMALL, "max_candidates": 20}
# Estimators and their targets, with targets that are refused once the number and names of columns are known.
REFUSED = {
    "network": (SCNRegressor(**SMALL), NUMBERS, np.where(NUMBERS > 2.0, np.nan, 1.0)),
    "deep": (DeepSCNRegressor(**SMALL), NUMBERS, np.where(NUMBERS > 2.0, np.inf, 1.0)),
    "classes": (SCNClassifier(**SMALL), CLASSES, np.full(60, "yes")),
    "ensemble": (SCNEnsembleRegressor(SCNRegressor(**SMALL), n_members=2), NUMBERS, np.full(60, np.nan)),
    "ensemble of classes": (SCNEnsembleClassifier(SCNClassifier(**SMALL), n_members=2), CLASSES, np.full(60, "yes")),
    "recurrent": (RecurrentSCNRegressor(**RECURRENT), NUMBERS, np.full(60, np.nan)),
    "recurrent ensemble": (RecurrentSCNEnsembleRegressor(2, **RECURRENT), NUMBERS, np.full(60, np.nan)),
    "online": (OnlineSCNRegressor(random_state=0), NUMBERS, NUMBERS[:50]),
    "online classes": (OnlineSCNClassifier(random_state=0), CLASSES, np.full(60, "yes")),
    "lags": (Lags(inputs=[1], target=[1], delay=1), NUMBERS, np.full(60, np.nan)),
}


def attributes(estimator):
    return {name: id(value) for name, value in vars(estimator).items()}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_fit_changes_nothing(name):
    estimator, y, refused = REFUSED[name]
    unfitted = attributes(estimator)
    with pytest.raises(ValueError, match=r".+"):
        estimator.fit(MANY, refused)
    assert attributes(estimator) == unfitted
    estimator.fit(FEW, y)
    fitted, use = attributes(estimator), getattr(estimator, "predict", None) or estimator.transform
    before = use(FEW)
    with pytest.raises(ValueError, match=r".+"):
        estimator.fit(MANY, refused)
    assert attributes(estimator) == fitted
    np.testing.assert_array_equal(use(FEW), before)


def test_a_refused_loss_changes_nothing():
    model = SCNRegressor(**SMALL).fit(FEW.to_numpy(), NUMBERS)
    before = model.predict(FEW.to_numpy())
    model.set_params(loss="poisson")
    with pytest.raises(ValueError, match="poisson"):
        model.fit(MANY.to_numpy(), -NUMBERS)
    np.testing.assert_array_equal(model.predict(FEW.to_numpy()), before)


@pytest.mark.parametrize("name", REFUSED)
def test_masked_values_are_refused(name):
    estimator, y, _ = REFUSED[name]
    X = FEW.to_numpy()
    with pytest.raises(ValueError, match="X is a masked array"):
        clone(estimator).fit(np.ma.masked_greater(X, 1.0), y)
    with pytest.raises(ValueError, match="y is a masked array"):
        clone(estimator).fit(X, np.ma.masked_array(y, mask=np.arange(60) == 3))


def test_masked_values_of_sequences_and_streams_are_refused():
    X, masked = FEW.to_numpy(), np.ma.masked_greater(FEW.to_numpy(), 1.0)
    model = RecurrentSCNRegressor(**RECURRENT).fit(X, NUMBERS)
    with pytest.raises(ValueError, match="X is a masked array"):
        model.predict([X, masked])
    with pytest.raises(ValueError, match="X is a masked array"):
        model.stream().predict_one(np.ma.masked_greater(X[0], X[0].min()))
    with pytest.raises(ValueError, match="y is a masked array"):
        model.stream().learn_one(X[0], np.ma.masked_all(1))
    lags = Lags(inputs=[1], target=[1], delay=1).fit(X, NUMBERS)
    with pytest.raises(ValueError, match="y is a masked array"):
        lags.transform(X, targets=np.ma.masked_greater(NUMBERS, 2.0))


def test_a_table_without_rows_leaves_an_encoder_as_it_was():
    encoder = TableEncoder().fit(FEW)
    before = attributes(encoder)
    with pytest.raises(ValueError, match="no rows"):
        encoder.fit(MANY[:0])
    assert attributes(encoder) == before


def test_an_interrupted_fit_changes_nothing(monkeypatch):
    model = SCNRegressor(**SMALL).fit(FEW, NUMBERS)
    before = attributes(model)

    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("skscn.fit.trainer.feature_importances", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(MANY, NUMBERS)
    assert attributes(model) == before


def test_members_are_updated_all_or_none(monkeypatch):
    model = RecurrentSCNEnsembleRegressor(2, **RECURRENT).fit(FEW.to_numpy(), NUMBERS)
    before, last = [member.n_rows_seen_ for member in model.members_], model.members_[-1].random_state
    learn = RecurrentSCNRegressor._learn_further

    def fail_in_the_last(member, *rows):
        if member.random_state == last:
            raise MemoryError
        return learn(member, *rows)

    monkeypatch.setattr(RecurrentSCNRegressor, "_learn_further", fail_in_the_last)
    with pytest.raises(MemoryError):
        model.partial_fit(FEW.to_numpy(), NUMBERS)
    assert [member.n_rows_seen_ for member in model.members_] == before


def test_rows_with_an_unknown_class_can_be_learnt_with_the_right_classes():
    model = OnlineSCNClassifier(random_state=0)
    with pytest.raises(ValueError, match="'yes'"):
        model.partial_fit(FEW, CLASSES, classes=["no", "maybe"])
    model.partial_fit(FEW, CLASSES, classes=["no", "yes"])
    assert model.classes_.tolist() == ["no", "yes"]


def test_parameters_of_online_models_are_validated_in_every_call():
    model = OnlineSCNRegressor(random_state=0).fit(FEW, NUMBERS)
    model.set_params(forgetting=7.0)
    with pytest.raises(ValueError, match="forgetting"):
        model.partial_fit(FEW, NUMBERS)
