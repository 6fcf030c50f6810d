"""What crosses between the kernel and the lab in the browser: the one place where it is written down.

Plain JSON. `extension/src/view/payload.ts` is made from this file (`python -m tests.payloads`), and tests hold what is
really sent against it. State that must survive (a reload, a second view, a saved notebook) is in traits of the widget;
what a view asks for, for itself, is a request and its reply.

Loops are named by their paths (`C.i.outer`), stages by their names; both together are `ids`, unique in a frame.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

SCHEMA = 1  # raised when a document written before can no longer be read as it is

Sign = Literal["+", "x", "?", "="]  # legal, not legal, unknown, no effect
How = Literal["", "measured", "modelled", "simulated"]

# ---------------------------------------------------------------- one step's picture of the schedule


class Row(TypedDict):
    """A row of the schedule tree: a stage, or a loop of one; `level` 0 is outermost. Rows are in printing order."""

    id: str  # path of the loop, name of the stage
    kind: Literal["stage", "loop", "input"]
    level: int
    stage: str
    name: str  # what the person calls it
    extent: str  # "32", "n"; of a stage: its shape, "[64, 64] float32"
    n: int | None  # the extent as a number
    tail: str  # "33 = 2 x 16 + 1" where the loop above does not divide, else ""
    reduce: bool
    mark: str  # parallel, vectorized, unrolled, tensorized, threadIdx.x ...
    chips: list[str]  # the words shown behind the name: "par", "vec 32", "in local", "at io", "inlined"
    step: int  # the step (1, 2, ...) that made or last marked it; 0: there from the start
    spoken: str  # "loop i outer, extent 16, parallel, step 4"


Span = tuple[int, int, str]  # start, end (as a browser counts letters), class: word mark number comment string


class Line(TypedDict):
    """A line of the loop program."""

    d: int  # indent, in levels
    t: str
    k: NotRequired[list[Span]]
    id: NotRequired[str]  # the loop (or stage) this line is of
    s: NotRequired[int]  # the step that made it, 1, 2, ...
    why: NotRequired[str]  # why it is there: of a barrier, the accesses that need it


class Level(TypedDict):
    """What one loop's body touches during one whole run of that loop."""

    id: str
    name: str
    depth: int
    bytes: float  # footprint: distinct bytes touched while the loop runs once
    moved: float  # bytes loaded and stored while the loop runs once


class Metrics(TypedDict):
    """Modelled numbers of a whole program. None: could not be modelled (`why` says what is in the way)."""

    flops: float | None
    read: float | None  # bytes loaded, every access counted
    written: float | None
    unique: float | None  # distinct bytes of all buffers touched
    redundancy: float | None  # arithmetic over that of the unscheduled program; 1: nothing is computed twice
    tasks: int | None  # iterations that run in parallel
    lanes: int | None  # of the widest vector in the innermost loops that compute
    levels: list[Level]
    exact: bool  # affine: the numbers are counts; else bounds
    why: str


class Frame(TypedDict):
    """The schedule after some step."""

    key: str  # equal keys: equal frames
    tree: list[Row]
    loops: list[Line]
    metrics: Metrics
    notes: list[str]  # open obligations, as text
    error: NotRequired[Card]  # the loops could not be made: why


# ---------------------------------------------------------------- history


class Origin(TypedDict):
    """Where a step was taken: `widget`, or a cell (its execution count) or file, and the line."""

    kind: Literal["widget", "cell", "file"]
    label: str  # "cell 7 line 4"


class StepInfo(TypedDict):
    id: str  # stays with the step through edits and branches
    label: str  # "vectorize ji"
    code: str  # the call: s[C].vectorize(ji)
    status: Literal["ok", "parked", "same"]
    reason: str  # why it is parked, or what it does not change
    name: str  # given by the person
    note: str
    origin: Origin
    params: list[Param]  # what can be edited of it
    metrics: Metrics | None
    seconds: float | None  # measured after this step
    group: str  # steps of one recipe share it, else ""


class Branch(TypedDict):
    id: str
    name: str
    steps: int
    current: bool


class History(TypedDict):
    """`cursor`: how many of the steps are in force, parked ones counted; 0: the start."""

    steps: list[StepInfo]
    cursor: int
    branches: list[Branch]
    start: Metrics | None  # metrics and time before any step
    start_seconds: float | None
    undo: str  # what it takes back: a step or a change of one, in words; "": nothing
    redo: str


class Story(TypedDict):
    """All frames of the current branch, packed: a line, a row or a level of several frames is stored once."""

    lines: list[Line]
    rows: list[Row]
    levels: list[Level]
    frames: list[PackedFrame]  # one per cursor 0..len(steps)


class PackedFrame(TypedDict):
    key: str
    loops: list[int]
    tree: list[int]
    metrics: Metrics  # without its levels
    levels: list[int]
    notes: list[str]


# ---------------------------------------------------------------- acting


class Act(TypedDict):
    """A step to take. Arguments: numbers, text, {"axis": path}, {"stage": name}, {"tensor": name}, lists of these."""

    primitive: str  # or "recipe:<name>"
    args: dict[str, Any]


class Choice(TypedDict):
    value: Any
    label: str
    sign: NotRequired[Sign]


class Param(TypedDict):
    """A value that a person may change before applying."""

    name: str  # the argument of the act
    label: str
    kind: Literal["factor", "int", "choice", "axes", "bool", "text"]
    value: Any
    choices: list[Choice]  # factors: the divisors first
    least: NotRequired[int]
    most: NotRequired[int]


class Move(TypedDict):
    """An act offered in words."""

    text: str
    act: Act


class Card(TypedDict):
    """Why something is not so: shown in its place."""

    title: str  # what was asked
    text: str  # why not, in the person's names
    where: list[str]  # the loops concerned
    clash: str
    moves: list[Move]  # legal instead, one click each
    legal: list[str]  # legal instead, as text
    hint: str
    code: str  # the rule


class Action(TypedDict):
    """One line of the actions list, in a fixed order."""

    name: str  # split
    key: str  # the letter, or ""
    label: str
    sign: Sign
    word: str  # legal, not legal, unknown, no effect; "not here": not for this selection, `reason` says for which
    reason: str
    owes: list[str]  # what would have to follow
    act: Act | None  # None: needs a choice first
    params: list[Param]
    code: str  # the call as it would be written
    card: Card | None
    help: str  # first line of the primitive's docstring
    group: Literal["loop", "stage", "recipe"]


class Actions(TypedDict):
    ids: list[str]  # the selection they are for
    frame: str  # key of the frame they are for
    items: list[Action]


class Delta(TypedDict):
    """One number before and after."""

    name: str  # arithmetic, bytes moved, footprint of <loop>, parallel tasks, vector width
    before: float | None
    after: float | None
    text: str  # "-62 %", "1 -> 32", "="
    better: bool | None  # None: neither


class Preview(TypedDict):
    act: Act
    sign: Sign
    reason: str
    tree: list[Row]  # of the schedule as it would be
    diff: list[DiffLine]
    deltas: list[Delta]
    card: Card | None


class Drop(TypedDict):
    """A place where a dragged row may be dropped (request "explain", what: "drops", ids: [the dragged one]).

    A loop takes the place of loop `id` of its stage, those between move up; a stage is computed in loop `id`.
    """

    id: str
    sign: Sign
    reason: str
    act: Act | None


class DiffLine(TypedDict):
    """`sign`: " " kept, "+" added, "-" removed, "~" changed (only its indent or a part)."""

    sign: Literal[" ", "+", "-", "~"]
    line: Line
    at: int  # line number in the newer text, from 0; -1 where it is gone
    was: NotRequired[str]  # of a changed line: the text before, where that is another


# ---------------------------------------------------------------- code, passes, pictures


class SourceText(TypedDict):
    kind: str  # loops, numba, llvm, ll, asm ...
    label: str
    lines: list[Line]
    note: str  # compile time, or what is left out
    error: Card | None


class Pass(TypedDict):
    name: str
    ms: float
    changed: bool
    lines: list[Line]


class Table(TypedDict):
    """The text twin of a picture."""

    title: str
    head: list[str]
    rows: list[list[str]]
    ids: NotRequired[list[str]]  # a loop or stage per row: click selects; "?name=value" as in a Picture


class Picture(TypedDict):
    """What can be chosen in it are its `params`; an element whose data-id is "?name=value" chooses, by the request
    "look". `note`: what was chosen and is not there."""

    kind: str  # graph, relations, metrics, roofline, parallel
    svg: str  # elements with data-id select
    table: Table
    about: str  # three sentences
    how: How
    dot: NotRequired[str]
    params: NotRequired[list[Param]]
    note: NotRequired[str]


# ---------------------------------------------------------------- running


class Wrong(TypedDict):
    """The first element that differs from the reference."""

    tensor: str
    index: list[int]
    got: str
    expected: str
    count: int
    writers: list[str]  # the iterations that wrote it
    note: str


class Run(TypedDict):
    id: str
    when: str  # 14:03:22
    title: str  # the schedule's name and step
    step: str  # id of the last step ("" for the start)
    trace: str  # hash of the trace
    target: str
    size: str
    threads: int
    state: Literal["queued", "compiling", "checking", "running", "done", "failed", "cancelled"]
    progress: float  # 0..1
    seconds: float | None  # median
    spread: float | None  # interquartile range
    times: list[float]
    gflops: float | None
    check: Literal["", "ok", "wrong", "skipped"]
    worst: str  # largest difference and the tolerance, in words
    wrong: Wrong | None
    compile: float | None  # seconds, apart from the run
    baseline: float | None  # seconds of the library
    baseline_name: str
    naive: NotRequired[float | None]  # seconds of the program before any step
    error: Card | None
    untimed: NotRequired[str]  # what runs it and gives no times: "simulator"
    machine: str
    pinned: bool
    stale: bool  # the schedule has gone on since


class Reason(TypedDict):
    """Why one is faster: `show` names a picture or a loop to look at."""

    text: str
    number: str
    show: str
    how: How


class Comparison(TypedDict):
    a: str  # run ids
    b: str
    state: Literal["running", "done", "failed", "cancelled"]
    verdict: str  # of b beside a: faster, slower, same within noise
    text: str  # the verdict line
    ratio: float | None  # time of a over time of b
    low: float | None
    high: float | None
    rounds: int
    reasons: list[Reason]
    explained: bool
    model: str  # how far the model goes, in words; "" where there is nothing to explain
    diff: list[DiffLine]
    table: Table
    error: Card | None


class Worth(TypedDict):
    """What one step was worth: the schedule was measured without it."""

    id: str
    text: str  # "worth 3.1x", "cannot be removed: step 5 needs it"
    ratio: float | None  # time without it over time with it
    low: float | None
    high: float | None


class Runs(TypedDict):
    rows: list[Run]
    comparison: Comparison | None
    ablation: list[Worth]
    options: RunOptions


class RunOptions(TypedDict):
    target: str
    threads: int  # 0: all
    repeats: int
    limit: float  # seconds
    seed: int
    rtol: float
    inputs: str  # "random" or "given"


# ---------------------------------------------------------------- the head


class Target(TypedDict):
    name: str
    label: str
    available: bool
    why: str


class MachineInfo(TypedDict):
    name: str
    label: str
    lines: list[str]  # L1 48 KiB, ...


class Badge(TypedDict):
    sign: Sign
    text: str  # "legal", "2 things are open"
    items: list[str]


class Head(TypedDict):
    schema: int
    id: str  # of the lab
    name: str  # of the lab: what the panel lists
    title: str  # matmul 512x512x512 float32
    variable: str  # what the schedule is called in code: s
    expression: list[str]  # the equations
    target: str
    targets: list[Target]
    machine: str
    machines: list[MachineInfo]
    badge: Badge
    time: str  # "6.1 ms" or "not run"
    spread: str  # "+-2 %"
    times_naive: str  # "12.4× naive", "3× slower than naive" or ""
    calls: str  # the steps as code
    program: str  # imports, expression and steps: runs in a fresh kernel
    busy: str  # what the kernel is doing, or ""
    start: bool  # nothing was chosen yet: the workload drawer opens
    looked: int  # grows when a picture shows something else, without a step
    given: str  # lab loaded from an older or newer document: what was kept and what was skipped


class Message(TypedDict):
    """The last thing that happened; `n` grows so that the same text twice is said twice."""

    n: int
    text: str
    kind: Literal["info", "good", "bad"]
    card: Card | None


# ---------------------------------------------------------------- the drawer


class Field(TypedDict):
    name: str
    label: str
    value: Any
    kind: Literal["int", "choice", "bool", "text"]
    choices: list[Any]


class Workload(TypedDict):
    """An operator that a lab can start from."""

    name: str
    label: str
    text: str  # one line
    fields: list[Field]
    presets: list[Preset]


class Preset(TypedDict):
    name: str
    values: dict[str, Any]


class Drawer(TypedDict):
    workloads: list[Workload]
    current: str
    example: str  # an expression to start typing from


class Typed(TypedDict):
    """How a typed expression reads: shapes, or the error and the part that it points at."""

    ok: bool
    tensors: list[str]  # "A: float32[64, 64]"
    error: str
    line: int  # 1, 2, ... of the text; 0: nowhere
    start: int  # columns
    end: int


# ---------------------------------------------------------------- the whole


class State(TypedDict):
    """The traits of the widget. A saved document holds them too, with the pictures of the current step."""

    head: Head
    history: History
    frame: Frame
    selection: list[str]  # ids
    actions: Actions
    runs: Runs
    message: Message
    story: Story


class Document(TypedDict):
    """A lab as data: shown by the MIME renderer and by exported pages, without a kernel. `save` is what `load` reads.

    It is the companion output of a lab. `model`: the widget it is the still copy of; while that lives in the kernel,
    the copy is shown folded.
    """

    schema: int
    model: NotRequired[str]
    state: State
    pictures: list[Picture]
    sources: list[SourceText]
    save: NotRequired[dict[str, Any]]


class Pointer(TypedDict):
    """Of the same MIME type, in the output of the widget itself: where the model is gone nothing is drawn here, for the
    still copy (a Document) stands in the next output."""

    schema: int
    live: str  # id of the widget's model


class Request(TypedDict):
    """From a view. `seq` comes back in the reply; the kernel answers every request."""

    seq: int
    kind: Literal[
        # acting; the answer is in the traits
        "apply", "undo", "redo", "jump", "edit", "delete", "move", "rename", "note", "branch", "switch", "retry",
        "select", "target", "machine", "start", "look",
        # looking; the answer is the reply
        "preview", "verdict", "frame", "source", "passes", "picture", "drawer", "typed", "explain", "document",
        # running
        "run", "cancel", "pin", "compare", "ablate", "options",
        # parts that are loaded when they are first opened: the reply to "module" is a Module, of the one named `what`;
        # "tune" is one of `payload_tune.Asked`
        "module", "tune",
    ]  # fmt: skip
    act: NotRequired[Act]
    ids: NotRequired[list[str]]
    step: NotRequired[str]  # id of a step; "" is the start
    cursor: NotRequired[int]
    to: NotRequired[int]
    text: NotRequired[str]
    what: NotRequired[str]
    values: NotRequired[dict[str, Any]]
    sure: NotRequired[bool]  # an unknown verdict was confirmed


class Module(TypedDict):
    """A part of the front end that is not loaded with the widget: its code and its styles."""

    js: str
    css: str


class Reply(TypedDict):
    re: int  # the request's seq
    ok: bool
    data: Any
    card: Card | None
