"""Which tests one of pytest-xdist's processes runs together.

The files of tests/ui are one group: they share a server, a browser and a page, and much of their time is waiting, which
the other processes fill. Of the rest each file is a group, so that what a file makes once is made once.
"""

from xdist.scheduler import LoadScopeScheduling

BROWSER = "tests/ui/"


class GroupScheduling(LoadScopeScheduling):
    """Groups in the order in which they are collected: the longest has to start first."""

    def __init__(self, config, log=None):
        super().__init__(config, log)
        config.option.loadscopereorder = False

    def _split_scope(self, nodeid):
        file = nodeid.split("::", 1)[0]
        return BROWSER if file.startswith(BROWSER) else file
