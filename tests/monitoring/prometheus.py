"""A real Prometheus with the example's configuration, scraping what a test runs, and its answers."""

import json
import math
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

import yaml

from tests.monitoring.tools import EXAMPLES, tool

SCRAPE_S: Final = 1
_READY_WITHIN_S: Final = 30.0
_TOKEN_LINE: Final = "# authorization: {credentials_file: /etc/prometheus/prefixgate-token}"

Samples = list[tuple[dict[str, str], float]]


class Prometheus:
    """What a running one says."""

    def __init__(self, url: str) -> None:
        self.url = url

    def get(self, path: str, **query: object) -> Any:
        """The data of one answer of its API. Fails with Prometheus' own words."""
        with urlopen(f"{self.url}/api/v1/{path}?{urlencode(query)}", timeout=30) as response:
            return json.load(response)["data"]

    def at(self, query: str, when: float) -> Samples:
        """An instant query."""
        found = self.get("query", query=query, time=when)["result"]
        return [(each["metric"], float(each["value"][1])) for each in found]

    def between(self, query: str, start: float, end: float) -> Samples:
        """Every sample of a range query that is a number, one step a scrape, as a Grafana panel asks."""
        found = self.get("query_range", query=query, start=start, end=end, step=SCRAPE_S)["result"]
        samples = [(each["metric"], float(value)) for each in found for _, value in each["values"]]
        return [sample for sample in samples if not math.isnan(sample[1])]


def configuration(targets: Mapping[str, Sequence[str]], token: str, folder: Path) -> Path:
    """The example's prometheus.yml with the line about the token uncommented, other targets per job, a fast clock."""
    text = (EXAMPLES / "prometheus.yml").read_text()
    assert _TOKEN_LINE in text
    secret = folder / "prefixgate-token"
    secret.write_text(f"{token}\n")
    config = yaml.safe_load(text.replace(_TOKEN_LINE, f"authorization: {{credentials_file: {secret}}}"))
    config["global"] = dict.fromkeys(("scrape_interval", "evaluation_interval"), f"{SCRAPE_S}s")
    config["rule_files"] = [str(EXAMPLES / name) for name in config["rule_files"]]
    assert {job["job_name"] for job in config["scrape_configs"]} == set(targets)
    for job in config["scrape_configs"]:
        job["static_configs"] = [{"targets": list(targets[job["job_name"]])}]
    path = folder / "prometheus.yml"
    path.write_text(yaml.safe_dump(config))
    return path


@contextmanager
def scraping(targets: Mapping[str, Sequence[str]], token: str, folder: Path) -> Iterator[Prometheus]:
    """A Prometheus that scrapes these targets, by job, and shows the gateway a token; ended on the way out."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    log = folder / "prometheus.log"
    flags = {"config.file": configuration(targets, token, folder), "web.listen-address": address}
    flags["storage.tsdb.path"] = folder / "data"
    command = [tool("prometheus"), *(f"--{name}={value}" for name, value in flags.items())]
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output) as process:
        try:
            _wait_until_ready(f"http://{address}/-/ready", process, log)
            yield Prometheus(f"http://{address}")
        finally:
            process.kill()


def _wait_until_ready(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _READY_WITHIN_S
    while True:
        try:
            with urlopen(url, timeout=2):
                return
        except URLError:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
