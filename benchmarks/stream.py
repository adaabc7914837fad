"""How well models that learn row by row predict streams, compared with those of river; and how they follow drift.

usage: ./run bench stream [--data DIR] [--most N] [--rows N] [--seed S] [--jobs N] [--only compare|drift|faults]
       [--page]

Compared, in one run and one thread: OnlineSCNRegressor, and river's linear regression, Hoeffding adaptive tree, ten
bagged ones, aggregated Mondrian forest and nearest neighbours, all with their default settings and behind a
StandardScaler, which our estimator does not need; the forest without one as well. Streams: ChickWeights and
TrumpApproval, which are part of river, and five data sets of DIR/regression, the first in alphabetical order, each in
random order, of which --most limits the number of rows. Each row is predicted, and then learnt; errors are those of all
rows but the first.

Drift: three synthetic streams and a simulated plant of --rows rows, compared with an oracle that knows when the regime
changes, and two streams without drift; --jobs of them at a time.

Faults: two of these streams with spikes up to 1e300, −9999 and other values that stand for missing ones, outages, and
frozen and shifted stretches, compared with the same rows without spikes.

Results are written to docs/stream_results.csv, docs/stream_drift.csv and docs/stream_faults.csv; --page only renews the
tables of docs/evidence_streams.md from these.
"""

import argparse
import sys
from pathlib import Path

from stream_parts.comparing import compare
from stream_parts.following import follow
from stream_parts.page import renew
from stream_parts.spiking import spike

DOCS = Path(__file__).resolve().parents[1] / "docs"


def main(arguments=None) -> int:
    options = parse_arguments(arguments)
    if not options.page:
        if options.only in (None, "compare"):
            compare(options.data, options.seed, options.most, DOCS / "stream_results.csv")
        if options.only in (None, "drift"):
            follow(options.rows, options.seed, options.jobs, DOCS / "stream_drift.csv")
        if options.only in (None, "faults"):
            spike(options.rows, options.seed, options.jobs, DOCS / "stream_faults.csv")
    renew(DOCS)
    return 0


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--most", type=int)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", choices=["compare", "drift", "faults"])
    parser.add_argument("--page", action="store_true")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
