"""What a refused call says, whole."""

import pytest


def refused(kind, call):
    """The message of the error that `call()` raises, which is of this kind."""
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)
