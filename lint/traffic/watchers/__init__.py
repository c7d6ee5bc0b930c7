"""The watchers of lint.traffic, one module each."""

from lint.traffic.watcher import Watcher
from lint.traffic.watchers.bypassed import Bypassed
from lint.traffic.watchers.dead_tools import DeadTools
from lint.traffic.watchers.echoes import Echoes
from lint.traffic.watchers.flips import Flips
from lint.traffic.watchers.keys import Keys
from lint.traffic.watchers.marks import Marks
from lint.traffic.watchers.reported import Reported
from lint.traffic.watchers.scattered import Scattered
from lint.traffic.watchers.static import Static
from lint.traffic.watchers.writes import Writes


def watchers() -> tuple[Watcher, ...]:
    """New ones, for one log."""
    return Static(), Keys(), Flips(), Bypassed(), DeadTools(), Echoes(), Marks(), Writes(), Reported(), Scattered()
