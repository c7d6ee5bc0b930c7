"""prefix.trace: what a line says, and text with exactly the prefixes that its ids have."""

from itertools import takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefix.errors import TraceError
from prefix.trace import (
    BYTES_PER_TOKEN,
    TraceRequest,
    arrival_seconds,
    block_text,
    format_request,
    infer_block_tokens,
    parse_trace,
    prompt_blocks,
    sift_trace,
    whole_blocks,
)

LINE = '{"timestamp":27,"input_length":1100,"output_length":3,"hash_ids":[0,5,9]}'
naturals = st.integers(0, 2**40)
ids = st.lists(naturals, max_size=8).map(tuple)
requests = st.builds(
    TraceRequest,
    timestamp=naturals | st.floats(0, 1e12),
    input_length=st.integers(1, 2**40),
    output_length=naturals,
    hash_ids=ids,
    session=st.none() | naturals | st.text(),
    turn=st.none() | naturals,
    out_ids=ids,
)


def request(stamp: float = 0, *, length: int = 1100, hash_ids: tuple[int, ...] = (0, 5, 9)) -> TraceRequest:
    return TraceRequest(stamp, length, 3, hash_ids)


def test_parse() -> None:
    """A line becomes its request; blank lines are passed over; bytes and text read alike."""
    session = LINE[:-1] + ',"session":7,"turn":1,"out_ids":[11]}'
    assert list(parse_trace(["\n", LINE, " ", session.encode()], "t")) == [
        TraceRequest(27, 1100, 3, (0, 5, 9)),
        TraceRequest(27, 1100, 3, (0, 5, 9), session=7, turn=1, out_ids=(11,)),
    ]


@given(requests)
def test_format_round_trip(one: TraceRequest) -> None:
    """What was written parses to the same request."""
    assert list(parse_trace([format_request(one)], "t")) == [one]


def test_sift_keeps_what_parses_and_names_the_rest() -> None:
    """Every bad line is one error with its place; the others are read as usual."""
    requests, errors = sift_trace(["\n", LINE, "oops", LINE[:-1], b"\xff", LINE], "t")
    assert requests == list(parse_trace([LINE, LINE], "t"))
    assert [str(error).split(": ")[0] for error in errors] == ["t:3", "t:4", "t:5"]


@pytest.mark.parametrize("size", [1, 16, 64, 512, 1024])
@pytest.mark.parametrize("partial", [True, False])
def test_the_block_size_is_inferred(size: int, partial: bool) -> None:
    """Whether a partial last block has an id or not."""
    lengths = [size, 3 * size, 5 * size + size // 2, 40 * size - 1]
    made = [
        request(length=length, hash_ids=tuple(range(-(-length // size) if partial else length // size)))
        for length in lengths
    ]
    assert infer_block_tokens(made) == size
    assert [whole_blocks(one, size) for one in made] == [length // size for length in lengths]


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ([request(length=1000, hash_ids=(1,))], "several sizes fit"),
        ([], "several sizes fit"),
        ([request(length=1000, hash_ids=(1, 2)), request(length=64, hash_ids=(1, 2))], "no size fits"),
    ],
)
def test_a_block_size_that_cannot_be_told(made: list[TraceRequest], said: str) -> None:
    """It is asked for, not guessed."""
    with pytest.raises(TraceError, match=said):
        infer_block_tokens(made)


def test_format_is_the_sources_spelling() -> None:
    """A line of the public traces is written as it was read."""
    assert [format_request(one) for one in parse_trace([LINE], "t")] == [LINE]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "truncated"),
        ("[]", "object"),
        ('{"timestamp":1}', "input_length"),
        (LINE.replace("27", "-1"), "timestamp"),
        (LINE.replace("27", '"x"'), "timestamp"),
        (LINE.replace("1100", "0"), "input_length"),
        (LINE.replace("1100", "1.5"), "input_length"),
        (LINE.replace("[0,5,9]", "[0,-5]"), "hash_ids"),
        (LINE.replace("[0,5,9]", '{"a":1}'), "hash_ids"),
        (LINE + LINE, "trailing"),
        (b'{"session":"\xff"}', "utf-8"),
    ],
)
def test_parse_error_names_file_and_line(line: str | bytes, said: str) -> None:
    """A line that is not a request is a TraceError with file, line number and the reason, in one line."""
    with pytest.raises(TraceError) as caught:
        list(parse_trace([LINE, "", line], "some.jsonl"))
    message = str(caught.value)
    assert message.startswith("some.jsonl:3: ")
    assert said in message.lower()
    assert "\n" not in message


@pytest.mark.parametrize(
    ("stamps", "seconds"),
    [
        ([], []),
        ([500], [0.0]),
        ([500, 500], [0.0, 0.0]),
        ([0, 0, 0, 3000, 3000], [0.0, 1.0, 2.0, 3.0, 4.5]),
        ([100, 350, 400], [0.0, 0.25, 0.3]),
    ],
)
def test_arrivals_spread(stamps: list[float], seconds: list[float]) -> None:
    """Requests of one stamp are spread evenly up to the next stamp; distinct stamps stay as they are."""
    assert arrival_seconds([request(stamp) for stamp in stamps]) == pytest.approx(seconds)


def test_arrivals_in_order() -> None:
    """A trace whose time goes back has no arrivals."""
    with pytest.raises(TraceError, match="go back after 9 ms"):
        arrival_seconds([request(stamp) for stamp in (0, 9, 8)])


@given(st.text(max_size=12), st.integers(0, 3000))
def test_block_text_size(key: str, size: int) -> None:
    """A block's text has the size asked for, in bytes, and is the same every time."""
    text = block_text(key, size)
    assert text.isascii()
    assert len(text) == size
    assert text == block_text(key, size)
    assert block_text(key, size // 2) == text[: size // 2]


def test_block_text_is_stable() -> None:
    """The text is the same in every process and version, so results can be compared over time."""
    assert block_text("block 1", 24) == "ban bren le le sar pon m"


def test_block_texts_part_early() -> None:
    """Different blocks differ within the first page of 16 tokens."""
    heads = {block_text(f"block {number}", 16 * BYTES_PER_TOKEN) for number in range(20_000)}
    assert len(heads) == 20_000


chains = st.lists(st.integers(0, 2), min_size=1, max_size=5)


@given(chains, chains)
def test_prompts_share_text_exactly_where_they_share_ids(left: list[int], right: list[int]) -> None:
    """Two prompts share a leading text of as many blocks as they share leading ids, and hardly more."""
    one, two = ("".join(prompt_blocks(chain_request(chain), block_tokens=64, unique="")) for chain in (left, right))
    blocks = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False)))
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, two, strict=False)))
    block_bytes = 64 * BYTES_PER_TOKEN
    assert blocks * block_bytes <= shared < blocks * block_bytes + 16 * BYTES_PER_TOKEN


def chain_request(chain: list[int]) -> TraceRequest:
    """A request whose ids stand for whole prefixes: the same digit after another prefix is another id."""
    hash_ids = tuple(int("1" + "".join(map(str, chain[: end + 1]))) for end in range(len(chain)))
    return request(length=64 * len(chain), hash_ids=hash_ids)


@pytest.mark.parametrize(
    ("length", "hash_ids", "sizes"),
    [
        (1024, (1, 2), [2048, 2048]),
        (1025, (1, 2), [2048, 2048, 4]),
        (1025, (1, 2, 3), [2048, 2048, 4]),
        (10, (), [40]),
        (10, (1,), [40]),
    ],
)
def test_prompt_block_sizes(length: int, hash_ids: tuple[int, ...], sizes: list[int]) -> None:
    """Blocks are four bytes a token; a partial last block counts with or without an id."""
    blocks = prompt_blocks(request(length=length, hash_ids=hash_ids), block_tokens=512, unique="x")
    assert [len(block) for block in blocks] == sizes


def test_prompt_blocks_shrink() -> None:
    """Shrunk prompts keep their blocks, each at a fraction of its length, never empty."""
    blocks = prompt_blocks(request(length=1026, hash_ids=(1, 2, 3)), block_tokens=512, unique="", shrink=4)
    assert [len(block) for block in blocks] == [512, 512, 4]


def test_tail_without_id_is_unique() -> None:
    """A tail that the trace gives no id differs between requests; one with an id is that id's text."""
    bare, named = request(length=100, hash_ids=(1,)), request(length=100, hash_ids=(1, 2))

    def tail(one: TraceRequest, unique: str) -> str:
        return prompt_blocks(one, block_tokens=64, unique=unique)[1]

    assert tail(bare, "a") != tail(bare, "b")
    assert tail(named, "a") == tail(named, "b") == block_text("block 2", 36 * BYTES_PER_TOKEN)


@pytest.mark.parametrize(("length", "hash_ids"), [(1024, (1,)), (1024, (1, 2, 3)), (1025, (1,)), (1, (1, 2))])
def test_ids_that_do_not_fit(length: int, hash_ids: tuple[int, ...]) -> None:
    """Ids that do not fit the length tell that the block size is wrong, rather than giving some text."""
    with pytest.raises(TraceError, match="do not fit"):
        prompt_blocks(request(length=length, hash_ids=hash_ids), block_tokens=512, unique="")
