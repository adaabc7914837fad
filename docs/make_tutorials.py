"""Run the snippets of the tutorials: ``python docs/make_tutorials.py``.

Figures go to docs/images, and what a snippet prints into the block below it.
"""

import io
import os
import re
import shutil
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).parent.resolve()
SNIPPET = re.compile(r"(?<=^```python\n)(.*?)^```$(\n\n```text\n.*?^```$)?", re.DOTALL | re.MULTILINE)


def run_page(page: Path) -> None:
    """Run a page's snippets, one after the other, and write what each prints into the block below it."""
    names: dict[str, object] = {"__name__": "__main__"}

    def run_snippet(match: re.Match[str]) -> str:
        with redirect_stdout(io.StringIO()) as printed:
            exec(compile(match[1], page.name, "exec"), names)
        lines = "".join(f"{line.rstrip()}\n" for line in printed.getvalue().splitlines())
        return f"{match[1]}```" + (f"\n\n```text\n{lines}```" if match[2] else "")

    page.write_text(SNIPPET.sub(run_snippet, page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    for path in sorted(HERE.glob("tutorial_*.md")):
        with TemporaryDirectory() as folder:
            os.chdir(folder)
            run_page(path)
            for picture in Path(folder).glob("*.png"):
                shutil.copy(picture, HERE / "images" / picture.name)
            os.chdir(HERE)
