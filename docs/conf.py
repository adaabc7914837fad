"""How Sphinx builds the site: ``./run docs``. Nothing is fetched while it is built or read."""

import sys
from pathlib import Path

import skscn

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

project = "scikit-scn"
author = copyright = "The scikit-scn developers"
version = release = skscn.__version__

extensions = [
    "mathml",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery/**.ipynb", "gallery/**.py", "gallery/*.json"]
templates_path = ["_templates"]
default_role = "code"  # `random_state` in docstrings
html_math_renderer = "mathml"

# Pages are Markdown, so that they read well on the repository's web page too.
myst_enable_extensions = ["dollarmath", "amsmath", "deflist"]
myst_heading_anchors = 3

# The API, from docstrings.
autosummary_generate = True
# Types are in the docstrings; annotations are for editors and mypy.
autodoc_typehints = "none"
autodoc_default_options = {"member-order": "bysource"}
numpydoc_show_class_members = False

# Every name of our own that is referred to must be there. Others (NumPy's, scikit-learn's) cannot be looked up without
# the network, and the types in docstrings are words as often as names. Annotations name the module that defines a
# class, which is mostly not the one that it is documented in.
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(?!skscn\b).*"), ("py:class", r"skscn\.(\w+\.)*(_\w+|chunks)\.\w+")]

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "ignore_pattern": r"[\\/]notebooks[\\/]",
    "within_subsection_order": "gallery_order.by_number",
    "doc_module": ("skscn",),
    "backreferences_dir": "generated/backreferences",
    "reference_url": {"skscn": None},
    "default_thumb_file": str(HERE / "images" / "demo.png"),
    "capture_repr": (),
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "write_computation_times": False,
    "thumbnail_size": (480, 300),
}

html_theme = "pydata_sphinx_theme"
html_title = f"scikit-scn {release}"
html_logo = "_static/logo.svg"
html_favicon = "_static/logo.svg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_sidebars = {page: [] for page in ("index", "changelog")}  # pages without pages below
html_theme_options = {
    "logo": {"text": "scikit-scn"},
    "show_nav_level": 1,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 5,
    "navbar_persistent": ["search-button"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
