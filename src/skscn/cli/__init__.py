"""The command line program ``skscn``."""

import signal
import sys

from skscn.cli.interrupts import later
from skscn.extras import how_to_install


def main() -> None:
    """Run the program; without the extra that it needs, say how to install it."""
    try:
        with later():
            from skscn.cli.app import app
        app(prog_name="skscn")
    except ModuleNotFoundError as missing:
        if missing.name not in ("typer", "rich"):
            raise
        sys.exit(f"The command line needs {missing.name}: {how_to_install(missing.name)}")
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted: no file was written.\n")
        sys.exit(130)
    finally:
        # All has been said; what Python still has to shut down, such as worker processes, is not worth a traceback.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
