"""What is found in a log, linked to the source that makes it, when both are in one run."""

from collections.abc import Iterable, Iterator

from lint.documents import Linkable
from lint.rule import Document, Finding
from lint.sources.flow import FlowDocument


def linked(documents: Iterable[Document]) -> Iterator[Document]:
    """The documents, logs behind all source, so that what is found in them is linked to it."""
    later: list[Linkable] = []
    origins: list[FlowDocument] = []
    for document in documents:
        if isinstance(document, Linkable):
            later.append(document)
            continue
        if isinstance(document, FlowDocument):
            origins.append(document)
        yield document
    for log in later:
        yield log.linked(origins)


def each_once(findings: Iterable[Finding]) -> list[Finding]:
    """Each cause once: what traffic shows and is linked to a place in the source stands for what is said of that."""
    known = list(findings)
    linked = {(place.filename, place.location) for finding in known for place in finding.related}
    return [finding for finding in known if (finding.filename, finding.location) not in linked]
