"""What a view may ask of a lab: one function per kind of `payload.Request`.

A function gets the lab and the request, and returns what the reply carries. Acts change the lab, which sends its traits
by itself. What cannot be done is an error: `answer` turns it into a card, and the lab is as it was.
"""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable
from typing import Any

from ..analysis import machine
from ..core.error import LabError
from ..face import recipes
from ..face.api import as_target
from ..face.document import Document
from ..face.verdict import ILLEGAL, UNKNOWN, judge
from ..view import actions, acts, diff, drops, frame, passes, pictures, preview, sources, steps
from ..view.card import card
from ..view.payload import Reply, Request
from . import bundled, selecting, settings, tune_requests, typed, workloads

Handler = Callable[[Any, Any], Any]
HANDLERS: dict[str, Handler] = {}
UNSURE = {  # by the setting allowUnknown
    "ask": "apply it once more to take it all the same",
    "never": "the setting allowUnknown is `never`: only code takes such a step, lab.apply(...) or s[C]...",
}


def handles(kind: str) -> Callable[[Handler], Handler]:
    def enter(f: Handler) -> Handler:
        HANDLERS[kind] = f
        return f

    return enter


def answer(lab: Any, request: Request) -> Reply:
    """The reply to a request, whatever it holds and whatever happens."""
    seq = request.get("seq", -1) if isinstance(request, dict) else -1
    try:
        kind = _kind(request)
        return {"re": seq, "ok": True, "data": HANDLERS[kind](lab, _Fields(request)), "card": None}
    except LabError as e:
        return {"re": seq, "ok": False, "data": None, "card": card(e)}
    except (Exception, SystemExit) as e:  # a fault of ours: shown where it happened, with what a report needs
        found = LabError("internal", f"{type(e).__name__}: {e}", hint=traceback.format_exc())
        return {"re": seq, "ok": False, "data": None, "card": card(found)}


FIELDS: dict[str, type] = {  # of a request, where it has them
    "act": dict, "ids": list, "step": str, "cursor": int, "to": int, "text": str, "what": str, "values": dict,
    "sure": bool,
}  # fmt: skip
CALLED = {dict: "a record", list: "a list of names", str: "text", int: "a number", bool: "true or false"}


def _kind(request: Any) -> str:
    """The kind of a request, whose fields are as `payload.Request` says."""
    kind = request.get("kind", "") if isinstance(request, dict) else ""
    if not isinstance(kind, str) or kind not in HANDLERS:
        raise LabError("no-such-request", f"this lab does not know {kind!r}", hint="reload the page")
    for name, wanted in FIELDS.items():
        if name in request and not _fits(request[name], wanted):
            raise LabError("request-field", f"{kind}: `{name}` must be {CALLED[wanted]}, not {request[name]!r:.80}")
    return kind


class _Fields(dict[str, Any]):
    """A request, of which a handler takes what it needs."""

    def __missing__(self, name: str) -> Any:
        raise LabError("request-field", f"{self['kind']}: `{name}` is missing")


def _fits(value: Any, wanted: type) -> bool:
    if isinstance(value, bool):
        return wanted is bool
    if wanted is list:
        return isinstance(value, list) and all(isinstance(x, str) for x in value)
    return isinstance(value, wanted)


# ---------------------------------------------------------------- acting


@handles("apply")
def apply(lab: Any, request: Request) -> None:
    with lab.acting():
        primitive, args = acts.decode(request["act"], lab.schedule.state)
        with warnings.catch_warnings(record=True) as heard:  # they are said in the lab: a cell's output is elsewhere
            warnings.simplefilter("always")
            take(lab, primitive, args, sure=request.get("sure", False) and settings.now().allowUnknown == "ask")
        if heard:
            told = "; ".join(dict.fromkeys(str(w.message).replace("`", "") for w in heard))
            lab.say(f"{lab.said['text']} Note: {told}.", "good")


def take(lab: Any, primitive: str, args: dict[str, Any], sure: bool = True, code: dict[str, Any] | None = None) -> Any:
    """Take a step, or all steps of a recipe. One that may be wrong is taken only by who is `sure`.

    `code`: of a step that is a line of code, where it stands and what its results are called there.
    """
    recipe = primitive.startswith(recipes.PREFIX)
    found = (recipes.judge if recipe else judge)(lab.schedule.trace, primitive, args)
    if found.kind == ILLEGAL:
        raise found.error or LabError("illegal", found.reason)
    if found.kind == UNKNOWN and not sure:
        raise LabError("not-sure", found.reason, hint=UNSURE[settings.now().allowUnknown])
    if recipe:
        return _take_recipe(lab, primitive, args)
    made = lab.document.apply(primitive, args, evidence=found.kind, **(code or {}))
    lab.say(f"Step {lab.step}: {lab.document.entries[lab.step - 1].label}.", "good")
    return made


def _take_recipe(lab: Any, name: str, args: dict[str, Any]) -> Any:
    """All steps of a recipe, as one that can be undone and unfolded."""
    document, found = lab.document, recipes.get(name)
    with document.together(found.label):
        recipes.follow(name, args, lab.schedule.state, lambda p, a: _taken(document, p, a))
    lab.say(f"{found.label}: {len(document.entries)} steps now.", "good")


def _taken(document: Document, primitive: str, args: dict[str, Any]) -> Any:
    made = document.apply(primitive, args)
    return made, document.schedule.state


def _document(kind: str) -> Callable[[Callable[[Document, Request], Any]], Handler]:
    """An act on the document, and the words for it."""

    def enter(f: Callable[[Document, Request], Any]) -> Handler:
        def handler(lab: Any, request: Request) -> None:
            with lab.acting():
                text = f(lab.document, request)
                if text:
                    lab.say(text)

        return handles(kind)(handler)

    return enter


@handles("undo")
def undo(lab: Any, request: Request) -> None:
    with lab.acting():
        document, change = lab.document, lab.document.edits.to_undo(lab.document)
        if lab.choices.undo(lab, last=True):
            lab.say(f"{lab.head()['title']} again, as it was.")
        elif document.undo():
            lab.say(f"The {change} is taken back." if change else f"Back at step {document.cursor}.")
        elif lab.choices.undo(lab):
            lab.say(f"{lab.head()['title']} again, as it was.")
        else:
            lab.say("There is nothing to undo.")


@handles("redo")
def redo(lab: Any, request: Request) -> None:
    with lab.acting():
        document, change = lab.document, lab.document.edits.to_redo(lab.document)
        if lab.choices.redo(lab):
            lab.say(f"{lab.head()['title']} again, as it was.")
        elif document.redo():
            lab.say(f"The {change} is made again." if change else f"Step {document.cursor} again.")
        else:
            lab.say("There is nothing to redo.")


@_document("jump")
def jump(document: Document, request: Request) -> str:
    document.jump(request["cursor"])
    return f"Looking at step {document.cursor} of {len(document.entries)}."


@_document("edit")
def edit(document: Document, request: Request) -> str:
    steps.edit(document, request["step"], request["values"])
    return "The step was changed and the later ones replayed: Undo takes it back."


@_document("delete")
def delete(document: Document, request: Request) -> str:
    branch = any(b.id == request["step"] for b in document.branches)
    document.delete(request["step"])
    what = "The branch is gone" if branch else "The step was taken out and the later ones replayed"
    return f"{what}: Undo brings it back."


@_document("move")
def move(document: Document, request: Request) -> str:
    document.move(request["step"], request["to"])
    return "The step was moved and all were replayed: Undo takes it back."


@_document("rename")
def rename(document: Document, request: Request) -> str:
    document.rename(request["step"], request["text"])
    return ""


@_document("note")
def note(document: Document, request: Request) -> str:
    document.note(request["step"], request["text"])
    return ""


@_document("branch")
def branch(document: Document, request: Request) -> str:
    document.branch(request.get("text", ""))
    return "A new branch starts here."


@_document("switch")
def switch(document: Document, request: Request) -> str:
    document.switch(request["what"])
    return ""


@_document("retry")
def retry(document: Document, request: Request) -> str:
    document.retry(request["step"])
    return ""


@handles("select")
def select(lab: Any, request: Request) -> None:
    lab.select(*request.get("ids", ()))


@handles("target")
def target(lab: Any, request: Request) -> None:
    with lab.acting():
        lab.target = request["what"]


@handles("machine")
def choose_machine(lab: Any, request: Request) -> None:
    with lab.acting():
        lab.machine = machine.get(request["what"])


@handles("look")
def look_at(lab: Any, request: Request) -> None:
    """In the picture `what`, at these `values`: numbers, or text as an address has them."""
    lab.look(request["what"], **selecting.looked(request["what"], request["values"]))


@handles("start")
def start(lab: Any, request: Request) -> None:
    """A workload of the catalogue (`what`, `values`), or a typed expression (`text`)."""
    if request.get("text"):
        try:
            lab.start(typed.tensors(request["text"]))
        except typed.TypedError as e:
            raise LabError("expression", e.text) from None
        return
    shape = workloads.shape(request["what"], request.get("values", {}))
    lab.start(workloads.declare(request["what"], shape), request["what"], shape)


# ---------------------------------------------------------------- looking


@handles("preview")
def ghost(lab: Any, request: Request) -> Any:
    return preview.preview(lab.schedule, request["act"], lab.machine)


@handles("verdict")
def verdict(lab: Any, request: Request) -> Any:
    return actions.act_action(lab.schedule, request["act"])


@handles("explain")
def explain(lab: Any, request: Request) -> Any:
    """`what`="drops": where the dragged row `ids[0]` may go."""
    return drops.targets(lab.schedule, next(iter(request["ids"]), ""))


@handles("frame")
def look(lab: Any, request: Request) -> Any:
    """The frame after step `cursor`, or of the pinned run (`what`="pinned"), else of what is looked at.

    `text`="diff": with the difference to what is looked at now.
    """
    at = request.get("cursor")
    pinned = lab.runs.pinned_trace() if request.get("what") == "pinned" else None
    found = frame.frame(pinned) if pinned is not None else frame.of(lab.document, at)
    if request.get("text") != "diff":
        return {"frame": found, "diff": []}
    return {"frame": found, "diff": diff.diff(found["loops"], lab.frame["loops"])}


@handles("source")
def source(lab: Any, request: Request) -> Any:
    """The text of one kind; without one, the kinds there are."""
    if not request.get("what"):
        return [{"kind": k.name, "label": k.label} for k in sources.kinds(as_target(lab.target).name)]
    return sources.source(lab.schedule.trace, request["what"])


@handles("passes")
def show_passes(lab: Any, request: Request) -> Any:
    return passes.passes(lab.schedule.trace)


@handles("picture")
def picture(lab: Any, request: Request) -> Any:
    """The picture of one kind; without one, the kinds there are."""
    if not request.get("what"):
        return [{"kind": k["value"], "label": k["label"], **pictures.about(k["value"])} for k in pictures.kinds()]
    return pictures.picture(request["what"], lab.subject(request["what"], lab.compiled.used))


@handles("drawer")
def drawer(lab: Any, request: Request) -> Any:
    return {"workloads": workloads.catalogue(lab.kernel), "current": lab.workload, "example": workloads.EXAMPLE}


@handles("typed")
def read(lab: Any, request: Request) -> Any:
    return typed.read(request.get("text", ""))


@handles("document")
def whole(lab: Any, request: Request) -> Any:
    """`what`: html, code (the steps), json, or nothing for the document itself."""
    if request.get("what") == "code":
        return lab.head()["calls"]
    if request.get("what") == "html":
        return lab.html()
    return lab.saved()


@handles("module")
def module(lab: Any, request: Request) -> Any:
    """A part of the front end that is loaded when it is first opened."""
    return bundled.module(request["what"])


# ---------------------------------------------------------------- running


@handles("run")
def run_now(lab: Any, request: Request) -> str:
    return run(lab, request.get("values", {}))


def run(lab: Any, options: dict[str, Any]) -> str:
    """Start a run of what is looked at; its id."""
    started: str = lab.start_run(options)
    return started


@handles("cancel")
def cancel(lab: Any, request: Request) -> None:
    lab.runs.cancel(request.get("what", ""))


@handles("pin")
def pin(lab: Any, request: Request) -> None:
    """Pin the schedule that is looked at, or the run `what`."""
    with lab.acting():
        lab.pin(request.get("what", ""))


@handles("compare")
def compare(lab: Any, request: Request) -> None:
    if len(request["ids"]) != 2:
        raise LabError("request-field", f"two runs are compared, not {len(request['ids'])}")
    lab.compare(*request["ids"])


@handles("ablate")
def ablate(lab: Any, request: Request) -> None:
    lab.runs.ablate(lab.document, lab.args)


@handles("options")
def options(lab: Any, request: Request) -> None:
    with lab.acting():
        lab.runs.set(**request["values"])


# ---------------------------------------------------------------- tuning


@handles("tune")
def tune(lab: Any, request: Request) -> Any:
    """One of `payload_tune.Asked`."""
    return tune_requests.answer(lab, request["what"], request.get("values", {}))
