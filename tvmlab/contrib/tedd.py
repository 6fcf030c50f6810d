"""Pictures of schedules (tensor expression debug display): dataflow, schedule tree, relations of axes.

Each function: `show_svg` gives the picture (a notebook shows it), `dot_file_path` writes the DOT text there,
`output_dot_string` gives it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..names import lazy
from ..view import tedd as _view
from ..view.graphs import Graph


def viz_dataflow_graph(
    sch: Any, show_svg: bool = False, dot_file_path: str = "", output_dot_string: bool = False
) -> Graph | str | None:
    """Stages and the tensors between them."""
    return _show(sch, _view.dataflow, False, show_svg, dot_file_path, output_dot_string)


def viz_schedule_tree(
    sch: Any, show_svg: bool = False, dot_file_path: str = "", output_dot_string: bool = False
) -> Graph | str | None:
    """Where each stage is computed, and its loops."""
    return _show(sch, _view.schedule_tree, True, show_svg, dot_file_path, output_dot_string)


def viz_itervar_relationship_graph(
    sch: Any, show_svg: bool = False, dot_file_path: str = "", output_dot_string: bool = False
) -> Graph | str | None:
    """How the loops of each stage were made from its axes."""
    return _show(sch, _view.itervar_relations, True, show_svg, dot_file_path, output_dot_string)


def extract_dom_for_viz(sch: Any, need_range: bool = True) -> dict[str, Any]:
    """The schedule as nested lists and dicts."""
    return _view.extract(sch, need_range)


def dump_json(sch: Any, need_range: bool = True) -> str:
    """The same as JSON."""
    return json.dumps(extract_dom_for_viz(sch, need_range), indent=1)


def _show(
    sch: Any,
    draw: Callable[[Any], Graph],
    need_range: bool,
    show_svg: bool,
    dot_file_path: str,
    output_dot_string: bool,
) -> Graph | str | None:
    graph = draw(_view.extract(sch, need_range))
    if dot_file_path:
        Path(dot_file_path).write_text(graph.source, encoding="utf-8")
    if show_svg:
        return graph
    return graph.source if output_dot_string else None


__getattr__, __dir__ = lazy(__name__, {})
