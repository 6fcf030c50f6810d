"""Programs on other machines: servers, trackers that give them out, sessions. What goes over the wire: protocol.py.

    server = rpc.Server(port=9091)                       there; also python -m tvmlab.exec.rpc_server, or a board's in C
    remote = rpc.connect("there", 9091)                  here
    remote.upload("f.so"); f = remote.load_module("f.so")
    a = nd.array(x, remote.cpu()); f(a, b); b.numpy()
    f.time_evaluator(f.entry_name, remote.cpu())(a, b)
"""
