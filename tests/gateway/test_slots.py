"""gateway.slots: a request takes over the slot where that saves most, less what it destroys."""

import random

import pytest

from gateway.slots import Slots

SYSTEM = list(range(10))


def chain(*texts: int) -> list[int]:
    """Blocks of a prompt: the shared system prompt, then these."""
    return [*SYSTEM, *texts]


def serve(slots: Slots, blocks: list[int]) -> int | None:
    """One request from begin to end; the slot it had."""
    slot = slots.take(blocks)
    slots.give_back(slot)
    return slot


def test_the_next_turn_goes_where_the_last_one_was() -> None:
    """Two conversations keep their slots however they alternate."""
    slots = Slots(2)
    histories = [chain(*range(100, 105)), chain(*range(200, 205))]
    at = [serve(slots, history) for history in histories]
    assert set(at) == {0, 1}
    for turn in range(1, 6):
        for which, history in enumerate(histories):
            history.append(1000 * which + turn)
            assert serve(slots, list(history)) == at[which]


def test_a_new_conversation_takes_an_empty_slot_rather_than_a_long_history() -> None:
    """Ten shared blocks are not worth forty of another conversation; of a short one they are."""
    slots = Slots(2)
    assert serve(slots, chain(*range(100, 140))) == 0
    assert serve(slots, chain(500)) == 1
    assert serve(slots, chain(600)) == 1


def test_old_histories_make_room() -> None:
    """What nobody came back for loses its worth; a slot is not lost to it for ever."""
    slots = Slots(2)
    assert serve(slots, chain(*range(100, 400))) == 0
    seen = {serve(slots, [10_000 * number]) for number in range(1, 120)}
    assert seen == {0, 1}


def test_a_busy_slot_is_never_named() -> None:
    """Who names a busy slot waits for it; with none idle, or others about, the server chooses."""
    slots = Slots(2)
    first, second = slots.take(chain(1)), slots.take(chain(1, 2))
    assert {first, second} == {0, 1}
    assert slots.take(chain(1)) is None
    slots.give_back(first)
    assert slots.take(chain(1)) is None  # the one before it waits for this very slot
    for slot in (None, None):
        slots.give_back(slot)
    assert slots.take(chain(1), foreign=True) is None
    slots.give_back(None)
    assert slots.take(chain(1)) == first


@pytest.mark.parametrize(("wanted", "slot"), [(1, 1), (0, 0), (5, 1)])
def test_a_clients_own_choice_stands(wanted: int, slot: int) -> None:
    """As the server reads it: a number too large wraps round."""
    assert Slots(2).take(chain(1), wanted) == slot


def test_forgetting_keeps_who_runs() -> None:
    """After a loss every slot is as good as empty, the busy one is still busy."""
    slots = Slots(2)
    busy = slots.take(chain(1))
    slots.forget()
    assert serve(slots, chain(1)) != busy


def test_slots_beat_the_longest_prefix() -> None:
    """Conversations and one-off questions of one system prompt: more is kept than by the server's own rule."""
    assert _kept(worth=True) > 1.5 * _kept(worth=False)


def _kept(*, worth: bool) -> int:
    """Blocks served from slots in a drawn mix, by Slots or by the server's rule: longest common prefix, else LRU."""
    draw, slots = random.Random(3), Slots(4)
    held: list[list[int]] = [[] for _ in range(4)]
    used = [0] * 4
    histories = [chain(100 * number) for number in range(1, 4)]
    kept = 0
    for step in range(1, 120):
        history = draw.choice(histories)
        history.extend(draw.randrange(10**6, 10**9) for _ in range(6))
        for blocks in (list(history), chain(draw.randrange(10**6, 10**9))):
            shared = [_common(each, blocks) for each in held]
            if worth:
                slot = serve(slots, blocks)
                assert slot is not None
            else:
                slot = max(range(4), key=lambda each: (shared[each], -used[each]))
            kept += shared[slot]
            held[slot], used[slot] = blocks, step
    return kept


def _common(one: list[int], other: list[int]) -> int:
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count
