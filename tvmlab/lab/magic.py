"""`%%schedule`: a cell with its lab under it; with `--live`, the lab shows what is being typed.

    %load_ext tvmlab                    (or any Lab made before)

    %%schedule                          runs the cell as usual, finds its schedule, shows its lab under it
    %%schedule --live                   the same; and while the cell is edited, the lab shows the loops of the text
    %%schedule t                        the schedule that is called t

The schedule is the one named, else the value of the last line, else `s`, else the only one the cell made or changed.

Live, the front end sends the text over the comm `tvmlab.live` (opened by the front end, one for a notebook):

    front end -> kernel   {"kind": "live", "seq": 7, "cell": cell id, "text": the whole cell, its first line too}
                          {"kind": "stop", "seq": 8, "cell": cell id}      no longer edited: the lab shows what is
    kernel -> front end   {"re": 7, "cell": cell id, "lab": id of the lab under it or "", "name": "s",
                           "state": "good" | "kept" | "none",
                           "frame": payload.Frame or null, "diff": payload.DiffLine[],
                           "error": null | {"text", "line", "column", "end"}, "said": a sentence}

`cell`: the id of the cell in the notebook (nbformat 4.5), which JupyterLab also sends as `cellId` in the metadata of
the request to run it. `state`: `good`, the frame is that of the text; `kept`, the text has an error and the frame is
the last good one (or, when the text ran into an error, that of the lines before it); `none`, there was nothing to show.
`line` counts from 1 at the first line of the cell, `column` from 0. `diff`: from what the lab shows to what is typed.
The widget under the cell is brought up to date by the kernel; the front end need not draw the frame itself. Send at
most one request at a time (debounced), the newest text when the answer is there. What the text may do while it is
only typed: see `tvmlab/lab/live.py`.
"""
