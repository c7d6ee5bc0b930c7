"""What the prompts of a route share: `/api/tree`."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from fastapi import APIRouter, Request, Response

from gateway.admin import AdminGuard
from gateway.config import DEFAULT_ROUTE
from gateway.models import Models
from gateway.tables import answer
from telemetry.tree import Node, Recent, tree

ASKED: Final = 4096
"""So many times at most a worker's index is asked for one answer, which takes some milliseconds."""


@dataclass(frozen=True, slots=True)
class TreeNode:
    """A piece of prompts without a fork in it; no text. depth_tokens: before it. requests, share: that go through it,
    of the route's last ones. prompt_versions: at most five. holders: workers believed to hold all of it; null when
    there are too many to ask."""

    id: str
    parent: str | None
    depth_tokens: int
    tokens: int
    requests: int
    share: float
    prompt_versions: list[str]
    holders: int | None


@dataclass(frozen=True, slots=True)
class Tree:
    """The last prompts of a route, and at most 200 nodes, parents first."""

    route: str
    requests: int
    nodes: list[TreeNode]


def tree_routes(guard: AdminGuard, recent: Recent, models: Models) -> APIRouter:
    """`/api/tree`."""
    routes = APIRouter(prefix="/api", tags=["prompts"])

    @routes.get("/tree", response_model=Tree)
    async def shared(request: Request, route: str = DEFAULT_ROUTE) -> Response:
        """What the last prompts of a route share, of their first 128 KB."""
        guard(request)
        chains = recent.of(route)
        nodes = await asyncio.to_thread(tree, chains)
        return answer(Tree(route, len(chains), _with_holders(nodes, models)))

    return routes


def _with_holders(nodes: Sequence[Node], models: Models) -> list[TreeNode]:
    workers = sum(len(group.workers) for group in models)
    asked = workers * len(nodes) <= ASKED
    return [_shown(node, _holders(node.blocks, models) if asked else None) for node in nodes]


def _holders(blocks: Sequence[int], models: Models) -> int:
    return sum(held >= len(blocks) for group in models for held in group.router.computed_blocks(blocks).values())


def _shown(node: Node, holders: int | None) -> TreeNode:
    return TreeNode(
        node.id,
        node.parent,
        node.depth_tokens,
        node.tokens,
        node.requests,
        node.share,
        node.prompt_versions,
        holders,
    )
