"""Where compiled programs are kept: where told, where JAX's own variable says, or below the user's cache folder."""

import jax
import pytest

from vatex_jax.training.compilation import enable_compilation_cache


@pytest.fixture(autouse=True)
def put_back():
    before = jax.config.jax_compilation_cache_dir
    yield
    jax.config.update("jax_compilation_cache_dir", before)


def test_the_folder_told_goes_before_jax_s_variable_and_that_before_the_user_s(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path / "jax"))
    assert enable_compilation_cache(tmp_path / "told") == tmp_path / "told"
    assert enable_compilation_cache() == tmp_path / "jax"
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR")
    assert enable_compilation_cache() == tmp_path / "user" / "vatex_jax" / "compiled"
    assert jax.config.jax_compilation_cache_dir == str(tmp_path / "user" / "vatex_jax" / "compiled")
    assert (tmp_path / "user" / "vatex_jax" / "compiled").is_dir()
