"""Growing a network on a Dask cluster: what crosses the network, and what happens when workers or the driver die.

usage: ./run bench cluster [networks] [traffic] [faults] [--data DIR] [--nodes 15] [--fits 20]

networks  whether the networks of a cluster are those of rows in memory, for all algorithms, on the tables of
          ./run bench accuracy with 2000 rows or more; DIR is the folder of that benchmark
traffic   bytes that the driver receives and sends for each node, by rows, nodes, candidates, outputs and partitions
faults    fits during which workers, or the whole program, are killed at a random moment; how many end with the network
          of an undisturbed fit, bit for bit
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from accuracy_parts.sets import DATA_VARIABLE, load_sets

from skscn import SCNClassifier, SCNRegressor
from skscn.output_weights import ALGORITHMS
from skscn.search import Polished
from skscn.search.ladder import Ladder

CLUSTER = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
SCOPES = (1.0, 5.0, 15.0, 30.0, 50.0)
FAULTY = {"max_nodes": 25, "random_state": 0}
PARTS = ("weights", "biases", "output_weights")


def problem(n_rows, outputs=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, 10))
    Y = np.column_stack([np.sin(5 * X @ rng.normal(size=10)) + X[:, 0] * X[:, 1] for _ in range(outputs)])
    return X, Y[:, 0] if outputs == 1 else Y


def collections(X, y, partitions):
    import dask.array as da

    size = -(-len(X) // partitions)
    return da.from_array(X, chunks=(size, -1)), da.from_array(y, chunks=(size, *y.shape[1:]))


# ---- networks


def networks(options):
    from distributed import Client, LocalCluster

    sets = [data for task in ("regression", "classification") for data in load_sets(task, options.data)]
    with LocalCluster(**CLUSTER) as cluster, Client(cluster):
        for data in (data for data in sets if len(data.X) >= 2000):
            estimator = SCNRegressor if data.task == "regression" else SCNClassifier
            for algorithm in ALGORITHMS:
                one, other = (estimator(algorithm=algorithm, max_nodes=options.nodes, random_state=0) for _ in range(2))
                one.fit(data.X, data.y)
                other.fit(*collections(data.X, data.y, 3))
                predict = "predict" if data.task == "regression" else "predict_proba"
                difference = np.abs(getattr(one, predict)(data.X) - getattr(other, predict)(data.X)).max()
                nodes = "the same" if same(one.network_, other.network_) else "OTHER"
                print(
                    f"{data.name:22s} {algorithm:7s} {nodes} {one.n_nodes_} nodes, predictions to {difference:.0e}",
                    flush=True,
                )


def same(one, other):
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in PARTS)


# ---- traffic


@contextmanager
def counted(totals):
    """Count the bytes that this process, which is the driver alone, receives and sends."""
    from distributed.comm import tcp
    from distributed.utils import nbytes

    read, write = tcp.from_frames, tcp.to_frames

    def reading(frames, *arguments, **named):
        totals[0] += sum(nbytes(frame) for frame in frames)
        return read(frames, *arguments, **named)

    async def writing(*arguments, **named):
        frames = await write(*arguments, **named)
        totals[1] += sum(nbytes(frame) for frame in frames)
        return frames

    tcp.from_frames, tcp.to_frames = reading, writing
    try:
        yield
    finally:
        tcp.from_frames, tcp.to_frames = read, write


def watching(search, totals, seen):
    """A search that notes, before every node, how many bytes have crossed so far."""

    class Watching(search):
        def propose(self, rows, node, rng, count):
            seen[node] = tuple(totals)
            return super().propose(rows, node, rng, count)

    return Watching


def traffic_of_a_node(n_rows, nodes, partitions, outputs=1, search=Polished, max_candidates=200):
    """Bytes received and sent for one node: the mean of ten, when the network has so many."""
    totals, seen = [0, 0], {}
    configuration = watching(search, totals, seen)(SCOPES, max_candidates=max_candidates)
    model = SCNRegressor(
        max_nodes=nodes + 11,
        tol=0,
        direct_link=False,
        early_stopping=False,
        configuration=configuration,
        random_state=0,
    )
    with counted(totals):
        model.fit(*collections(*problem(n_rows, outputs), partitions))
    return [(after - before) / 10 for before, after in zip(seen[nodes + 1], seen[nodes + 11], strict=True)]


def traffic(options):
    from distributed import Client
    from distributed.deploy.subprocess import SubprocessCluster

    cases = {
        "20,000 rows": (20_000, 20, 4),
        "200,000 rows": (200_000, 20, 4),
        "200,000 rows, 80 nodes": (200_000, 80, 4),
        "200,000 rows, 3 outputs": (200_000, 20, 4, 3),
        "200,000 rows, 12 partitions": (200_000, 20, 12),
        "paper's search, 20,000 rows": (20_000, 20, 4, 1, Ladder),
        "paper's search, 200,000 rows": (200_000, 20, 4, 1, Ladder),
        "paper's search, T_max = 800": (200_000, 20, 4, 1, Ladder, 800),
    }
    with SubprocessCluster(n_workers=2, worker_kwargs={"nthreads": 1}) as cluster, Client(cluster):
        print(f"{'':32s}  kB received  kB sent, for one node")
        for name, case in cases.items():
            received, sent = traffic_of_a_node(*case)
            print(f"{name:32s}  {received / 1e3:11.1f}  {sent / 1e3:7.1f}", flush=True)


# ---- faults


def faults(options):
    killed_workers(options.fits, 1)
    killed_workers(options.fits, 2)
    killed_programs(options.fits)


def killed_workers(fits, kills):
    """Kill workers one after the other, each at a random moment, with SIGKILL."""
    from distributed import Client, LocalCluster

    X, y = problem(40_000)
    expected = SCNRegressor(**FAULTY).fit(X, y).network_
    rng, equal, duration = np.random.default_rng(kills), 0, None
    for fit in range(fits):
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
            Client(cluster) as client,
        ):
            if duration is None:
                started = time.perf_counter()
                SCNRegressor(**FAULTY).fit(*collections(X, y, 4))
                duration = time.perf_counter() - started
            victims = threading.Thread(target=kill_workers, args=(client, np.sort(rng.uniform(0.0, duration, kills))))
            victims.start()
            found = SCNRegressor(**FAULTY).fit(*collections(X, y, 4)).network_
            victims.join()
        equal += same(found, expected)
        print(f"\r{fit + 1} of {fits}, {equal} the same", end="", file=sys.stderr, flush=True)
    print(f"\r{equal} of {fits} fits with {kills} workers killed in each ended with the undisturbed network")


def kill_workers(client, moments):
    """Kill one worker at each of these moments, in seconds from now; another one each time where there are two."""
    begun, last = time.perf_counter(), None
    for moment in moments:
        time.sleep(max(0.0, moment - (time.perf_counter() - begun)))
        workers = client.run(os.getpid)
        chosen = next((pid for address, pid in workers.items() if address != last), None)
        if chosen is not None:
            last = next(address for address, pid in workers.items() if pid == chosen)
            os.kill(chosen, signal.SIGKILL)


PROGRAM = """
import sys
import numpy as np
sys.path.insert(0, {folder!r})
from cluster import FAULTY, collections, problem
from skscn import SCNRegressor

if __name__ == "__main__":
    from distributed import Client, LocalCluster
    X, y = problem(40_000)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster):
        print("begin", flush=True)
        model = SCNRegressor(checkpoint=sys.argv[1], **FAULTY).fit(*collections(X, y, 4))
    np.save(sys.argv[2], model.network_.output_weights)
"""


def killed_programs(fits):
    """Kill the driver at a random moment, then run it again with the same checkpoint."""
    rng, equal, begun = np.random.default_rng(3), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        program, result = Path(folder) / "program.py", Path(folder) / "result.npy"
        program.write_text(PROGRAM.format(folder=str(Path(__file__).parent)))

        def run(number):
            command = [sys.executable, str(program), str(Path(folder) / f"{number}.ckpt"), str(result)]
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
            )
            process.stdout.readline()
            return process

        started = time.perf_counter()
        run("undisturbed").wait()
        duration, expected = time.perf_counter() - started, np.load(result)
        for fit in range(fits):
            process = run(fit)
            time.sleep(rng.uniform(0.0, 0.7 * duration))
            # With its workers, as when a machine goes down.
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            begun += (Path(folder) / f"{fit}.ckpt").exists()
            result.unlink(missing_ok=True)
            run(fit).wait()
            equal += np.array_equal(np.load(result), expected)
            print(f"\r{fit + 1} of {fits}", end="", file=sys.stderr, flush=True)
    killed = f"{fits} programs killed, {begun} with a checkpoint, and run again"
    print(f"\r{equal} of {killed} ended with the undisturbed network")


STUDIES = {"networks": networks, "traffic": traffic, "faults": faults}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("studies", nargs="*", metavar="study", help="networks, traffic, faults; all by default")
    folder = os.environ.get(DATA_VARIABLE)
    parser.add_argument("--data", type=Path, default=Path(folder) if folder else None)
    parser.add_argument("--nodes", type=int, default=15, help="nodes of the networks that are compared")
    parser.add_argument("--fits", type=int, default=20, help="fits for each kind of fault")
    options = parser.parse_args()
    unknown = set(options.studies) - set(STUDIES)
    if unknown:
        parser.error(f"There is no study {', '.join(sorted(unknown))}; choose from {', '.join(STUDIES)}.")
    for study in options.studies or STUDIES:
        STUDIES[study](options)


if __name__ == "__main__":
    main()
