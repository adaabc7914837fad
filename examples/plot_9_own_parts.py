"""
Parts of your own
=================

Activation, search (configuration), inequality (supervision), output weights, and the backend that stores the rows can
be chosen independently. This example adds an activation, a search and an inequality that are not in the package. All
guarantees hold for them too, because whether a node is accepted is decided in one place.
"""

# %%
# An activation
# -------------
# A plain function is enough. An :class:`~skscn.Activation` can also have a derivative, which allows the search to
# polish nodes, and a bound, which allows the guards to judge whether a node is too small.

import matplotlib.pyplot as plt
import numpy as np

from skscn import Activation, SCNRegressor
from skscn.datasets import make_db1
from skscn.plot import FitDisplay
from skscn.search import Configuration, Proposal
from skscn.supervision import Supervision, ranked

bump = Activation(
    "bump",
    value=lambda z: np.divide(1.0, 1.0 + z * z, out=z),
    derivative=lambda z: -2.0 * z / (1.0 + z * z) ** 2,
    bound=1.0,
)
db1 = make_db1(random_state=0)
own_activation = SCNRegressor(activation=bump, max_nodes=25, random_state=0).fit(db1.data, db1.target)

# %%
# A search
# --------
# A strategy proposes short lists of candidates, best first. This one places nodes where the error is large: it draws
# rows with a probability proportional to their squared residual, and transitions pass through these rows.


class WhereTheErrorIs(Configuration):
    """Transitions through rows of large residual, in all scopes at once."""

    def propose(self, rows, node, rng, count):
        """The admissible candidates of one pool."""
        some = rows.sample(rng.choice(rows.n_rows, min(rows.n_rows, 2000), replace=False))
        share = (some.residual**2).sum(axis=1)
        through = some.X[rng.choice(len(share), self.max_candidates, p=share / share.sum())]
        scopes = rng.choice(self.scopes, self.max_candidates)
        weights = rng.uniform(-1, 1, (rows.n_features, self.max_candidates)) * scopes
        biases = -np.einsum("ij,ji->i", through, weights)
        candidates = rows.nodes(weights, biases, scopes)
        sums = rows.sums(candidates)
        slacks = rows.inequality.slack(sums, rows.residual_squares, self.contractions[-1], node)
        best = ranked(slacks, sums.squares > 0)[: 8 * count]
        yield Proposal(candidates.take(best), self.contractions, self.max_candidates)


search = WhereTheErrorIs(scopes=(1, 5, 15, 30, 50, 100, 150, 200))
own_search = SCNRegressor(configuration=search, max_nodes=25, random_state=0).fit(db1.data, db1.target)
ladder = SCNRegressor(configuration="ladder", max_nodes=25, random_state=0).fit(db1.data, db1.target)

# %%
figure, axes = plt.subplots(1, 3, figsize=(10, 3), sharey=True, layout="constrained")
models = {"the paper's search": ladder, "own search": own_search, "own activation": own_activation}
for ax, (title, model) in zip(axes, models.items(), strict=True):
    score = model.score(db1.test_data, db1.test_target)
    print(f"{title:20} R² {score:.4f} with {model.n_nodes_} nodes")
    FitDisplay.from_estimator(model, db1.test_data, db1.test_target, ax=ax, title=f"{title}: R² {score:.3f}")
axes[0].legend()
plt.show()

# %%
# An inequality
# -------------
# The paper's search accepts a node as soon as it reduces the error a little. Here node L must remove at least the share
# 0.02/(L + 1) of the squared error. The search goes on to larger scopes until a candidate does, so it needs fewer
# nodes; it ends when no candidate does.


class Share(Supervision):
    """Node L must remove at least share/(L + 1) of the squared error of every output."""

    def __init__(self, share):
        self.share = share

    def slack(self, sums, residual_squares, contraction, node):
        """ξ: by how much the error decreases, minus what is required; r is not used."""
        return sums.decreases - self.share / (node + 1) * residual_squares


settings = {"configuration": "ladder", "max_nodes": 40, "random_state": 0}
figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
for title, supervision in {"the paper's inequality": "paper", "own inequality": Share(0.02)}.items():
    history = SCNRegressor(supervision=supervision, **settings).fit(db1.data, db1.target).history_
    ax.plot(history["nodes"], history["train_rmse"], marker=".", label=title)
ax.set(xlabel="nodes", ylabel="RMSE", ylim=(0, None))
ax.legend(frameon=False)
plt.show()
