"""
More rows than memory
=====================

Instead of an array, ``fit`` accepts a path: Parquet, CSV or Arrow files, or a folder of them, are read chunk by chunk,
and what growth needs is kept in temporary files. The network is exactly the same as in memory.
"""

# %%
# A folder of files
# -----------------
# These files are small, so that the example runs quickly. Real ones may be larger than the memory of the machine.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
from pyarrow import parquet

from skscn import Chunks, SCNRegressor

rng = np.random.default_rng(0)
folder = tempfile.TemporaryDirectory()
for part in range(4):
    X = rng.uniform(size=(25_000, 6))
    y = np.sin(8 * X[:, 0] * X[:, 1]) + X[:, 2] ** 2 + 0.05 * rng.normal(size=len(X))
    columns = {f"x{i}": column for i, column in enumerate(X.T)}
    parquet.write_table(pa.table({**columns, "y": y}), Path(folder.name) / f"part{part}.parquet")
print(*sorted(path.name for path in Path(folder.name).iterdir()))

# %%
# Growing on it
# -------------
# ``fit(path, "y")`` is enough. ``Chunks`` has more options, for instance how much memory training may use. Here it is
# so little that the rows have to stay in files.

settings = {"max_nodes": 15, "random_state": 0}
out_of_core = SCNRegressor(**settings).fit(Chunks(folder.name, "y", memory_limit=16_000_000))
in_memory = SCNRegressor(**settings).fit(folder.name, "y")
same = np.array_equal(out_of_core.network_.output_weights, in_memory.network_.output_weights)
print(f"{out_of_core.n_nodes_} nodes; the same network as in memory: {same}")

# %%
# Columns are known by name. You can also pass your own chunks of rows.

print(*out_of_core.feature_names_in_)


def chunks():
    """Fresh chunks (X, y), the same every time."""
    for path in sorted(Path(folder.name).glob("*.parquet")):
        table = parquet.read_table(path).to_pandas()
        yield table.drop(columns="y"), table["y"]


from_chunks = SCNRegressor(**settings).fit(Chunks(chunks))
print(f"from chunks: {np.array_equal(from_chunks.network_.output_weights, in_memory.network_.output_weights)}")

# %%
figure, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
for label, model, style in (("in memory", in_memory, "-"), ("out of core", out_of_core, "o")):
    ax.plot(model.history_["nodes"], model.history_["train_rmse"], style, label=label, markersize=4)
ax.set(xlabel="nodes", ylabel="training RMSE")
ax.legend()
folder.cleanup()
plt.show()
