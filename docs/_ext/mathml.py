"""Formulas as MathML, which browsers draw themselves: no script, no download, nothing to install.

TeX is translated by docutils, which Sphinx is built on; MathJax would come from a server each time a page is read, or
add 20 MB of its files to the site, and pictures would need LaTeX where the site is built.
"""

from docutils.nodes import SkipNode
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

_LOGGER = logging.getLogger(__name__)


def _mathml(node, *, as_block: bool) -> str:
    try:
        return tex2mathml(node.astext(), as_block=as_block)
    except MathError as error:
        _LOGGER.warning("formula %r: %s", node.astext(), error, location=node)
        return ""


def _visit_inline(translator, node) -> None:
    translator.body.append(_mathml(node, as_block=False))
    raise SkipNode


def _visit_block(translator, node) -> None:
    translator.body.append(translator.starttag(node, "div", CLASS="math"))
    translator.body.append(_mathml(node, as_block=True))
    if node["number"]:
        number = get_node_equation_number(translator, node)
        translator.body.append(f'<span class="eqno">({number})')
        translator.add_permalink_ref(node, "Link to this equation")
        translator.body.append("</span>")
    translator.body.append("</div>\n")
    raise SkipNode


def setup(app) -> dict:
    """Register the renderer; ``html_math_renderer = "mathml"`` selects it."""
    app.add_html_math_renderer("mathml", (_visit_inline, None), (_visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
