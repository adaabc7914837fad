"""What the page says apart from results, and how its paragraphs are wrapped."""

import textwrap

WIDTH = 130
COMMANDS = """\
    ./run bench accuracy --data DIR                   # tables of data; writes results, tables and pictures
    ./run bench accuracy --task friedman smooth       # functions with known structure
    ./run bench intervals --data DIR --out docs/accuracy_intervals.csv    # coverage and width of prediction intervals
    ./run bench accuracy --data DIR --task all --page docs/accuracy.md    # this page"""
SETUP = """
`SCNRegressor`, `SCNClassifier` and the ensembles (SCN-ensemble) are compared with other learners, all with default
parameters and on one thread. The data sets are those of the paper, regression and classification tables, and those that
come with scikit-learn; the splits are random for all of them, even for time series such as debutanizer. Three quarters
of the rows are for training. NRMSE is the test RMSE divided by the standard deviation of the test target."""
READING = """
The best result is in bold. Ranks are computed from the means over the splits, among the methods that were run on all
data sets. `ratio to best` is the error divided by that of the best method on the same data set; an error rate counts as
at least half a misclassified row. Times are processor times, and geometric means over the data sets that a method was
run on; they still depend on what else the machine is doing, so small differences mean little. Data sets are in the
order of the ensemble's error over that of the best of the other methods: those at the top are the ones where it does
worst. Choosing that best method by the test rows, set by set, is in favour of the others."""
# What is said of the other methods, by one that it is about.
METHODS = {
    "CatBoost": """CatBoost, LightGBM, XGBoost; boosting is scikit-learn's histogram gradient boosting, forest its
    random forest.""",
    "MLP": """MLP is scikit-learn's multilayer perceptron with early stopping, SVM its support vector machine, both on
    standardised inputs and targets. Probabilities of the SVM come from a logistic regression on its decisions.""",
    "RVFL": """RVFL has 300 random sigmoid nodes and direct links, ELM at most 300 nodes and none. SWIM samples 512
    nodes from pairs of rows ([swimnetworks](https://pypi.org/project/swimnetworks/)). In regression, the penalties of
    RVFL and SWIM are chosen by generalised cross-validation.""",
    "GP": "GP is a Gaussian process with noise, on at most 2,000 training rows, or 1,000 for classes.",
    "RealMLP": "RealMLP is the multilayer perceptron of [pytabkit](https://pypi.org/project/pytabkit/).",
}
NO_CLASSES = "Classifiers are compared [on another page](losses.md#compared-with-other-learners)."
TASKS = {
    "friedman": """Friedman's function #1 depends on five inputs; the others are irrelevant. 2,000 training rows, noise
    of standard deviation 1, and 10,000 test rows, also with noise; other rows in every split.""",
    "smooth": """Two functions made for this comparison: waves_12 depends on 6 of its 12 inputs and is smooth,
    switches_48 depends on 8 of its 48 inputs and has steep switches between smooth parts. 6,000 training rows, noise of
    standard deviation 0.05, and 10,000 test rows, also with noise; other rows in every split.""",
}
INTERVALS = """
The table shows {nominal} % intervals from `SCNEnsembleRegressor.predict_interval` on each regression set (splits:
{splits}): the share of unseen targets inside the interval, and the mean width relative to intervals of constant width
(which use the conformal quantile of the out-of-bag residuals)."""


def wrapped(text: str, bullet: str = "") -> str:
    """A paragraph, or an item of a list, in lines of the page's width."""
    return textwrap.fill(
        " ".join(text.split()),
        WIDTH,
        initial_indent=bullet,
        subsequent_indent=" " * len(bullet),
        break_long_words=False,
        break_on_hyphens=False,
    )
