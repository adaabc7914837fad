import re
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

from skscn import SCNRegressor
from skscn.report import write_report

VOID = {"meta", "br", "img", "link", "hr", "input"}


class Page(HTMLParser):
    """What a page says: its elements, with their attributes, and its text."""

    def __init__(self, source):
        super().__init__()
        self.source, self.elements, self.words, self.open = source, [], [], []
        self.feed(source)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.words.append(data)

    @property
    def text(self):
        return re.sub(r"\s+", " ", " ".join(self.words))

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="session")
def report(tmp_path_factory):
    """A function that writes a report and reads it."""
    path = tmp_path_factory.mktemp("report") / "report.html"

    def write(*args, **kwargs):
        write_report(*args, path, **kwargs)
        return Page(path.read_text(encoding="utf-8"))

    return write


@pytest.fixture(scope="session")
def diabetes():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    return X[["bmi", "bp", "s5"]], y


@pytest.fixture(scope="session")
def network(diabetes):
    X, y = diabetes
    return SCNRegressor(max_nodes=8, early_stopping=True, random_state=0).fit(X[:300], y[:300])


@pytest.fixture(scope="session")
def blobs():
    """Three classes in two inputs, well apart."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 60)
    return rng.normal(size=(180, 2)) + 4.0 * np.column_stack([y == 1, y == 2]), y


@pytest.fixture(scope="session")
def page(report, network, diabetes):
    """The report of a network on all rows."""
    return report(network, *diabetes, model_path="my models/a.scn", data_name="new rows.csv")
