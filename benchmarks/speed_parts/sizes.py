"""How large the measurements are: as published, with ten million rows, or small."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Sizes:
    """How large the measurements are.

    Attributes
    ----------
    scoring : rows, inputs and candidates of part a
    books : rows and turns of part b; ``book_nodes`` nodes
    book_seconds : what one run of the textbook may take before the rest is extrapolated
    table_rows : rows of the synthetic sets of part c
    iterations : the numbers of iterations that other learners get there
    base, sweeps : the middle of part d, and the values that each of its sizes takes
    configurations : the searches of parts d and e
    thread_rows, thread_nodes : part e
    core_rows : rows of part f
    predicted_rows, predicting_nodes, calls : part g
    turns, fit_turns, imports : repeats of short measurements, of fits and of imports
    """

    scoring: tuple[int, int, int] = (100_000, 20, 200)
    books: tuple[tuple[int, int], ...] = ((20_000, 3), (200_000, 1))
    book_nodes: int = 100
    book_seconds: float = 600.0
    table_rows: int = 8000
    iterations: dict[str, tuple[int, ...]] = field(
        default_factory=lambda: {"MLP": (10, 20, 50, 100, 200, 500), "boosting": (10, 20, 50, 100, 200, 500)}
    )
    base: dict[str, int] = field(default_factory=lambda: {"N": 20_000, "L": 40, "d": 10, "T": 100})
    sweeps: dict[str, tuple[int, ...]] = field(
        default_factory=lambda: {
            "N": (1000, 10_000, 100_000, 1_000_000),
            "L": (10, 20, 40, 80, 160),
            "d": (2, 5, 10, 20, 50, 100),
            "T": (25, 50, 100, 200, 400, 800),
        }
    )
    configurations: tuple[str, ...] = ("ladder", "polished")
    thread_rows: tuple[int, ...] = (10_000, 100_000, 1_000_000)
    thread_nodes: int = 20
    core_rows: tuple[int, ...] = (100_000, 1_000_000)
    predicted_rows: int = 1_000_000
    predicting_nodes: int = 100
    calls: int = 500
    turns: int = 15
    fit_turns: int = 3
    imports: int = 7


def full() -> Sizes:
    default = Sizes()
    return Sizes(sweeps={**default.sweeps, "N": (*default.sweeps["N"], 10_000_000)})


QUICK = Sizes(
    scoring=(20_000, 20, 200),
    books=((2000, 2), (10_000, 1)),
    book_nodes=30,
    book_seconds=10.0,
    table_rows=1500,
    base={"N": 2000, "L": 20, "d": 10, "T": 50},
    sweeps={"N": (500, 2000, 8000, 32_000), "L": (10, 20, 40), "d": (5, 10, 20), "T": (25, 50, 100)},
    thread_rows=(10_000, 50_000),
    thread_nodes=10,
    core_rows=(20_000,),
    predicted_rows=100_000,
    predicting_nodes=50,
    calls=100,
    turns=7,
    fit_turns=2,
    imports=3,
)
