"""Messages that name arguments, so that Python says `text=` and another caller its word for it, such as `--text`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Argument:
    """The name of an argument within a message; as text it is what a Python caller writes: `text=`."""

    name: str

    def __str__(self) -> str:
        return f"{self.name}="


class Message(str):
    """A text made of words and of arguments that it names: `Message("name it with ", Argument("text"))`.

    It is the text for Python callers. As part of another string it is a plain string again.
    """

    parts: tuple[str | Argument, ...]

    def __new__(cls, *parts: str | Argument) -> Message:
        """The message of these parts, joined as they are."""
        message = super().__new__(cls, "".join(map(str, parts)))
        message.parts = parts
        return message


def spelled(message: object, spell: Callable[[str], str]) -> str:
    """The text of a message, or of an error that carries one, with each argument's name as `spell` gives it."""
    if isinstance(message, Exception) and message.args:
        return spelled(message.args[0], spell)
    if isinstance(message, Message):
        return "".join(part if isinstance(part, str) else spell(part.name) for part in message.parts)
    return str(message)
