"""A real thesaurus in Turtle, the STW for economics: two languages, deprecated concepts, foreign statements."""

import time

import labelwood


def test_stw_is_read_within_three_seconds(data_file):
    start = time.process_time()
    stw = labelwood.read_vocabulary(data_file("vocabularies", "stw-skos.ttl.gz"))
    assert time.process_time() - start < 3
    assert int((~stw.deprecated).sum()) == 6243
    assert int(stw.deprecated.sum()) == 1151
    assert stw.languages == ("de", "en")
    useful_life = "http://zbw.eu/stw/descriptor/10015-2"
    assert stw.name(useful_life, "de") == "Nutzungsdauer"
    assert "Planned obsolescence" in stw.other_names(useful_life, "en")
    assert "http://zbw.eu/stw/thsys/b" in stw.ancestors(useful_life)
