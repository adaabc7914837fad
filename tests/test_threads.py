"""BLAS has one thread as long as anybody needs it so, and all of them afterwards."""

import threading

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from skscn.threads import single_threaded


def blas_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def three_threads():
    with threadpool_limits(limits=3, user_api="blas"):
        assert blas_threads() == {3}
        yield


def test_the_limit_ends_with_its_last_user_whatever_their_order():
    entered, leave = threading.Event(), threading.Event()

    def other():
        with single_threaded():
            entered.set()
            leave.wait(timeout=60)

    thread = threading.Thread(target=other)
    with single_threaded(), single_threaded():
        thread.start()
        assert entered.wait(timeout=60)
    assert blas_threads() == {1}
    leave.set()
    thread.join(timeout=60)
    assert blas_threads() == {3}


def test_any_thread_may_set_the_limit():
    """The first one ends, and the second one, which had nothing to do with it, is limited as well."""
    seen, first_done, second_done = [], threading.Event(), threading.Event()

    def first():
        with single_threaded():
            seen.append(blas_threads())
        first_done.set()
        second_done.wait(timeout=60)

    thread = threading.Thread(target=first)
    thread.start()
    assert first_done.wait(timeout=60)
    with single_threaded():
        seen.append(blas_threads())
    second_done.set()
    thread.join(timeout=60)
    assert seen == [{1}, {1}]
    assert blas_threads() == {3}


def test_an_error_lifts_the_limit():
    with pytest.raises(ValueError, match="whatever"), single_threaded():
        raise ValueError("whatever")
    assert blas_threads() == {3}
