"""Two prompts in a terminal: both texts at the place where they part, what it costs, and what to do about it."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from gateway.prompt_canon import CanonicalPrompt, tokens
from gateway.prompt_excerpt import Piece, excerpts, visible
from prefix.comparison import Comparison
from prefix.explanations import EXPLANATIONS
from prefix.split import Extent

_SIDE_BY_SIDE: Final = 64
_WIDEST: Final = 100
_BAR: Final = 64
_MARKS: Final = ("⟦", "⟧")


def print_comparison(
    names: tuple[str, str],
    bodies: tuple[Mapping[str, Any], Mapping[str, Any]],
    found: Comparison,
    console: Console | None = None,
) -> None:
    """Say where two prompts part, and what to do about it. names: of the files they come from."""
    console = console or Console(highlight=False)
    cause = found.cause
    if cause is None:
        console.print(Text.assemble(("Identical", "bold green"), f": one prompt of {found.tokens:,} tokens"))
        console.print(Text(found.counting, "dim"))
        return
    console.width = min(console.width, _WIDEST)
    sides = excerpts(*bodies, found.divergence, cause)
    title, advice = EXPLANATIONS[cause.kind]
    at = found.divergence.char_offset if found.divergence else None
    place = "" if cause.offset is None or at is None else f", character {at:,}"
    console.print(Text.assemble((title[0].upper() + title[1:], "bold"), " at ", (visible(cause.path), "cyan"), place))
    console.print()
    console.print(_beside(console, names, sides))
    console.print()
    console.print(_bar(console, found))
    console.print(_legend(found))
    console.print(Text(f"tokens of {visible(names[1])}; {found.counting}", "dim"))
    console.print()
    console.print(Text(f"→ {advice}"))


def _beside(console: Console, names: Sequence[str], sides: Sequence[Sequence[Piece]]) -> RenderableType:
    heads = [Text(f"{letter}  {visible(name)}", "dim") for letter, name in zip("AB", names, strict=True)]
    texts = [_marked(console, pieces, style) for pieces, style in zip(sides, ("red", "green"), strict=True)]
    if console.width < _SIDE_BY_SIDE:
        return Group(heads[0], texts[0], "", heads[1], texts[1])
    half = console.width // 2 - 2
    table = Table.grid(padding=(0, 3))
    table.add_column(width=half, overflow="fold")
    table.add_column(max_width=half, overflow="fold")
    table.add_row(*heads)
    table.add_row(*texts)
    return table


def _marked(console: Console, pieces: Sequence[Piece], style: str) -> Text:
    """The difference in colour; in brackets where there is no colour, or nothing to colour."""
    plain = console.color_system is None or console.no_color
    text = Text()
    for piece in pieces:
        brackets = _MARKS if piece.differs and (plain or not piece.text) else ("", "")
        text.append(piece.text.join(brackets), f"bold {style}" if piece.differs else "")
    text.rstrip()
    return text


def print_canonical(made: CanonicalPrompt, console: Console | None = None) -> None:
    """What was rewritten, and where the stable prefix ends: on standard error, below the body."""
    console = console or Console(stderr=True, highlight=False)
    prefix, suffix = made.split.stable_prefix, made.split.suffix
    rows = [(change.kind.replace("_", " "), Text(visible(change.path), "cyan")) for change in made.changes]
    rows += [
        ("stable prefix", Text.assemble(_extent(prefix), ", up to ", (visible(prefix.ends_at) or "the end", "cyan"))),
        ("suffix", Text(_extent(suffix))),
        ("prompt version", Text(made.split.prompt_version or "none: no tools and no system text")),
    ]
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim")
    for name, text in rows if made.changes else [("nothing rewritten", Text()), *rows]:
        table.add_row(name, text)
    console.print(table)


def _extent(extent: Extent) -> str:
    count = tokens(extent)
    return f"{extent.bytes:,} bytes, about {count:,} token{'' if count == 1 else 's'}"


class _Share(NamedTuple):
    """A share of B's tokens, and how it is drawn."""

    tokens: int
    glyph: str
    style: str


def _shares(found: Comparison) -> tuple[_Share, _Share, _Share]:
    """Shared, lost but recoverable, lost because new."""
    return (
        _Share(found.shared_tokens, "█", "green"),
        _Share(found.recoverable_tokens, "▓", "yellow"),
        _Share(found.lost_tokens - found.recoverable_tokens, "░", "dim"),
    )


def _bar(console: Console, found: Comparison) -> Text:
    """The shares to scale; what there is at all is seen."""
    shares = _shares(found)
    width = min(console.width, _BAR)
    cells = [max(share.tokens > 0, round(width * share.tokens / max(found.tokens, 1))) for share in shares]
    cells[cells.index(max(cells))] += width - sum(cells)
    return Text.assemble(*((share.glyph * cell, share.style) for share, cell in zip(shares, cells, strict=True)))


def _legend(found: Comparison) -> Text:
    shared, again, new = _shares(found)
    return Text.assemble(
        (shared.glyph, shared.style), f" {shared.tokens:,} tokens shared, {found.lost_tokens:,} lost: ",
        (again.glyph, again.style), f" {again.tokens:,} recoverable, ",
        (new.glyph, new.style), f" {new.tokens:,} new",
    )  # fmt: skip
