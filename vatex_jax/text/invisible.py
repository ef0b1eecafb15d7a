"""Characters that nobody sees: which of them a text loses before it is cut into words, compared or called empty.

The rule, for Unicode's format characters (category Cf) and control characters (Cc):

- **Removed**: the format characters that Unicode calls Default_Ignorable_Code_Point: zero-width space, byte order mark,
  soft hyphen, word joiner, marks, embeddings and isolates of direction, invisible operators, musical and shorthand
  controls, language tags.
- **Kept where they change what is seen**: the zero-width joiner (ZWJ) within emoji, and after a character of a script
  that joins its letters; the zero-width non-joiner (ZWNJ) between two such characters (Arabic, Persian, Syriac, N'Ko,
  the Indic scripts, Khmer, Myanmar, Mongolian and their relatives); the Mongolian vowel separator between Mongolian
  letters; tag characters within the flag emoji of England, Scotland and the like. Elsewhere these are removed too.
- **Kept**: the other format characters, all of which are seen: the Arabic number signs and the end of ayah (U+0600 to
  U+0605, U+06DD, U+08E2, ...), the Syriac abbreviation mark, the Kaithi number signs, the controls of hieroglyphs, and
  the interlinear annotation characters.
- **White space**: control characters (U+0000, U+0008, U+007F, ...), as for the Java programs (`metrics.java.one_line`).

The lists are written out, so that the rule does not change with Python's version of Unicode.
"""

import re

_DIRECTIONS = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f"  # the last six are deprecated shapes of digits and letters
_ALWAYS = rf"\u00ad{_DIRECTIONS}\u200b\u2060-\u2064\ufeff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001"
_SOMETIMES = r"\u180e\u200c\u200d\U000e0020-\U000e007f"
_CONTROLS = r"\x00-\x1f\x7f-\x9f"

# Characters of scripts whose letters join or stack, without the two among them that this rule removes.
_JOINING = (
    r"\u0600-\u061b\u061d-\u0dff\u0f00-\u109f\u1700-\u180d\u180f-\u18af\u1900-\u1c4f\ua800-\ua9ff\ufb50-\ufdff"
    r"\ufe70-\ufefc\U00010ac0-\U00010aff\U00011000-\U00011fff\U0001e900-\U0001e95f"
)
_MONGOLIAN = r"\u1820-\u18aa"
# Symbols, and what stands between an emoji and a joiner: variation selector 16, skin tones.
_EMOJI = r"\u00a9\u00ae\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001fbff"

_INVISIBLE = re.compile(rf"[{_ALWAYS}]")
_TAGS = re.compile("(\U0001f3f4[\U000e0020-\U000e007e]+\U000e007f)|[\U000e0020-\U000e007f]+")
_REPEATED = re.compile("([\u200c\u200d\u180e])\\1+")
_USELESS = re.compile(
    rf"""
      (?<![{_JOINING}{_EMOJI}\ufe0f])\u200d | (?<=[{_EMOJI}\ufe0f])\u200d(?![{_EMOJI}])
    | (?<![{_JOINING}])\u200c | \u200c(?![{_JOINING}])
    | (?<![{_MONGOLIAN}])\u180e | \u180e(?![{_MONGOLIAN}])
    """,
    re.VERBOSE,
)
_CONTROL = re.compile(rf"[{_CONTROLS}]")
_SEEN = re.compile(rf"[^\s{_CONTROLS}{_ALWAYS}{_SOMETIMES}]")


def visible(text: str) -> str:
    """Returns the text without its invisible characters, control characters as spaces; see the head of this file.

    Applied twice, it changes nothing more. White space that is none of these stays as it is.
    """
    if text.isprintable():  # no character of the categories Cf and Cc is
        return text
    text = _INVISIBLE.sub("", _CONTROL.sub(_space, text))
    # A joiner is judged by the characters that it is left beside; several in a row are seen as one.
    text = _REPEATED.sub(r"\1", _TAGS.sub(lambda match: match[1] or "", text))
    return _USELESS.sub("", text)


def is_visible(text: str) -> bool:
    """Whether a text holds anything but white space, control characters and invisible ones."""
    return _SEEN.search(text) is not None


def _space(match: re.Match[str]) -> str:
    return match[0] if match[0].isspace() else " "
