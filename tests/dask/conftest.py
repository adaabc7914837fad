"""One cluster of two worker processes for all tests here, started and stopped by them."""

import pytest


@pytest.fixture(scope="session")
def cluster():
    import dask
    from distributed import LocalCluster

    # By default the cluster gives up a worker that is away 15 s after one of the same name died, which a test with a
    # second death would meet by chance.
    patient = dask.config.set({"distributed.deploy.lost-worker-timeout": "1h"})
    with patient, LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=0) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    from distributed import Client

    with Client(cluster) as client:
        yield client
