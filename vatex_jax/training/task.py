"""What the training loop is given: a task to learn, batches to learn it from, and a judge of the result.

The loop knows nothing of models; a translator, a captioner and a dialogue agent are three tasks.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, runtime_checkable

import jax
import numpy as np

# A pytree of arrays, as Linen makes them: nested dictionaries.
Params = Any

# Called on the host at each evaluation with the parameters (replicated device arrays, only valid during the call: the
# next step reuses their memory) and the number of epochs trained; returns numbers by name.
Evaluate = Callable[[Params, int], Mapping[str, float]]


@runtime_checkable
class Task(Protocol):
    """A model together with its loss."""

    def init(self, key: jax.Array) -> Params:
        """Fresh parameters, a function of the key alone."""

    def loss(
        self, params: Params, batch: dict[str, jax.Array], key: jax.Array, step: jax.Array
    ) -> tuple[jax.Array, dict[str, jax.Array]]:
        """Mean loss of a global batch, and what else to report.

        Args:
          params: as `init` makes them.
          batch: the global batch; under `jit` its arrays are split over the devices by rows, and the loss, a sum over
            all real tokens divided by their number, needs no collective of its own.
          key: random key of this step, for dropout and sampling.
          step: int32 scalar, training steps done before this one, for schedules (scheduled sampling).

        Returns:
          The loss (float32 scalar) and a dictionary of scalars with `tokens`, the number the loss was divided by.
        """


@runtime_checkable
class Batches(Protocol):
    """Training batches as a pure function of the step, so that a resume needs to know nothing but the step."""

    steps_per_epoch: int

    def batch(self, step: int) -> dict[str, np.ndarray]:
        """Global batch number `step` of the run: arrays with the rows first, `index` among them naming the examples."""

    def of_each_shape(self) -> Iterable[dict[str, np.ndarray]]:
        """A batch of each shape there is; what it holds does not matter."""
