"""A peer answers line by line on its standard input and output, in JSON:

    {"prepare": key, "inputs": [files], "output": file, ...}  ->  {...}       runs it once, writes its result; facts
    {"time": key, "n": 5}  ->  {"seconds": ..., "cpu": ...}                   of n runs together

This file and its neighbours run in the peer's own environment, where there is no tvmlab.
"""

import json
import os
import sys
import time
import traceback

answers = os.fdopen(os.dup(1), "w")  # import this file first:
os.dup2(2, 1)  # what libraries print from now on goes elsewhere


def serve(prepare):
    """`prepare(request, arrays)` gives (call, fetch): what is timed, what gives its result as an array; and facts."""
    import numpy as np

    calls = {}

    def answer(request):
        if "time" in request:
            call = calls[request["time"]]
            start, cpu = time.perf_counter(), time.process_time()
            for _ in range(request["n"]):
                call()
            return {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu}
        call, fetch, *facts = prepare(request, [np.load(path) for path in request["inputs"]])
        calls[request["prepare"]] = call
        call()
        if request.get("output"):
            np.save(request["output"], fetch())
        return facts[0] if facts else {}

    for line in sys.stdin:
        try:
            reply = answer(json.loads(line))
        except Exception:
            reply = {"error": traceback.format_exc(limit=-3)}
        print(json.dumps(reply), file=answers, flush=True)
