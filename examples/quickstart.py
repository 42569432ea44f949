"""Train a tagger on a few hundred product texts, measure it, ask it, save it and load it again.

python examples/quickstart.py
"""

import tempfile
from pathlib import Path

import labelwood as lw
from labelwood.data.madeup.shop_texts import make_texts

train, test = make_texts(1000, n_labels=100).split(test=0.2, seed=1)

tagger = lw.Tagger(seed=1).fit(train)
metrics = tagger.evaluate(test)
print("of the first answers", f"{metrics['P@1']:.0f} per cent are right")

text = test.texts[0]
print(text)
for name, score in tagger.predict([text], k=3)[0]:
    print(f"  {name} ({score:.2f}): {tagger.explain(text, name).text(3)}")

with tempfile.TemporaryDirectory() as folder:
    tagger.save(Path(folder) / "tagger")
    loaded = lw.load(Path(folder) / "tagger")
    print("loaded:", loaded, "same answers:", loaded.predict([text]) == tagger.predict([text]))
