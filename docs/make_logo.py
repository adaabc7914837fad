"""Draw the logo: DB 1 of the paper, and a network that follows it. ``python docs/make_logo.py``."""

from pathlib import Path

import numpy as np

from skscn import SCNRegressor
from skscn.datasets import db1_function, make_db1

SIZE, MARGIN = 64, 6


def path(x: np.ndarray, y: np.ndarray) -> str:
    """The curve as an SVG path; y from 0 to 0.75."""
    points = zip(MARGIN + (SIZE - 2 * MARGIN) * x, SIZE - MARGIN - (SIZE - 2 * MARGIN) * y / 0.75, strict=True)
    return "M" + " L".join(f"{a:.1f},{b:.1f}" for a, b in points)


def draw() -> str:
    """The logo as SVG."""
    x = np.linspace(0.1, 0.75, 120)
    db1 = make_db1(random_state=0)
    model = SCNRegressor(max_nodes=12, random_state=0).fit(db1.data, db1.target)
    u = (x - x[0]) / np.ptp(x)
    target, network = path(u, db1_function(x)), path(u, model.predict(x[:, np.newaxis]))
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIZE} {SIZE}" fill="none" stroke-linejoin="round">
<title>scikit-scn</title>
<path d="{target}" stroke="#9ca3af" stroke-width="5"/>
<path d="{network}" stroke="#c2410c" stroke-width="2.2"/>
</svg>
"""


if __name__ == "__main__":
    (Path(__file__).parent / "_static" / "logo.svg").write_text(draw(), encoding="utf-8")
