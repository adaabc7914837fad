"""
From a table to a decision
==========================

A table model encodes columns of all kinds, trains, tests itself on held-out rows, and says what is doubtful. The same
object runs live, one row at a time.
"""

# %%
# Train and judge
# ---------------
# Rents of simulated flats; the last 200 are not used for training.

import matplotlib.pyplot as plt
import pandas as pd

from skscn import TableModel, assess
from skscn.datasets import make_flats
from skscn.plot import PredictionErrorDisplay

flats = pd.DataFrame(make_flats(800, random_state=0))
old, new = flats[:600], flats[600:]
model = TableModel("rent", folds=3, parameters={"n_members": 4}).fit(old)
print(assess(model, new))

# %%
# Predictions with their intervals
# --------------------------------

interval = model.predict_interval(new, coverage=0.9)
PredictionErrorDisplay(y_true=new["rent"].to_numpy(), y_pred=model.predict(new), interval=interval).plot()
plt.show()

# %%
# Row by row
# ----------
# ``follow`` answers rows as they come. Targets are learnt when they are known.

live = model.follow()
for row in new.to_dict("records")[:3]:
    rent = row.pop("rent")
    predicted, (low, high) = live.predict_one(row), live.interval()
    print(f"predicted {predicted:.0f}, between {low:.0f} and {high:.0f}; true {rent}")
    live.learn_one(row, rent)
