"""What a server is told to import (`preload`): functions that its clients may call."""

import tvmlab


@tvmlab.register_func("test.rpc.scaled_sum", override=True)
def scaled_sum(x, factor, name):
    return f"{name} {float(x.numpy().sum() * factor):g}"


@tvmlab.register_func("test.rpc.doubled", override=True)
def doubled(x):
    x[...] = 2 * x


@tvmlab.register_func("test.rpc.object", override=True)
def an_object():
    return object()
