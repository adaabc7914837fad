"""The numbers that the paper reports: means over 100 trials, most of them with a standard deviation.

D. Wang and M. Li, "Stochastic Configuration Networks: Fundamentals and Algorithms", IEEE Transactions on Cybernetics
47 (10), 2017, 3466-3479; Tables 1 to 5. Errors are RMSE on data scaled to [0, 1]; "nodes" and "test at ε" are those at
which the training error reaches ε = 0.05.
"""

from typing import NamedTuple

METHODS = ("MQ", "IRVFL", "SC-I", "SC-II", "SC-III")
TOLERANCE = 0.05
# Number of trials for each mean of the paper.
PAPER_TRIALS = 100


class Reported(NamedTuple):
    """A mean and, if the paper gives one, a standard deviation."""

    mean: float
    std: float | None = None


def _accuracy(rows: dict[str, tuple[tuple[float, ...], ...]]) -> dict[tuple[str, str, int], Reported]:
    """(method, "train" or "test", nodes) -> RMSE, from rows of four means with deviations."""
    columns = (("train", 25), ("train", 50), ("test", 25), ("test", 50))
    return {
        (method, *column): Reported(*value)
        for method, values in rows.items()
        for column, value in zip(columns, values, strict=True)
    }


# Table 1: DB 1.
TABLE1 = _accuracy(
    {
        "MQ": ((0.1031, 0.0001), (0.1030, 0.0001), (0.1011, 0.0003), (0.1011, 0.0003)),
        "IRVFL": ((0.1630, 0.0008), (0.1626, 0.0005), (0.1622, 0.0012), (0.1617, 0.0008)),
        "SC-I": ((0.0927, 0.0020), (0.0887, 0.0018), (0.0912, 0.0021), (0.0870, 0.0019)),
        "SC-II": ((0.0435, 0.0061), (0.0366, 0.0049), (0.0411, 0.0064), (0.0337, 0.0049)),
        "SC-III": ((0.0332, 0.0065), (0.0097, 0.0036), (0.0308, 0.0060), (0.0100, 0.0033)),
    }
)

# Table 2: data set -> the same.
TABLE2 = {
    "DB2": _accuracy(
        {
            "MQ": ((0.0624, 0.0058), (0.0410, 0.0014), (0.0611, 0.0061), (0.0407, 0.0017)),
            "IRVFL": ((0.2121, 0.0260), (0.1853, 0.0248), (0.2057, 0.0268), (0.1787, 0.0237)),
            "SC-I": ((0.0963, 0.0032), (0.0881, 0.0026), (0.0925, 0.0031), (0.0851, 0.0024)),
            "SC-II": ((0.0437, 0.0014), (0.0395, 0.0008), (0.0427, 0.0017), (0.0391, 0.0010)),
            "SC-III": ((0.0409, 0.0010), (0.0327, 0.0007), (0.0403, 0.0012), (0.0347, 0.0012)),
        }
    ),
    "DB3": _accuracy(
        {
            "MQ": ((0.1096, 0.0042), (0.0910, 0.0014), (0.0999, 0.0048), (0.0869, 0.0021)),
            "IRVFL": ((0.2045, 0.0189), (0.1929, 0.0135), (0.2109, 0.0214), (0.1983, 0.0166)),
            "SC-I": ((0.1401, 0.0027), (0.1358, 0.0022), (0.1315, 0.0026), (0.1258, 0.0017)),
            "SC-II": ((0.0994, 0.0018), (0.0943, 0.0011), (0.0925, 0.0029), (0.0874, 0.0018)),
            "SC-III": ((0.0969, 0.0013), (0.0835, 0.0012), (0.0898, 0.0020), (0.0850, 0.0025)),
        }
    ),
    "DB4": _accuracy(
        {
            "MQ": ((0.0840, 0.0052), (0.0600, 0.0071), (0.0848, 0.0053), (0.0624, 0.0075)),
            "IRVFL": ((0.2002, 0.0391), (0.1924, 0.0283), (0.1958, 0.0386), (0.1882, 0.0281)),
            "SC-I": ((0.1207, 0.0036), (0.1137, 0.0038), (0.1169, 0.0038), (0.1105, 0.0040)),
            "SC-II": ((0.0760, 0.0034), (0.0579, 0.0029), (0.0773, 0.0039), (0.0593, 0.0036)),
            "SC-III": ((0.0678, 0.0038), (0.0394, 0.0016), (0.0697, 0.0044), (0.0418, 0.0021)),
        }
    ),
}

# Table 3: (data set, method) -> seconds, nodes and test error at ε; None where the method does not get there.
TABLE3: dict[tuple[str, str], tuple[Reported, Reported, Reported] | None] = {
    ("DB1", "MQ"): None,
    ("DB1", "IRVFL"): None,
    ("DB1", "SC-I"): None,
    ("DB1", "SC-II"): (Reported(0.4029, 0.1690), Reported(26.67, 8.7514), Reported(0.0463, 0.0021)),
    ("DB1", "SC-III"): (Reported(0.2737, 0.0719), Reported(19.90, 3.6167), Reported(0.0435, 0.0047)),
    ("DB2", "MQ"): (Reported(1.3157, 0.6429), Reported(34.1809, 3.5680), Reported(0.0532, 0.0175)),
    ("DB2", "IRVFL"): None,
    ("DB2", "SC-I"): None,
    ("DB2", "SC-II"): (Reported(0.2193, 0.0454), Reported(16.72, 2.1513), Reported(0.0488, 0.0016)),
    ("DB2", "SC-III"): (Reported(0.2083, 0.0317), Reported(16.36, 1.5987), Reported(0.0483, 0.0020)),
}


class WindowRow(NamedTuple):
    """A row of Table 4 or 5: errors after a fixed number of nodes; seconds and nodes at ε."""

    train: Reported
    test: Reported
    seconds: Reported
    nodes: Reported


def _window(train: tuple[float, ...], test: tuple[float, ...], seconds: float, nodes: float) -> WindowRow:
    return WindowRow(Reported(*train), Reported(*test), Reported(seconds), Reported(nodes))


# Table 4: DB 1, SC-II, errors at 35 nodes, by window size K.
TABLE4 = {
    5: _window((0.0682, 0.0049), (0.0672, 0.0049), 1.36, 99.99),
    10: _window((0.0530, 0.0061), (0.0516, 0.0064), 0.72, 50.85),
    15: _window((0.0439, 0.0062), (0.0416, 0.0068), 0.34, 25.07),
    20: _window((0.0364, 0.0069), (0.0338, 0.0064), 0.28, 21.21),
    25: _window((0.0325, 0.0073), (0.0303, 0.0067), 0.26, 20.29),
    30: _window((0.0267, 0.0056), (0.0252, 0.0049), 0.25, 19.62),
    35: _window((0.0248, 0.0069), (0.0233, 0.0062), 0.25, 19.75),
}

# Table 5: DB 2, the same at 25 nodes.
TABLE5 = {
    5: _window((0.0613, 0.0039), (0.0601, 0.0037), 0.88, 66.42),
    10: _window((0.0492, 0.0024), (0.0493, 0.0027), 0.31, 23.48),
    15: _window((0.0443, 0.0014), (0.0436, 0.0020), 0.21, 16.62),
    20: _window((0.0420, 0.0012), (0.0412, 0.0015), 0.20, 16.16),
    25: _window((0.0411, 0.0010), (0.0405, 0.0013), 0.20, 16.35),
}
