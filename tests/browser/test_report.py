"""Reports in a real browser: nothing fails, nothing is fetched, all can be read by everybody, in any window."""

import io

import numpy as np
import pandas as pd
import pytest
from axe_playwright_python.sync_playwright import Axe
from PIL import Image
from sklearn.datasets import load_diabetes, load_wine

from skscn import SCNClassifier, SCNEnsembleRegressor, SCNRegressor
from skscn.report import write_report
from skscn.tables import TableEncoder

pytestmark = pytest.mark.slow

KINDS = ("ensemble", "outputs", "classes", "hostile", "series")
LONG = "<script>console.error('no')</script>" + "avery" * 60


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """Reports of each kind."""
    folder = tmp_path_factory.mktemp("reports")
    paths = {kind: folder / f"{kind}.html" for kind in KINDS}
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:240, [2, 3, 8]], y[:240]
    member = SCNRegressor(max_nodes=5, early_stopping=True, validation_fraction=0.2)
    ensemble = SCNEnsembleRegressor(member, n_members=3, random_state=0)
    write_report(ensemble.fit(X[:160], y[:160]), X[160:], y[160:], paths["ensemble"], data_name="diabetes.csv")
    Y = np.column_stack([y, X[:, 0] ** 2])
    write_report(SCNRegressor(max_nodes=5, random_state=0).fit(X, Y), X[:80], Y[:80], paths["outputs"])
    X, y = load_wine(return_X_y=True)
    X = X[:, :4]
    write_report(SCNClassifier(max_nodes=10, random_state=0).fit(X, y), X, y, paths["classes"])
    labels = np.array(["a", LONG, f"{LONG}s"])[y]
    classifier = SCNClassifier(max_nodes=3, random_state=0).fit(X, labels)
    names, groups = [f"{LONG}{j}" for j in range(4)], {f"{LONG} together": [0, 1]}
    options = {"feature_names": names, "groups": groups, "title": LONG, "model_path": LONG, "data_name": LONG}
    write_report(classifier, X, labels, paths["hostile"], **options)
    write_series(paths["series"])
    return paths


def write_series(path):
    """A time series whose inputs are outside the training range, with intervals and long names."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 3))
    y = X.sum(axis=1) + 0.1 * rng.normal(size=700)
    names = ["flow", "TI_7 temperature_of_the_reactor °C", "level"]
    encoder = TableEncoder().fit(pd.DataFrame(X[:300], columns=names))
    member = SCNRegressor(max_nodes=5, early_stopping=True, validation_fraction=0.2)
    ensemble = SCNEnsembleRegressor(member, n_members=3, random_state=0).fit(X[:300], y[:300])
    times = np.datetime64("2025-01-01T00:00") + 5 * np.arange(400).astype("timedelta64[m]")
    write_report(ensemble, 3.0 * X[300:], y[300:], path, encoder=encoder, times=times, seen=0.0)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [400, 1400])
def test_nothing_fails_is_fetched_or_sticks_out(reports, open_page, kind, width):
    page = open_page(reports[kind], width)
    # What is wider than the window scrolls within a region of its own.
    sticking_out = """() => [...document.querySelectorAll("main *, header *")].filter(
        element => !element.closest(".scroll, svg") && element.getBoundingClientRect().right > innerWidth + 1
    ).map(element => element.outerHTML.slice(0, 200))"""
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(sticking_out) == []
    assert page.troubles == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_no_barrier_that_a_program_can_find(reports, open_page, kind):
    """Names of pictures, order of headings, tables, language, contrast and the other rules of axe."""
    found = Axe().run(open_page(reports[kind])).response
    assert barriers(found) == []
    assert {"svg-img-alt", "heading-order", "html-has-lang"} <= {rule["id"] for rule in found["passes"]}


@pytest.mark.parametrize("kind", ["ensemble", "classes"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_out_from_their_ground(reports, open_page, kind, scheme):
    page = open_page(reports[kind], 400, scheme)
    found = Axe().run(page, options={"runOnly": ["color-contrast"]}).response
    assert barriers(found) == []
    assert [rule["id"] for rule in found["passes"]] == ["color-contrast"]


def barriers(found):
    return [(rule["id"], rule["nodes"][0]["html"]) for rule in found["violations"]]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pictures_can_be_seen_on_their_ground(reports, open_page, scheme):
    """Text and lines of pictures stand out from the page: contrast of 4.5 and 3 at least, as of WCAG 2."""
    page = open_page(reports["ensemble"], 1400, scheme)
    colours = page.evaluate(
        """() => {
            const style = (element, property) => getComputedStyle(element)[property];
            const shown = [...document.querySelectorAll("figure svg *")];
            return {
                ground: style(document.body, "backgroundColor"),
                text: [...new Set(shown.filter(e => e.tagName === "text").map(e => style(e, "fill")))],
                lines: [...new Set(shown.filter(e => e.closest("[clip-path]")).map(e => style(e, "stroke")))],
            };
        }"""
    )
    ground = luminance(colours["ground"])
    grid = page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--line').trim()")
    faint = "rgb({}, {}, {})".format(*(int(grid[k : k + 2], 16) for k in (1, 3, 5)))
    lines = [colour for colour in colours["lines"] if colour not in ("none", faint)]
    assert len(lines) >= 3
    assert min(contrast(luminance(colour), ground) for colour in colours["text"]) >= 4.5
    assert min(contrast(luminance(colour), ground) for colour in lines) >= 3.0


def luminance(colour):
    """Relative luminance of rgb(…), as WCAG defines it."""
    values = np.array([float(part) for part in colour.partition("(")[2].rstrip(")").split(",")[:3]]) / 255.0
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    return linear @ (0.2126, 0.7152, 0.0722)


def contrast(one, other):
    return (max(one, other) + 0.05) / (min(one, other) + 0.05)


def edges(region):
    """Brightness at the left and at the right edge of a region."""
    picture = Image.open(io.BytesIO(region.screenshot())).convert("L")
    pixels = np.asarray(picture, dtype=float)
    return np.median(pixels[:, 1]), np.median(pixels[:, -2])


def test_a_table_that_goes_on_beyond_the_window_is_shaded_there(reports, open_page):
    page = open_page(reports["series"], 400)
    region = page.get_by_role("region", name="Inputs outside the training range")
    assert region.evaluate("e => e.scrollWidth > e.clientWidth + 20")
    left, right = edges(region)
    assert right < left - 40
    region.evaluate("e => e.scrollLeft = e.scrollWidth")
    left, right = edges(region)
    assert left < right - 40
    wide = open_page(reports["series"]).get_by_role("region", name="Inputs outside the training range")
    assert min(edges(wide)) > 250


def test_a_wide_picture_fits_its_card_unless_the_window_is_narrow(reports, open_page):
    for width, fits in ((400, False), (900, True), (1000, True), (1400, True)):
        region = open_page(reports["series"], width).get_by_role("region", name="True and predicted values over time")
        assert region.evaluate("e => e.scrollWidth <= e.clientWidth") == fits


def test_names_of_parameters_are_in_one_line(reports, open_page):
    page = open_page(reports["series"], 400)
    heights = page.evaluate(
        """() => [...document.querySelectorAll(".parameters tbody th")].map(cell => {
            const range = document.createRange();
            range.selectNodeContents(cell);
            return range.getClientRects().length;
        })"""
    )
    assert len(heights) > 20
    assert set(heights) == {1}


def test_it_can_be_printed(reports, open_page, tmp_path):
    page = open_page(reports["classes"])
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.pdf(path=tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")
