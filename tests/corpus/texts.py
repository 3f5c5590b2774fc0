"""Real text for the tests of vocabularies, engines and cuts: code, prose and many scripts, from what Python brings along."""

import encodings
import io
import json
import locale
import sysconfig
from functools import cache
from pathlib import Path

import pytest
from hypothesis import strategies as st

SCRIPTS = (
    "Im Jahr 1984 aßen wir für 3,50 € Brötchen; c'est l'été, naïve façade. ¿Qué? ½ kg, 10²!",
    "Привет, мир! Ещё раз: 12345 рублей. Съешь же ещё этих мягких французских булок, да выпей чаю.",
    "汉字和标点，测试。中文没有空格！数字123456与English混排。\n第二行：的的的的的的的的",
    "日本語のテキストです。カタカナ、ひらがな、漢字。「引用」と『引用』\n１２３",
    "한국어 문장입니다. 띄어쓰기가 있습니다! 안녕하세요?",
    "हिन्दी में एक वाक्य है। तमिल: தமிழ் மொழி. বাংলা ভাষা, ไทยไม่มีช่องว่าง ქართული ენა",
    "שלום עולם! مرحبا بالعالم، هذا نص. فارسی ۱۲۳۴",
    "Ελληνικά κείμενο με τόνους· ΑΒΓ αβγ. Tiếng Việt có dấu. e\u0301\u0323 a\u0308",
    "👩‍👩‍👧 🏳️‍🌈 🙂🙃 \u200b\u200d\ufeff\u00a0\u2028x\u0085 \x00\x01\x7f \U000323b0\U0001faea\u088f\u180e",
    "don't DON'T we'LL I've it's 's 't ' ' o’clock //path//\n/\r\n\r\n  \t\tx  \n\n\n   y",
    "<|endoftext|>a<|endoftext|> <s></s> [CLS] <think>hm</think> <｜end▁of▁sentence｜>x <dsml: ▁▁",
    "Zażółć gęślą jaźń " * 20 + "=" * 200 + " " * 200 + "ab" * 200 + "\n" * 100,
)


@cache
def real_texts(most=400_000):
    """Python's own sources and licence, and the scripts above."""
    library = Path(sysconfig.get_paths()["stdlib"])
    files = [Path(module.__file__) for module in (encodings, json, locale)]
    files += sorted(library.glob("*.py"))[:40] + sorted((library / "pydoc_data").glob("topics.py"))
    texts, held = [text.encode() for text in SCRIPTS], 0
    for path in files:
        text = path.read_bytes()[:60_000].decode("utf-8", "ignore").encode()
        texts.append(text)
        held += len(text)
        if held > most:
            break
    return texts


@cache
def sentencepiece_model(**asked):
    """A SentencePiece model of a thousand tokens, trained on the texts."""
    sentencepiece = pytest.importorskip("sentencepiece")
    lines = [line[:500] for text in real_texts() for line in text.decode().split("\n") if line.strip()]
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=model, vocab_size=1000, hard_vocab_limit=False, minloglevel=2, **asked
    )
    return model.getvalue()


#: characters on which ways of cutting words turn
TRICKY = st.sampled_from(
    " \n\r\t'’sStTdDmMreveLLaAzZ09,.;:!?/<>|▁_-=()中的あア한Яяé\u0301\u0323²½Ⅷ٣\u00a0\u2028\u3000。，！"
    "\u200d🙂\u180eǅʰ\U000323b0"
)

WORDS = ["<|endoftext|>", "<think>", "don't", " 123456", "aaaaaaa", "abab", "\n\n", "  ", "中。", "x"]

strings = st.one_of(
    st.text(TRICKY, max_size=60),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=40),
    st.lists(st.sampled_from(WORDS)).map("".join),
)
