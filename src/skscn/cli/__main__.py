"""``python -m skscn.cli``."""

from skscn.cli import main

main()
