"""An interactive notebook: ``marimo edit examples/notebooks/scn.py``, or ``python examples/notebooks/scn.py``."""

import marimo

app = marimo.App(width="medium", app_title="Stochastic configuration networks")


@app.cell
def _():
    import marimo as mo
    import matplotlib.pyplot as plt
    import numpy as np

    from skscn import SCNRegressor
    from skscn.datasets import make_db1
    from skscn.output_weights import ALGORITHMS
    from skscn.plot import ConvergenceDisplay, FitDisplay
    from skscn.search import CONFIGURATIONS

    return ALGORITHMS, CONFIGURATIONS, ConvergenceDisplay, FitDisplay, SCNRegressor, make_db1, mo, np, plt


@app.cell
def _(mo):
    mo.md(
        """
        # A network that builds itself

        The target is the paper's first data set: a hill with two spikes. Choose how nodes are searched for and which
        output weights are re-evaluated after each node, and see how well the network follows the target.

        - With the search `ladder` and scopes that start at 1, smooth nodes win, and the spikes are missed until late.
        - `free` accepts any random node. Its error hardly falls, however many nodes there are.
        - `polished`, the default, draws candidates from all scopes and improves the best one.
        """
    )
    return


@app.cell
def _(ALGORITHMS, CONFIGURATIONS, mo):
    algorithm = mo.ui.dropdown(list(ALGORITHMS), value="SC-III", label="algorithm")
    configuration = mo.ui.dropdown(list(CONFIGURATIONS), value="ladder", label="search")
    scopes = mo.ui.range_slider(
        steps=[1, 5, 15, 30, 50, 100, 150, 200], value=[100, 200], label="scopes λ", show_value=True
    )
    nodes = mo.ui.slider(1, 100, value=40, label="maximum number of nodes", show_value=True)
    seed = mo.ui.slider(0, 20, value=0, label="seed", show_value=True)
    mo.vstack([mo.hstack([algorithm, configuration], justify="start"), mo.hstack([scopes, nodes, seed])])
    return algorithm, configuration, nodes, scopes, seed


@app.cell
def _(SCNRegressor, algorithm, configuration, make_db1, nodes, scopes, seed):
    db1 = make_db1(random_state=0)
    allowed = [scope for scope in (1, 5, 15, 30, 50, 100, 150, 200) if scopes.value[0] <= scope <= scopes.value[1]]
    model = SCNRegressor(
        algorithm=algorithm.value,
        configuration=configuration.value,
        scopes=allowed,
        max_nodes=nodes.value,
        random_state=seed.value,
    ).fit(db1.data, db1.target)
    return db1, model


@app.cell
def _(ConvergenceDisplay, FitDisplay, db1, model, np, plt):
    figure, (fit, convergence) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    FitDisplay.from_estimator(model, db1.test_data, db1.test_target, ax=fit, title=f"{model.n_nodes_} nodes")
    span = np.ptp(db1.target)
    errors = [np.sqrt(np.mean((y - db1.test_target) ** 2)) / span for y in model.staged_predict(db1.test_data)]
    ConvergenceDisplay.from_estimator(model, ax=convergence)
    convergence.plot(np.arange(1, len(errors) + 1), errors, color="black", linewidth=1, label="unseen rows")
    convergence.set(title=f"stopped by: {model.stop_reason_}")
    convergence.legend()
    figure
    return (errors,)


@app.cell
def _(errors, mo, model):
    summary = f"Test RMSE {errors[-1]:.4f} with {model.n_nodes_} nodes."
    print(summary)
    mo.md(f"**{summary}** The steps of growth, from `history_`:")
    return


@app.cell
def _(mo, model):
    columns = {
        name: "{:.3g}" if model.history_[name].dtype.kind == "f" else "{}" for name in model.history_.dtype.names
    }
    mo.ui.table([{name: digits.format(row[name]) for name, digits in columns.items()} for row in model.history_])
    return


if __name__ == "__main__":
    app.run()
