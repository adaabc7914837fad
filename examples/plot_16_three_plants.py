"""
Plants that do not share their rows
===================================

Three plants of three owners make the same product. Each has seen only its own range of operation, and none may hand out
rows. They train one network from sums over all rows, of which nobody can read the share of one plant.
"""

# %%
# The rows, each at its plant
# ---------------------------
# Two inputs and a quality, which follows the same law everywhere.

import matplotlib.pyplot as plt
import numpy as np

from skscn import SCNRegressor
from skscn.rows import Site, Sites
from skscn.rows.federated import unpacked

rng = np.random.default_rng(0)


def run(low, high, rows):
    """Rows of a plant whose load is between two limits."""
    load, temperature = rng.uniform(low, high, rows), rng.uniform(0.0, 1.0, rows)
    quality = np.sin(4.0 * load) + temperature * load + 0.05 * rng.normal(size=rows)
    return np.column_stack([load, temperature]), quality


ranges = {"north": (0.0, 1.2), "south": (0.8, 2.0), "west": (1.6, 3.0)}
rows = {name: run(*limits, rows=500) for name, limits in ranges.items()}
plants = [Site(name, *own) for name, own in rows.items()]

# %%
# What crosses the fence
# ----------------------
# A site gets requests and returns answers, both of them bytes. Here all sites are in one process; in earnest each is a
# process of its own, and the owners choose what carries the bytes. We keep the answers of the last request.

traffic, last = {"requests": 0, "kB to each": 0.0, "kB from each": 0.0}, []


def ask(request):
    """Send a request to all plants."""
    last[:] = [plant.answer(request) for plant in plants]
    traffic["requests"] += 1
    traffic["kB to each"] += len(request) / 1000
    traffic["kB from each"] += len(last[0]) / 1000
    return last


settings = {"configuration": "ladder", "max_nodes": 30, "random_state": 0}
together = SCNRegressor(**settings).fit(Sites(ask))
print({name: round(value) for name, value in traffic.items()})

# %%
# The numbers of an answer are masked: they are uniformly distributed, whatever the rows are. Only in the sum over all
# plants do the masks cancel.

for name, answer in zip(rows, last, strict=True):
    *_, numbers = unpacked(answer)
    print(name, numbers[:20].tobytes().hex())

# %%
# The network of all rows
# -----------------------
# For comparison, and only because this is a simulation, we pool the rows. The nodes are the same, and output weights
# differ by rounding.

X, y = (np.concatenate(parts) for parts in zip(*rows.values(), strict=True))
pooled = SCNRegressor(**settings).fit(X, y)
own, others = together.network_, pooled.network_
print("the same nodes:", np.array_equal(own.nodes.weights, others.nodes.weights))
print(f"predictions differ by at most {np.abs(together.predict(X) - pooled.predict(X)).max():.0e}")

# %%
# Alone, the plant in the north knows nothing about high loads.

alone = SCNRegressor(**settings).fit(*rows["north"])
load = np.linspace(0.0, 3.0, 200)
grid = np.column_stack([load, np.full(200, 0.5)])
_, ax = plt.subplots(figsize=(8, 4), layout="constrained")
for name, (inputs, quality) in rows.items():
    ax.scatter(inputs[:, 0], quality, s=4, alpha=0.3, label=f"rows of {name}")
ax.plot(load, np.sin(4.0 * load) + 0.5 * load, "k--", label="truth")
ax.plot(load, together.predict(grid), "k", label="all plants together")
ax.plot(load, alone.predict(grid), "r", label="north alone")
ax.set(xlabel="load", ylabel="quality at medium temperature", ylim=(-1.5, 4.5))
ax.legend(ncols=2)
plt.show()
