"""Messages that name arguments: Python's word by default, the caller's word when asked."""

import copy
import pickle

import pytest

import labelwood as lw
from labelwood.errors import DataError
from labelwood.wording import Argument, Message, spelled


def shout(name):
    return name.upper()


def test_a_message_is_a_text_for_python():
    message = Message("name it with ", Argument("text"), " please")
    assert message == "name it with text= please"
    assert str(DataError(message)) == message


def test_arguments_are_spelled_as_asked():
    message = Message("a.csv: name it with ", Argument("text"), " or ", Argument("labels"))
    assert spelled(message, shout) == "a.csv: name it with TEXT or LABELS"
    assert spelled(DataError(message), shout) == "a.csv: name it with TEXT or LABELS"


def test_what_names_no_argument_stays_as_it_is():
    assert spelled("text= in a file's own words", shout) == "text= in a file's own words"
    assert spelled(DataError("text= here"), shout) == "text= here"
    assert spelled(DataError(), shout) == ""


def test_messages_survive_copies():
    message = Message("see ", Argument("format"))
    for same in (pickle.loads(pickle.dumps(message)), copy.deepcopy(message)):
        assert spelled(same, shout) == "see FORMAT"


def test_a_file_cannot_write_options_into_a_message(tmp_path):
    """A column called 'text=' is the user's word and no argument."""
    path = tmp_path / "a.csv"
    path.write_text("text=,b,c\n1,2,3\n")
    with pytest.raises(DataError) as caught:
        lw.read(path)
    assert spelled(caught.value, "--{}".format).endswith("name it with --text (columns: text=, b, c)")
