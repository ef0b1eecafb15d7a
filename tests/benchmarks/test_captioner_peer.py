"""The PyTorch captioner computes what ours computes: logits, loss, gradients, what is fed back; both sides train."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the benchmarks' peer needs PyTorch: pip install -e .[bench]")

from benchmarks import captioning_step, torch_captioner  # noqa: E402
from benchmarks.captioning_step import OurTraining, PeerTraining  # noqa: E402
from benchmarks.workload import CaptionerSizes, random_captions  # noqa: E402
from vatex_jax.models.captioner import Captioner, captions_loss  # noqa: E402

SIZES = CaptionerSizes(
    (("en", 23), ("zh", 29)), 7, embedding=6, video_projection=5, video_hidden=4, fusion=3, decoder_hidden=8
)
LENGTHS = np.array([[5, 3], [1, 6], [4, 1]])
LANGUAGES = ("en", "zh")


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    # Threads that wait for each other take seconds for tiny matrices on a busy machine.
    monkeypatch.setattr("benchmarks.timing.threads", lambda: 1)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("logits_after", [False, True])
def test_loss_gradients_and_words_fed_back_equal_ours(logits_after):
    """Dropout off, every word fed back, so that no draw stands between the two."""
    batch = random_captions(SIZES, LENGTHS, 4, 0)
    arrays = {name: jnp.asarray(array) for name, array in batch.items()}
    model = Captioner(**SIZES.captioner_fields(), dropout=0.0)
    given = arrays["video"], arrays["video_mask"], {name: arrays[f"target_{name}"] for name in LANGUAGES}
    shapes = jax.eval_shape(model.init, jax.random.key(0), *given)["params"]
    rng = np.random.default_rng(0)
    params = jax.tree.map(lambda leaf: rng.normal(0.0, 0.4, leaf.shape).astype(np.float32), shapes)

    @jax.jit
    def ours(params):
        key = jax.random.key(0)
        loss, gradient = jax.value_and_grad(lambda p: captions_loss(model, p, arrays, key, 1.0)[0])(params)
        return loss, gradient, model.apply({"params": params}, *given, sampling=1.0, rngs={"sampling": key})

    loss, gradient, written = jax.tree.map(np.asarray, ours(params))
    peer = torch_captioner.TorchCaptioner(SIZES, 0.0, logits_after)
    torch_captioner.copy_flax_parameters(params, peer)
    targets = {name: torch.from_numpy(batch[f"target_{name}"]).long() for name in LANGUAGES}
    fed_back = {name: torch.ones_like(target, dtype=torch.bool) for name, target in targets.items()}
    logits = peer(torch.from_numpy(batch["video"]), targets, fed_back)
    theirs = torch_captioner.captions_loss(logits, targets)
    theirs.backward()
    assert float(loss) == pytest.approx(theirs.item(), abs=1e-5)
    for name in LANGUAGES:
        np.testing.assert_allclose(written[name].logits.swapaxes(0, 1), logits[name].detach(), atol=1e-5)
        true = batch[f"target_{name}"].T[:-1]
        assert (written[name].inputs[1:] != true).any()
    # The gradient, put through the copying of parameters, lands where the peer's own gradient is.
    moved = torch_captioner.TorchCaptioner(SIZES, 0.0, logits_after)
    torch_captioner.copy_flax_parameters(gradient, moved)
    theirs_by_name = dict(peer.named_parameters())
    for name, value in moved.named_parameters():
        if "bias_hh" not in name:
            np.testing.assert_allclose(value.detach(), theirs_by_name[name].grad, atol=1e-5, err_msg=name)


@pytest.mark.slow
def test_both_training_steps_learn_a_batch_by_heart():
    """20 steps on one batch lower both losses, the first of which are near log V."""
    batch = random_captions(SIZES, LENGTHS, 4, 0)
    ours = OurTraining(SIZES, 8)
    for step in (ours.step, PeerTraining(SIZES, False).step, PeerTraining(SIZES, True).step):
        losses = [step(batch) for _ in range(20)]
        assert losses[0] == pytest.approx(np.log(26), abs=0.7)
        assert np.mean(losses[-3:]) < np.mean(losses[:3])
    assert ours.step(batch, False) == pytest.approx(np.log(26), abs=0.7)
    assert ours.matrix_rate() > 0


def test_both_versions_of_the_peer_give_the_same_logits_where_some_words_are_fed_back():
    batch = random_captions(SIZES, LENGTHS, 4, 0)
    targets = {name: torch.from_numpy(batch[f"target_{name}"]).long() for name in LANGUAGES}
    torch.manual_seed(3)
    fed_back = {name: torch.rand(target.shape) < 0.5 for name, target in targets.items()}
    both = [torch_captioner.TorchCaptioner(SIZES, 0.0, logits_after) for logits_after in (False, True)]
    both[1].load_state_dict(both[0].state_dict())
    written = [peer(torch.from_numpy(batch["video"]), targets, fed_back) for peer in both]
    for name in LANGUAGES:
        assert fed_back[name][:, 1:].any()
        assert not fed_back[name][:, 1:].all()
        torch.testing.assert_close(written[0][name], written[1][name])


@pytest.mark.slow
def test_a_small_benchmark_from_end_to_end():
    results = captioning_step.run(captioning_step.Plan(SIZES, batch=3, words=4, segments=2, rounds=2, matrix=32))
    assert results["gflop"] > 0
    assert {"ours", "peer", "speedup", "peak_share", "peak_memory_gb", "teacher_forcing"} <= set(results)
    assert "scheduled sampling 0.25" in captioning_step.table(results)
