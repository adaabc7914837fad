"""A notebook to play with: ``marimo edit examples/notebooks/scn.py``, or ``python examples/notebooks/scn.py``."""

import marimo

app = marimo.App(width="medium", app_title="Stochastic configuration networks")


@app.cell
def _():
    import marimo as mo
    import matplotlib.pyplot as plt
    import numpy as np

    from skscn import SCNRegressor
    from skscn.configuration import CONFIGURATIONS
    from skscn.datasets import make_db1
    from skscn.output_weights import ALGORITHMS
    from skscn.plot import FitDisplay

    return ALGORITHMS, CONFIGURATIONS, FitDisplay, SCNRegressor, make_db1, mo, np, plt


@app.cell
def _(mo):
    mo.md(
        """
        # A network that builds itself

        The target is the paper's first data set: a hill with two spikes. Choose how nodes are searched and which output
        weights are re-evaluated after each of them, and see what the network makes of it.

        - With the search `ladder`, scopes that begin at 1 let gentle nodes win, and the spikes are missed for long.
        - `free` takes any draw: its error hardly falls, however many nodes there are.
        - `polished`, the default, draws over all scopes and improves the best.
        """
    )
    return


@app.cell
def _(ALGORITHMS, CONFIGURATIONS, mo):
    algorithm = mo.ui.dropdown(list(ALGORITHMS), value="SC-III", label="algorithm")
    configuration = mo.ui.dropdown(list(CONFIGURATIONS), value="ladder", label="search")
    scopes = mo.ui.range_slider(steps=[1, 5, 15, 30, 50, 100, 150, 200], value=[100, 200], label="scopes λ")
    nodes = mo.ui.slider(1, 100, value=40, label="nodes at most")
    seed = mo.ui.slider(0, 20, value=0, label="seed")
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
def _(FitDisplay, db1, model, np, plt):
    figure, (fit, convergence) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    FitDisplay.from_estimator(model, db1.test_data, db1.test_target, ax=fit, title=f"{model.n_nodes_} nodes")
    span = np.ptp(db1.target)
    errors = [np.sqrt(np.mean((y - db1.test_target) ** 2)) / span for y in model.staged_predict(db1.test_data)]
    convergence.semilogy(model.history_["nodes"], model.history_["train_rmse"], label="training rows")
    convergence.semilogy(np.arange(1, len(errors) + 1), errors, label="unseen rows")
    convergence.set(title=f"stopped by: {model.stop_reason_}", xlabel="nodes", ylabel="RMSE")
    convergence.legend()
    figure
    return (errors,)


@app.cell
def _(errors, mo, model):
    summary = f"Test RMSE {errors[-1]:.4f} with {model.n_nodes_} nodes."
    print(summary)
    mo.md(f"**{summary}** Steps of growth, from `history_`:")
    return


@app.cell
def _(mo, model):
    mo.ui.table([{name: row[name].item() for name in model.history_.dtype.names} for row in model.history_])
    return


if __name__ == "__main__":
    app.run()
