"""Programs for a shell: `python -m tvmlab.exec.rpc_server --port 9091`, `rpc_tracker`, `query_rpc_tracker`."""
