"""Fixtures of reports: a browser for the pages."""

import shutil

import pytest


@pytest.fixture(scope="module")
def chromium():
    """A headless Chromium of this machine; nothing is downloaded."""
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="pip install -r requirements-dev.txt brings playwright"
    )
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not path:
        pytest.skip("Chromium is not installed (apt-get install chromium)")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path)
        yield browser
        browser.close()


@pytest.fixture
def window(chromium):
    """A window of a browser that knows nothing yet; a script that fails or asks for attention fails the test."""
    context = chromium.new_context(reduced_motion="reduce")  # clicks wait until nothing moves
    context.set_default_timeout(60_000)  # of a busy machine
    faults = []
    context.on("weberror", lambda error: faults.append(str(error.error)))
    context.on("dialog", lambda dialog: (faults.append(dialog.message), dialog.dismiss()))
    yield context.new_page()
    context.close()
    assert faults == []
