import numpy as np
import pytest
from scipy.special import expit

from skscn.activations import ACTIVATIONS, Activation, resolve_activation

TRUTH = {
    "sigmoid": expit,
    "tanh": np.tanh,
    "gaussian": lambda z: np.exp(-(z**2)),
    "sine": np.sin,
    "cosine": np.cos,
    "relu": lambda z: np.where(z > 0, z, 0.0),
}
Z = np.linspace(-6.0, 6.0, 400)  # without 0, where relu has no derivative


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_value_is_the_function_and_is_written_in_place(name):
    z = Z.copy()
    value = ACTIVATIONS[name].value(z)
    np.testing.assert_allclose(value, TRUTH[name](Z), atol=1e-15)
    assert np.shares_memory(value, z)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_derivative_agrees_with_differences_and_leaves_its_argument(name):
    activation, step, z = ACTIVATIONS[name], 1e-6, Z.copy()
    slope = (activation.value(Z + step) - activation.value(Z - step)) / (2 * step)
    np.testing.assert_allclose(activation.derivative(z), slope, atol=1e-8)
    np.testing.assert_array_equal(z, Z)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_bound_holds_far_out(name):
    far = np.array([-1e12, -700.0, 0.0, 700.0, 1e12])
    assert np.abs(ACTIVATIONS[name].value(far)).max() <= ACTIVATIONS[name].bound


def test_a_function_of_ones_own_is_evaluated_in_place():
    activation = resolve_activation(np.arctan)
    z = Z.copy()
    assert np.shares_memory(activation.value(z), z)
    np.testing.assert_array_equal(z, np.arctan(Z))
    assert activation.name == "arctan"


def test_an_instance_is_taken_as_it_is():
    activation = Activation("mine", np.sin)
    assert resolve_activation(activation) is activation
