"""The numbers that the paper reports, each a mean and a standard deviation over 100 trials.

D. Wang and M. Li, "Stochastic Configuration Networks: Fundamentals and Algorithms", IEEE Transactions on Cybernetics
47 (10), 2017, 3466-3479; Tables 1 to 5.
"""

from typing import NamedTuple


class Reported(NamedTuple):
    """A mean and, where the paper gives one, a standard deviation."""

    mean: float
    std: float | None = None


# Table 1, DB 1: (method, "train" or "test", nodes) -> RMSE.
TABLE1 = {
    ("MQ", "train", 25): Reported(0.1031, 0.0001),
    ("MQ", "train", 50): Reported(0.1030, 0.0001),
    ("MQ", "test", 25): Reported(0.1011, 0.0003),
    ("MQ", "test", 50): Reported(0.1011, 0.0003),
    ("IRVFL", "train", 25): Reported(0.1630, 0.0008),
    ("IRVFL", "train", 50): Reported(0.1626, 0.0005),
    ("IRVFL", "test", 25): Reported(0.1622, 0.0012),
    ("IRVFL", "test", 50): Reported(0.1617, 0.0008),
    ("SC-I", "train", 25): Reported(0.0927, 0.0020),
    ("SC-I", "train", 50): Reported(0.0887, 0.0018),
    ("SC-I", "test", 25): Reported(0.0912, 0.0021),
    ("SC-I", "test", 50): Reported(0.0870, 0.0019),
    ("SC-II", "train", 25): Reported(0.0435, 0.0061),
    ("SC-II", "train", 50): Reported(0.0366, 0.0049),
    ("SC-II", "test", 25): Reported(0.0411, 0.0064),
    ("SC-II", "test", 50): Reported(0.0337, 0.0049),
    ("SC-III", "train", 25): Reported(0.0332, 0.0065),
    ("SC-III", "train", 50): Reported(0.0097, 0.0036),
    ("SC-III", "test", 25): Reported(0.0308, 0.0060),
    ("SC-III", "test", 50): Reported(0.0100, 0.0033),
}
