"""Errors. Each has one sentence with the fault, the limit and the remedy."""


class Error(Exception):
    """The base of all errors of suf. `refusal` is the word of a refusal by another role, such as "quota", or None.
    `retry_after` is the number of seconds after which that role accepts again, or None."""

    refusal: str | None = None
    retry_after: int | None = None
    # whether it belongs to the text, which must not run again: that would show the model owner its failure
    own: bool = False
    # set by a call of several texts, of which some failed
    results: list | None = None
    failed: dict[int, "Error"] | None = None


class InputError(Error, ValueError):
    """A text, a file or an argument of the caller is wrong (exit code 2 of the command)."""


class PeerError(Error, ConnectionError):
    """Another role cannot be reached, fell silent or broke the protocol (exit code 3)."""


class RefusedError(Error):
    """Going on would be wrong or unsafe: a certificate, a plan, a quota (exit code 4)."""


class ResourceError(Error, OSError):
    """This machine lacks something: disk, memory, descriptors (exit code 5)."""


class Bug(Error):
    """An internal mistake of suf. Report it with the plan's hash."""
