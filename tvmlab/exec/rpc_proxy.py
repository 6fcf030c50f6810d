"""`python -m tvmlab.exec.rpc_proxy` is not there: it says what there is instead."""

import sys

if __name__ == "__main__":
    sys.exit("tvmlab has no rpc_proxy: a server behind a firewall is reached through an SSH tunnel (docs/remote.md)")
