"""Tests of compiled code keep their object cache to themselves."""

import os
import tempfile

os.environ["TVMLAB_CACHE_DIR"] = tempfile.mkdtemp(prefix="tvmlab-tests-")
