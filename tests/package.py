"""Build wheel and sdist, check them, and try the wheel in a new environment: ``./run package``.

What is built stays in dist/. The new environment has nothing but the wheel and its extras cli and plot.
"""

import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
# pyroma rates what PyPI shows of a package, from 0 to 10.
LEAST_RATING = 9
# The first start of the README, with the smallest sizes.
SMOKE = [
    ["--version"],
    ["example", "flats"],
    [
        "fit",
        "flats.csv",
        "--target",
        "rent",
        "--model",
        "flats.scn",
        "--cv",
        "2",
        "--set",
        "n_members=2",
        "--jobs",
        "1",
    ],
    ["predict", "flats.scn", "flats_new.csv", "-o", "predicted.csv", "--interval", "0.9"],
    ["evaluate", "flats.scn", "flats_new.csv"],
    ["report", "flats.scn", "flats_new.csv", "-o", "report.html"],
]


def main():
    for old in DIST.glob("scikit_scn-*"):
        old.unlink()
    python = [sys.executable, "-m"]
    run([*python, "build", "--outdir", DIST, ROOT])
    (wheel,), (sdist,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    run([*python, "twine", "check", "--strict", wheel, sdist])
    run([*python, "check_wheel_contents", wheel])
    rating = subprocess.run([*python, "pyroma", sdist], capture_output=True, text=True).stdout
    print(rating)
    if int(re.search(r"(\d+)/10", rating).group(1)) < LEAST_RATING:
        sys.exit(f"pyroma's rating is below {LEAST_RATING}.")
    with tempfile.TemporaryDirectory() as folder:
        try_out(wheel, Path(folder))
    print(f"{wheel.name} and {sdist.name} are in {DIST}.")


def try_out(wheel, folder):
    """Install the wheel in a new environment, and use it as a new user would."""
    venv.create(folder / "env", with_pip=True)
    programs = folder / "env" / ("Scripts" if sys.platform == "win32" else "bin")
    run([programs / "python", "-m", "pip", "install", "--quiet", f"{wheel}[cli,plot]"])
    for command in SMOKE:
        run([programs / "skscn", *command], folder)
    missing = [name for name in ("predicted.csv", "report.html") if not (folder / name).stat().st_size]
    if missing:
        sys.exit(f"Nothing was written to {', '.join(missing)}.")


def run(command, folder=ROOT):
    print("$", *(getattr(part, "name", part) for part in command), flush=True)
    if code := subprocess.call([str(part) for part in command], cwd=folder):
        sys.exit(code)


if __name__ == "__main__":
    main()
