"""The COCO caption evaluation's English tokens: Stanford's PTB tokeniser (a Java program), lower case, no punctuation.

pycocoevalcap's own wrapper writes temporary files into its package and needs a system Java; this one gives the same
tokens, through pipes.
"""

from collections.abc import Sequence

from pycocoevalcap.tokenizer import ptbtokenizer

from vatex_jax.metrics.java import JavaError, jar_beside, one_line, run_java

SIGNATURE = "en:ptb-corenlp-3.4.1-lower-nopunct"

_PROGRAM = "The PTB tokeniser"
_PUNCTUATION = frozenset(ptbtokenizer.PUNCTUATIONS)


def ptb_tokenize(captions: Sequence[str]) -> list[str]:
    """Returns each caption's tokens, joined by single spaces; signs unknown to the tokeniser, as emoji, are dropped.

    One start of Java serves all captions. As in the COCO code they are read as one text, a caption a line.

    Raises:
      JavaError: the program fails, or returns another number of lines.
    """
    if not captions:
        return []
    jar = jar_beside(ptbtokenizer.__file__, ptbtokenizer.STANFORD_CORENLP_3_4_1_JAR)
    arguments = ["-cp", jar, "edu.stanford.nlp.process.PTBTokenizer", "-preserveLines", "-lowerCase"]
    lines = run_java(_PROGRAM, arguments, [one_line(caption) for caption in captions])
    if len(lines) != len(captions):
        raise JavaError(f"{_PROGRAM} returned {len(lines)} lines for {len(captions)} captions.")
    return [" ".join(word for word in line.rstrip().split(" ") if word not in _PUNCTUATION) for line in lines]
