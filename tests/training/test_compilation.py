"""Where compiled programs are kept, and that another seed needs no other programs."""

import functools

import jax
import pytest

from vatex_jax.training.compilation import enable_compilation_cache, jit
from vatex_jax.training.loop import train


@pytest.fixture(autouse=True)
def put_back():
    before = jax.config.jax_compilation_cache_dir
    yield
    if before:
        enable_compilation_cache(before)


def test_the_folder_told_goes_before_jax_s_variable_and_that_before_the_user_s(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path / "jax"))
    assert enable_compilation_cache(tmp_path / "told") == tmp_path / "told"
    assert enable_compilation_cache() == tmp_path / "jax"
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR")
    assert enable_compilation_cache() == tmp_path / "user" / "vatex_jax" / "compiled"
    assert jax.config.jax_compilation_cache_dir == str(tmp_path / "user" / "vatex_jax" / "compiled")
    assert (tmp_path / "user" / "vatex_jax" / "compiled").is_dir()


def test_another_seed_compiles_nothing_anew(toy, tmp_path):
    folder = enable_compilation_cache(tmp_path / "compiled")
    kept, ends = [], []
    for seed in (1, 2):
        jax.clear_caches()
        workdir = tmp_path / str(seed)
        result = train(
            toy.ToyTask(),
            toy.ToyBatches(),
            config=toy.make_config(max_steps=1),
            seed=seed,
            workdir=workdir,
            evaluate=None,
        )
        kept.append({path.name for path in folder.iterdir() if path.name.endswith("-cache")})
        ends.append(toy.flat(result.params))
    assert kept[0]
    assert kept[1] == kept[0]
    assert any((ends[0][name] != ends[1][name]).any() for name in ends[0])


def test_a_program_compiled_quickly_is_another_one_with_the_same_result(tmp_path):
    folder = enable_compilation_cache(tmp_path / "compiled")
    made = []
    for compile_with in (jax.jit, jit, functools.partial(jit, cpu_level=0)):
        jax.clear_caches()
        made.append(
            compile_with(lambda key: jax.random.normal(key, (64, 64)) @ jax.numpy.ones((64, 3)))(jax.random.key(0))
        )
    assert jax.numpy.allclose(*made, atol=1e-4)
    if jax.default_backend() == "cpu":
        assert len([path for path in folder.iterdir() if path.name.endswith("-cache") and "lambda" in path.name]) == 3
