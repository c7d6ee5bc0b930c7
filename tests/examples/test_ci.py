"""The pre-commit hooks and examples/ci: each is what its reader takes, and the commands in it run."""

import json
import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from click.testing import CliRunner, Result
from referencing import Registry, Resource

from gateway.cli import cli
from lint.sources.examples import app

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "ci"
SCHEMAS = ROOT / "tests" / "data" / "schemas"
HOOKS = "https://json.schemastore.org/pre-commit-hooks.json"
CLOCK = app("f'Now: {datetime.now()}. ' + POLICY", imports="from datetime import datetime").text


def schema(name: str) -> Any:
    return json.loads((SCHEMAS / name).read_text(encoding="utf-8"))


def load(path: Path) -> Any:
    """YAML 1.2 as GitHub and GitLab read it: `on` is a word."""
    return json.loads(json.dumps(yaml.load(path.read_text(encoding="utf-8"), yaml.BaseLoader)))


@pytest.mark.parametrize(
    ("path", "name"),
    [
        (ROOT / ".pre-commit-hooks.yaml", "pre-commit-hooks.json"),
        (EXAMPLES / "pre-commit-config.yaml", "pre-commit-config.json"),
        (EXAMPLES / "gitlab-ci.yml", "gitlab-ci.json"),
        (EXAMPLES / "github-workflow.yml", "github-workflow.json"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_schemas(path: Path, name: str) -> None:
    """Valid by the schema of the program that reads it."""
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    if True in content:
        content["on"] = content.pop(True)  # YAML 1.1 takes the word for a truth value
    registry: Registry[Any] = Registry().with_resource(HOOKS, Resource.from_contents(schema("pre-commit-hooks.json")))
    validator = jsonschema.Draft7Validator(schema(name), registry=registry)
    assert [error.message for error in validator.iter_errors(content)] == []


def shell(command: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> Result:
    """Run a command of an example as its reader would, with this checkout's `prefixgate`."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("GITHUB_BASE_REF", "main")
    tool, *arguments = shlex.split(os.path.expandvars(command))
    assert tool == "prefixgate"
    return CliRunner().invoke(cli, arguments)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a finding in it and, on top of `origin/main`, another one."""
    author = ["-c", "user.name=a", "-c", "user.email=a@b.c"]

    def git(*arguments: str) -> None:
        subprocess.run(["git", *author, *arguments], cwd=tmp_path, check=True, capture_output=True)

    git("init", "-b", "main")
    (tmp_path / "old.py").write_text(CLOCK)
    git("add", ".")
    git("commit", "-m", "first")
    git("update-ref", "refs/remotes/origin/main", "HEAD")
    (tmp_path / "new.py").write_text(CLOCK)
    git("add", ".")
    git("commit", "-m", "second")
    return tmp_path


def test_github_workflow(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first step writes SARIF of everything and passes; the second fails for the new file, and only for it."""
    steps = [step["run"] for step in load(EXAMPLES / "github-workflow.yml")["jobs"]["lint"]["steps"] if "run" in step]
    everything, changed = [step for step in steps if step.startswith("prefixgate")]
    assert shell(everything, monkeypatch, repository).exit_code == 0
    sarif = json.loads((repository / "prefixgate.sarif").read_text())
    assert len(sarif["runs"][0]["results"]) == 2
    done = shell(changed, monkeypatch, repository)
    assert done.exit_code == 1
    assert [line.partition(",")[0] for line in done.stdout.splitlines()] == ["::error file=new.py"]


def test_gitlab_job(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its report is where the job says that it is."""
    job = load(EXAMPLES / "gitlab-ci.yml")["prefixgate"]
    done = shell("\n".join(job["script"]), monkeypatch, repository)
    assert (done.exit_code, done.stderr) == (1, "")
    report = json.loads((repository / job["artifacts"]["reports"]["codequality"]).read_text())
    assert [issue["location"]["path"] for issue in report] == ["new.py", "old.py"]


def test_hooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both take file names behind their entry; the fixing one fails when it has fixed something, then passes."""
    hooks = {hook["id"]: hook for hook in load(ROOT / ".pre-commit-hooks.yaml")}
    (tmp_path / "order.py").write_text(app("POLICY + json.dumps(user)", imports="import json").text)
    (tmp_path / "notes.txt").write_text("no prompt ")
    names = "order.py notes.txt"
    assert shell(f"{hooks['prefixgate-lint']['entry']} {names}", monkeypatch, tmp_path).exit_code == 1
    assert shell(f"{hooks['prefixgate-lint-fix']['entry']} {names}", monkeypatch, tmp_path).exit_code == 1
    assert "sort_keys=True" in (tmp_path / "order.py").read_text()
    assert shell(f"{hooks['prefixgate-lint-fix']['entry']} {names}", monkeypatch, tmp_path).exit_code == 0
    config = load(EXAMPLES / "pre-commit-config.yaml")["repos"][0]["hooks"]
    assert {hook["id"] for hook in config} == set(hooks)
    for hook in config:
        entry = hooks[hook["id"]]["entry"]
        command = " ".join([entry, *hook.get("args", []), names])
        assert shell(command, monkeypatch, tmp_path).exit_code == 0
        assert shell(f"{entry} notes.txt", monkeypatch, tmp_path).exit_code == 0
