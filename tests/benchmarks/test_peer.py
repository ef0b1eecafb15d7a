"""The PyTorch peer computes what ours computes: logits, loss, gradients' step, and beam search."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the benchmarks' peer needs PyTorch: pip install -e .[bench]")

from benchmarks import beam_decode, torch_translator  # noqa: E402
from benchmarks.train_step import OurTraining, PeerTraining  # noqa: E402
from benchmarks.workload import ModelSizes, random_examples  # noqa: E402
from vatex_jax.data.batching import assemble  # noqa: E402
from vatex_jax.models.translator import Translator, translation_loss  # noqa: E402

SIZES = ModelSizes(
    source_vocabulary=23,
    target_vocabulary=29,
    feature=7,
    embedding=6,
    source_hidden=3,
    video_hidden=2,
    video_projection=5,
    decoder_hidden=10,
    layers=2,
)
LENGTHS = np.array([[5, 3], [1, 6], [4, 1]])


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    # Threads that wait for each other take seconds for tiny matrices on a busy machine.
    monkeypatch.setattr("benchmarks.timing.threads", lambda: 1)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def both():
    """Batch of unequal lengths, our parameters, what ours makes of them, and the peer with the same parameters."""
    batch = assemble(random_examples(SIZES, LENGTHS, 4, 0), range(3), (6, 8, 4), 3)
    arrays = {name: jnp.asarray(batch[name]) for name in ("source", "target", "video", "video_mask")}
    model = Translator(**SIZES.translator_fields(), dropout=0.0)
    shapes = jax.eval_shape(model.init, jax.random.key(0), **arrays)["params"]
    rng = np.random.default_rng(0)
    params = jax.tree.map(lambda leaf: rng.normal(0.0, 0.4, leaf.shape).astype(np.float32), shapes)

    @jax.jit  # all in one program: compiling is what takes time here
    def ours(params):
        loss, gradient = jax.value_and_grad(lambda p: translation_loss(model, p, arrays, None)[0])(params)
        return {"loss": loss, "gradient": gradient, "logits": model.apply({"params": params}, **arrays)}

    peer = torch_translator.TorchTranslator(SIZES, 0.0).eval()
    torch_translator.copy_flax_parameters(params, peer)
    return batch, params, jax.tree.map(np.asarray, ours(params)), peer


def _peer_inputs(batch):
    source, target = (torch.from_numpy(batch[name]).long() for name in ("source", "target"))
    return source, target, torch.from_numpy(batch["video"])


def test_logits_equal_ours_on_the_real_positions(both):
    batch, _, ours, peer = both
    with torch.inference_mode():
        theirs = peer(*_peer_inputs(batch)).numpy()
    real = batch["target"] != 0
    np.testing.assert_allclose(ours["logits"][real], theirs[real], atol=1e-5)


def test_stepwise_logits_are_the_same(both):
    batch, *_, peer = both
    with torch.inference_mode():
        after, within = peer(*_peer_inputs(batch)), peer.forward_stepwise(*_peer_inputs(batch))
    np.testing.assert_allclose(after.numpy(), within.numpy(), atol=1e-6)


def test_loss_and_gradients_equal_ours(both):
    batch, _, ours, peer = both
    source, target, video = _peer_inputs(batch)
    peer.zero_grad()
    theirs = torch_translator.translation_loss(peer(source, target, video), target)
    theirs.backward()
    assert float(ours["loss"]) == pytest.approx(theirs.item(), abs=1e-5)
    # The gradient, put through the copying of parameters, lands where the peer's own gradient is.
    moved = torch_translator.TorchTranslator(SIZES, 0.0)
    torch_translator.copy_flax_parameters(ours["gradient"], moved)
    theirs_by_name = dict(peer.named_parameters())
    for name, value in moved.named_parameters():
        if "bias_hh" not in name:
            np.testing.assert_allclose(value.detach(), theirs_by_name[name].grad, atol=1e-5, err_msg=name)


def test_copying_names_what_the_parameters_lack(both):
    peer = torch_translator.TorchTranslator(SIZES, 0.0)
    params = jax.tree.map(np.copy, both[1])
    params["output"]["words"]["bias"] = np.full(29, np.nan)
    with pytest.raises(ValueError, match=r"output_words\.bias"):
        torch_translator.copy_flax_parameters(params, peer)


def test_both_training_steps_learn_a_batch_by_heart():
    """20 steps on one batch lower both losses, the peer's stepwise too; the first is near log V."""
    sizes = dataclasses.replace(SIZES, layers=1)  # half the time to compile
    batch = assemble(random_examples(sizes, LENGTHS, 4, 0), range(3), (6, 8, 4), 3)
    ours, peer, stepwise = OurTraining(sizes, 8), PeerTraining(sizes), PeerTraining(sizes)
    for step in (ours.step, peer.step, lambda b: stepwise.step(b, stepwise=True)):
        losses = [step(batch) for _ in range(20)]
        assert losses[0] == pytest.approx(np.log(29), abs=0.7)
        assert np.mean(losses[-3:]) < np.mean(losses[:3])
    assert ours.matrix_rate() > 0


@pytest.fixture(scope="module")
def decoded():
    """A small plan, both sides, and what both found with beams of 1 and 3."""
    plan = beam_decode.Plan(SIZES, sentences=9, beam=3, words=6, segments=4, chunk=4)
    ours = beam_decode.OurDecoding(plan)
    torch.set_num_threads(1)
    peer = beam_decode.PeerDecoding(plan, ours.params())
    return ours, {beam: (ours.search(beam), peer.search(beam)) for beam in (1, 3)}


@pytest.mark.parametrize("beam", [1, 3])
def test_beam_searches_find_the_same(decoded, beam):
    ours, theirs = decoded[1][beam]
    np.testing.assert_array_equal(ours[0], theirs[0])
    np.testing.assert_allclose(ours[1], theirs[1], atol=1e-5)


def test_outputs_end_and_vary_in_length(decoded):
    tokens, _ = decoded[1][3][0]
    assert ((tokens == 3).sum(1) == 1).all()
    assert len(set((tokens > 4).sum(1).tolist())) > 1


def test_beam_of_one_is_greedy(decoded):
    ours, found = decoded
    np.testing.assert_array_equal(ours.greedy()[0], found[1][0][0])


def test_differences_count_ties_apart():
    """Of three outputs, one is the same, one differs within rounding, one beyond."""
    ours = np.array([[5, 3], [5, 3], [5, 3]]), np.array([-1.0, -1.0, -1.0])
    peer = np.array([[5, 3], [6, 3], [6, 3]]), np.array([-1.0, -1.00005, -1.1])
    counted = beam_decode.differences(ours, peer)
    assert (counted["different"], counted["different_beyond_1e-4"]) == (2, 1)
    assert counted["largest_score_gap"] == pytest.approx(0.1)
