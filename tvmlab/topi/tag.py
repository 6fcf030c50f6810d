"""The tags by which schedules and fusion know operators."""

ELEMWISE, BROADCAST, INJECTIVE = "elemwise", "broadcast", "injective"
COMM_REDUCE, COMM_REDUCE_IDX = "comm_reduce", "comm_reduce_idx"


def is_broadcast(tag: str) -> bool:
    return tag in (ELEMWISE, BROADCAST) or tag.startswith((ELEMWISE, BROADCAST))


def is_injective(tag: str) -> bool:
    return is_broadcast(tag) or tag.startswith(INJECTIVE)
