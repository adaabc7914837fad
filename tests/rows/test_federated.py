"""Rows that stay at their sites: the network of all rows, from sums that nobody can read one by one."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from skscn import Activation, SCNClassifier, SCNRegressor
from skscn.rows import Site, Sites
from skscn.rows.federated import masked, packed, unmasked, unpacked
from skscn.scaling import ArrayStatistics

LADDER = {"configuration": "ladder", "max_nodes": 12, "random_state": 0}
NAMES, CUTS = ("A", "B", "C"), (0, 70, 150, 400)
# A site in a process of its own, which gets requests and sends answers, each after its length.
PROCESS = """
import sys
import numpy as np
from skscn.rows import Site
rows = np.load(sys.argv[2])
site = Site(sys.argv[1], rows[:, :-1], rows[:, -1])
while length := sys.stdin.buffer.read(8):
    answer = site.answer(sys.stdin.buffer.read(int.from_bytes(length, "big")))
    sys.stdout.buffer.write(len(answer).to_bytes(8, "big") + answer)
    sys.stdout.buffer.flush()
"""


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    X = rng.uniform(-2.0, 5.0, size=(CUTS[-1], 3))
    return X, np.sin(2.0 * X[:, 0]) * X[:, 1] + 0.1 * rng.normal(size=len(X))


def plants_of(X, y, names=NAMES):
    return [Site(name, X[a:b], y[a:b]) for name, a, b in zip(names, CUTS, CUTS[1:], strict=False)]


def in_this_process(plants):
    return Sites(lambda request: [plant.answer(request) for plant in plants])


class Processes:
    """Sites in processes, one of which is killed before its answer arrives, and started again."""

    def __init__(self, folder, X, y, dies):
        self.folder, self.dies, self.running, self.asked, self.starts = folder, dies, {}, 0, 0
        for name, a, b in zip(NAMES, CUTS, CUTS[1:], strict=False):
            np.save(folder / f"{name}.npy", np.column_stack([X, y])[a:b])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.running.values():
            process.communicate()

    def ask(self, request):
        for name in NAMES:
            if name not in self.running:
                command = [sys.executable, "-c", PROCESS, name, str(self.folder / f"{name}.npy")]
                self.running[name] = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                self.starts += 1
        self.asked += 1
        for process in self.running.values():
            process.stdin.write(len(request).to_bytes(8, "big") + request)
            process.stdin.flush()
        answers = {name: self._read(process.stdout) for name, process in self.running.items()}
        if self.asked == self.dies:
            # The others have done what they were asked for; its answer never arrives.
            process = self.running.pop("B")
            process.kill()
            process.communicate()
            raise ConnectionError
        return list(answers.values())

    @staticmethod
    def _read(stream):
        return stream.read(int.from_bytes(stream.read(8), "big"))


def assert_same(network, pooled, rtol=0.0):
    """The same nodes, and output weights up to rounding."""
    np.testing.assert_allclose(network.nodes.weights, pooled.nodes.weights, rtol=rtol)
    np.testing.assert_allclose(network.nodes.biases, pooled.nodes.biases, rtol=rtol)
    for own, others in zip(network.layers, pooled.layers, strict=True):
        np.testing.assert_allclose(own.output_weights, others.output_weights, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("dies", [70, 75])
def test_three_processes_of_which_one_dies_give_the_network_of_all_rows(rows, tmp_path, dies):
    pooled = SCNRegressor(**LADDER).fit(*rows)
    with Processes(tmp_path, *rows, dies) as processes:
        model = SCNRegressor(**LADDER).fit(Sites(processes.ask))
    assert processes.starts == 4
    assert processes.asked > dies + 10
    assert_same(model.network_, pooled.network_)
    np.testing.assert_allclose(model.predict(rows[0]), pooled.predict(rows[0]), rtol=1e-9)


@pytest.mark.parametrize("noticed", [True, False])
def test_a_site_that_comes_back_without_its_state_changes_nothing(rows, noticed):
    """At every 20th request, whether or not what carries the bytes has noticed."""
    plants, asked = plants_of(*rows), []

    def ask(request):
        asked.append([plant.answer(request) for plant in plants])
        if len(asked) % 20 == 0:
            plants[len(asked) // 20 % 3] = plants_of(*rows)[len(asked) // 20 % 3]
            if noticed:
                raise ConnectionError
        return asked[-1]

    model = SCNRegressor(**LADDER).fit(Sites(ask))
    assert len(asked) > 100
    assert_same(model.network_, SCNRegressor(**LADDER).fit(*rows).network_)


@pytest.mark.parametrize(
    "parameters",
    [
        {"algorithm": "SC-I"},
        {"algorithm": "SC-II", "window": 4},
        {"configuration": "renewal", "activation": "tanh"},
        {"configuration": "free"},
        {"scaling": "robust", "early_stopping": "gcv", "alpha": "gcv", "direct_link": True},
        {"scaling": "standard"},
    ],
    ids=str,
)
def test_what_needs_sums_alone_gives_the_network_of_all_rows(rows, parameters):
    parameters = {**LADDER, **parameters}
    pooled = SCNRegressor(**parameters).fit(*rows)
    assert_same(SCNRegressor(**parameters).fit(in_this_process(plants_of(*rows))).network_, pooled.network_)


def test_gradients_are_sums_as_well(rows):
    """Quickprop computes its nodes from sums, whose last bits depend on the sites."""
    parameters = {**LADDER, "configuration": "quickprop"}
    pooled = SCNRegressor(**parameters).fit(*rows)
    model = SCNRegressor(**parameters).fit(in_this_process(plants_of(*rows)))
    assert_same(model.network_, pooled.network_, rtol=1e-9)


def test_many_rows_are_raced_by_the_same_sums():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(40_000, 2))
    Y = np.column_stack([np.sin(9.0 * X[:, 0]), X[:, 1] ** 2])
    parameters = {**LADDER, "max_nodes": 4}
    parts = dict(zip(NAMES, np.split(np.arange(40_000), [9_000, 31_000]), strict=True))
    plants = [Site(name, X[part], Y[part]) for name, part in parts.items()]
    model = SCNRegressor(**parameters).fit(in_this_process(plants))
    assert_same(model.network_, SCNRegressor(**parameters).fit(X, Y).network_)
    assert model.predict(X).shape == (40_000, 2)


def test_columns_have_names_and_importances_are_unknown(rows):
    X, y = pd.DataFrame(rows[0], columns=["flow", "heat", "load"]), rows[1]
    plants = [Site(name, X.iloc[a:b], y[a:b]) for name, a, b in zip(NAMES, CUTS, CUTS[1:], strict=False)]
    model = SCNRegressor(**LADDER).fit(in_this_process(plants))
    assert model.feature_names_in_.tolist() == ["flow", "heat", "load"]
    assert model.predict(X.iloc[:5]).shape == (5,)
    with pytest.raises(AttributeError, match="stayed at their sites"):
        _ = model.feature_importances_


@pytest.mark.parametrize("targets", [False, True])
def test_ranges_and_quantiles_are_exact(rows, targets):
    from skscn.fit.federated_data import FederatedData

    X, y = rows
    found = FederatedData(in_this_process(plants_of(X, y))).statistics()[targets]
    known, shares = ArrayStatistics(y[:, np.newaxis] if targets else X), np.linspace(0.0, 1.0, 11)
    np.testing.assert_array_equal(found.range(), known.range())
    np.testing.assert_array_equal(found.quantiles(shares), known.quantiles(shares))
    np.testing.assert_allclose(found.moments(), known.moments(), rtol=1e-12)


# ---- what can be read


def test_answers_of_single_sites_say_nothing_and_their_sum_everything(rows):
    """Of the same request, with other keys, each site's answer is other bytes; its numbers look uniform."""
    X, y = rows
    plants, seen = plants_of(X, y), []

    def ask(request):
        seen.append([plant.answer(request) for plant in plants])
        return seen[-1]

    sites = Sites(ask)
    total = sites.below(np.array([[1.0, 1.0, 1.0]]), targets=False)
    np.testing.assert_array_equal(total, [(X <= 1.0).sum(axis=0)])
    again = Sites(ask).below(np.array([[1.0, 1.0, 1.0]]), targets=False)
    np.testing.assert_array_equal(again, total)
    first, second = (unpacked(seen[number][0])[3] for number in (2, 5))
    assert first.shape == second.shape == (3 * 32,)
    assert (first != second).mean() > 0.9
    many = sites.below(np.linspace(-2, 5, 300).reshape(-1, 3), targets=False)
    assert many.shape == (100, 3)
    for answer in seen[-1]:
        bits = np.unpackbits(unpacked(answer)[3])
        assert abs(bits.mean() - 0.5) < 5 * 0.5 / np.sqrt(len(bits))
        assert len(np.unique(unpacked(answer)[3].reshape(-1, 32), axis=0)) == 300


def test_no_two_requests_are_the_same(rows):
    requests = []
    plants = plants_of(*rows)
    sites = Sites(lambda request: requests.append(request) or [plant.answer(request) for plant in plants])
    for _ in range(2):
        SCNRegressor(**{**LADDER, "max_nodes": 3}).fit(sites)
    assert len(set(requests)) == len(requests)


def test_masks_cancel_exactly():
    values = np.array([[1e-40, -3.25, 1e20, 0.1], [-1e-40, 1e-12, 1e-20, 0.2]])
    answers = [masked(some, [(sign, b"secret")], b"request") for some, sign in zip(values, (1, -1), strict=True)]
    np.testing.assert_array_equal(unmasked(answers), [0.0, -3.25 + 1e-12, 1e20, 0.1 + 0.2])
    assert unmasked([answers[0], masked(values[1], [(-1, b"other")], b"request")])[1] != -3.25 + 1e-12


def test_packed_values_come_back():
    value = (3, "text", None, True, (1.5, np.arange(6.0).reshape(2, 3)), np.float32)
    found = unpacked(packed(value))
    np.testing.assert_array_equal(found[4][1], value[4][1])
    assert (found[:4], found[4][0], found[5]) == (value[:4], 1.5, np.float32)


# ---- what is refused


@pytest.mark.parametrize(
    "parameters",
    [
        {"configuration": "polished"},
        {"configuration": "polished", "early_stopping": "gcv"},
        {"early_stopping": True},
        {"loss": "huber"},
        {"activation": "relu"},
        {"checkpoint": "file"},
        {"warm_start": True},
    ],
    ids=str,
)
def test_what_needs_rows_is_refused(rows, parameters, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sites = in_this_process(plants_of(*rows))
    with pytest.raises(ValueError, match=r'^Rows stay at their sites, .* use SCNRegressor with configuration="ladder"'):
        SCNRegressor(**{**LADDER, **parameters}).fit(sites)


def test_classes_weights_and_own_activations_are_refused(rows):
    sites = in_this_process(plants_of(*rows))
    with pytest.raises(ValueError, match="^Rows stay at their sites"):
        SCNClassifier(configuration="ladder").fit(sites)
    with pytest.raises(TypeError, match="^Sites have their own targets"):
        SCNRegressor(**LADDER).fit(sites, sample_weight=np.ones(400))
    own = Activation("mine", np.tanh, bound=1.0)
    with pytest.raises(ValueError, match="^Sites know activations by their names, but 'mine'"):
        SCNRegressor(**{**LADDER, "activation": own}).fit(sites)


def test_sites_that_do_not_belong_together_are_refused(rows):
    X, y = rows
    one, two, three = plants_of(X, y)
    with pytest.raises(ValueError, match="^Site A: sums are masked together with other sites"):
        in_this_process([one])
    with pytest.raises(ValueError, match="^Site A: sums are masked together with other sites"):
        in_this_process([one, Site("A", X, y), two])
    with pytest.raises(ValueError, match="^The sites differ in their columns"):
        in_this_process([one, two, Site("C", X[:, :2], y)])
    sites = in_this_process(plants := [one, two, three])
    plants[1] = Site("B", X, y)
    with pytest.raises(ValueError, match="^A site has changed since"):
        SCNRegressor(**LADDER).fit(sites)


def test_a_site_that_never_keeps_its_keys_is_refused(rows):
    X, y = rows
    plants, asked = plants_of(X, y), []

    def ask(request):
        asked.append(request)
        if len(asked) % 3 == 0:
            plants[0] = Site("A", X[: CUTS[1]], y[: CUTS[1]])
        return [plant.answer(request) for plant in plants]

    sites = Sites(ask)
    with pytest.raises(ValueError, match="^A site keeps losing its keys"):
        sites.below(np.zeros((1, 3)), targets=False)


def test_a_site_refuses_what_its_owner_would_not_want(rows):
    """Sums that are not masked, and operations that are not on its list."""
    X, y = rows
    alone, plants, requests = Site("A", X, y), plants_of(X, y), []
    sites = Sites(lambda request: requests.append(request) or [plant.answer(request) for plant in plants])
    sites.below(np.zeros((1, 3)), targets=False)
    assert unpacked(alone.answer(requests[-1])) == ("keys",)
    with pytest.raises(ValueError, match="larger than 1e24"):
        SCNRegressor(**LADDER, scaling=None).fit(in_this_process(plants_of(1e29 * X, 1e29 * y)))
    with pytest.raises(ValueError, match="NaN"):
        Site("A", np.where(X < 0.0, np.nan, X), y)


def test_without_held_out_rows_their_order_does_not_matter(rows):
    fits = [
        SCNRegressor(**LADDER, validation=which).fit(in_this_process(plants_of(*rows))) for which in ("last", "random")
    ]
    np.testing.assert_array_equal(*(fit.network_.coefficients for fit in fits))
