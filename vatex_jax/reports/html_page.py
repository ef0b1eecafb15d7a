"""HTML pages that are one file: they work from a disk, ask nothing of the network, and trust none of what they show.

Style and script stand in the page, and its Content-Security-Policy names both by their hashes: nothing else runs, also
if a text that is shown were to be taken for markup. Data enters as JSON that no parser of HTML can take for an end of
its element, and pages put it into the document as text only (`textContent`).

The files in `pages/` are the parts: `page.css` and `page.js` serve every page (progress kept in the browser, a file to
save), `tasks.html` and `tasks.js` those of tasks to be done one by one; a page adds its own script after them.
"""

import base64
import hashlib
import html
import json
import os
import re
from pathlib import Path
from urllib.parse import quote

from vatex_jax.errors import ConfigError

PARTS = Path(__file__).with_name("pages")

_DOCUMENT = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
{body}
<script type="application/json" id="data">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def document(title: str, body: str, data: object, scripts: tuple[str, ...], images: str = "") -> str:
    """A whole page. Its own texts are English; data in another language carry it on their elements.

    Args:
        title: of the window; any text.
        body: markup of ours, with no data in it.
        data: a JSON value, read by the scripts from the element `data`.
        scripts: names of files in `pages/`, run in this order after `page.js`.
        images: where the page may load pictures from, as the policy's `img-src`; empty for nowhere.
    """
    style = part("page.css")
    script = "\n".join(part(name) for name in ("page.js", *scripts))
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; img-src data: {images}".rstrip()
        + "; base-uri 'none'; form-action 'none'"
    )
    return _DOCUMENT.format(
        policy=html.escape(policy, quote=False),  # holds no double quotes: hashes, and a host that was checked
        title=html.escape(title),
        style=style,
        body=body,
        data=embed_json(data),
        script=script,
    )


def tasks_body(guide: str, keys: str = "") -> str:
    """The body of a page of tasks (`tasks.js`): annotator, cards, progress, files.

    Args:
        guide: the file in `pages/` that says what to do.
        keys: the file that names keys of this page alone; empty for none.
    """
    body = part("tasks.html").replace("{{guide}}\n", part(guide))
    return body.replace("{{keys}}\n", part(keys) if keys else "")


def embed_json(value: object) -> str:
    """JSON that may stand within a script element: ASCII, without `<`, `>` and `&`.

    So neither `</script>` nor `<!--` can end or change the element, and U+2028 and U+2029 end no line.
    """
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def part(name: str) -> str:
    """A file of `pages/`: ours, and free of what would end its element."""
    return (PARTS / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


_FIELD = re.compile(r"\{image_id(?::(0?)([1-9]\d?)d?)?\}")
_URL = re.compile(r"https?://[A-Za-z0-9.-]+(:\d+)?(?=/)")  # the host alone: it becomes part of the policy


class ImagePattern:
    """Where an image lies: a URL, or a path of this machine, with `{image_id}` or `{image_id:012}` for its number.

    Args:
        pattern: a path is one as seen from the present folder; the page names it as seen from its own, so that both
            can be moved together.

    Raises:
        ConfigError: no field for the number, or a URL of another kind than http and https.
    """

    def __init__(self, pattern: str):
        if not _FIELD.search(pattern) or set("{}") & set(_FIELD.sub("", pattern)):
            raise ConfigError(
                f"--images={pattern}: write {{image_id}} where an image's number stands, or {{image_id:012}} for "
                "twelve digits with leading zeros."
            )
        self.pattern = pattern
        self.url = "://" in pattern
        if self.url and not _URL.match(pattern):
            raise ConfigError(
                f"--images={pattern}: a URL begins with http:// or https:// and a host; else name a path."
            )

    @property
    def policy(self) -> str:
        """What the page's policy must allow: one host, or files (and what lies beside a page that is served)."""
        if not self.url:
            return "'self' file:"
        return _URL.match(self.pattern)[0]

    def place(self, image_id: int) -> str:
        """The pattern with an image's number in it."""
        return _FIELD.sub(lambda found: f"{image_id:{found[1] or ''}{found[2] or ''}d}", self.pattern)

    def source(self, image_id: int, folder: Path) -> str:
        """What an `img` element on a page in `folder` names to show the image."""
        if self.url:
            return self.place(image_id)
        try:
            path = Path(os.path.relpath(self.place(image_id), folder)).as_posix()
        except ValueError:  # another drive of a Windows machine
            return Path(self.place(image_id)).resolve().as_uri()
        return quote(path)
