"""The comment on a pull request that changes a site file: run on a real repository with two commits."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from conftest import ROOT, finished

FOLDER = ROOT / ".github" / "actions" / "requirement-diff"
SCRIPT = FOLDER / "requirement_diff.sh"
SITE = """\
format: 2
name: Cluster
clusters:
  main: {node: dgx-h100, count: 16}
datasets:
  images: {model: resnet50}
jobs:
  vision: {model: resnet50, cluster: main, nodes: NODES, data: images}
expect:
  - read_bandwidth <= 1 TB/s
"""
#: A file name that a shell, Markdown, HTML or GitHub would read as more than a name.
HOSTILE = "site$(touch pwned)`touch pwned`;@all <b>[x](y)\n### |.yaml"


def git(folder, *words):
    names = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    return subprocess.run(["git", *names, *words], cwd=folder, check=True, capture_output=True, encoding="utf-8").stdout.strip()


@pytest.fixture
def repository(tmp_path):
    """An empty repository, and a function that commits files and returns the hash."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q")

    def commit(**files):
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(exist_ok=True, parents=True)
            path.write_text(text)
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "--allow-empty", "-m", "A change")
        return git(folder, "rev-parse", "HEAD")

    commit.folder = folder
    return commit


def comment(folder, base, head, files=":(glob)**/site*.yaml", **more):
    """Exit status, output and messages of the script."""
    path = os.pathsep.join([*more.pop("tools", ()), str(Path(sys.executable).parent), os.environ["PATH"]])
    given = {"BASE_SHA": base, "HEAD_SHA": head, "SITE_FILES": files, "PATH": path, **more}
    done = finished("bash", SCRIPT, cwd=folder, check=False, **given)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
def test_a_changed_site_file_is_compared_with_the_state_before(repository):
    base = repository(**{"a/site.yaml": SITE.replace("NODES", "4"), "notes.md": ""})
    head = repository(**{"a/site.yaml": SITE.replace("NODES", "8"), "notes.md": "x"})
    code, out, _ = comment(repository.folder, base, head)
    assert code == 0
    assert out.startswith("<!-- ingest requirement diff -->\n### Storage requirements\n\n`a/site.yaml`\n")
    assert "    5 requirements changed\n" in out
    assert "    jobs.vision.nodes" in out
    assert comment(repository.folder, head, head)[1] == "No site file changed.\n"


@pytest.mark.slow
def test_an_expectation_that_is_not_met_fails_the_check(repository):
    base = repository(**{"site.yaml": SITE.replace("NODES", "4")})
    head = repository(**{"site.yaml": SITE.replace("NODES", "8").replace("1 TB/s", "1 MB/s")})
    code, out, _ = comment(repository.folder, base, head)
    assert code == 3
    assert "is not met:\n\n    ingest: " in out
    assert "    jobs.vision.nodes" in out


@pytest.mark.slow
def test_new_removed_broken_and_linked_files_are_named(repository):
    base = repository(**{"site-old.yaml": SITE.replace("NODES", "4")})
    (repository.folder / "site-old.yaml").unlink()
    (repository.folder / "site-link.yaml").symlink_to("/etc/passwd")
    head = repository(**{"site-new.yaml": SITE.replace("NODES", "4"), "site-wrong.yaml": "site: [\n"})
    code, out, _ = comment(repository.folder, base, head)
    assert code == 1
    assert "`site-old.yaml`\n\nRemoved." in out
    assert "`site-link.yaml`\n\nNot a regular file" in out
    assert "`site-new.yaml`\n\n\nA new site file:\n\n    " in out
    assert "`site-wrong.yaml`\n\nThe site file cannot be planned:\n\n    ingest: site-wrong.yaml:2:" in out
    assert "root:" not in out


def test_hostile_names_stay_names(repository):
    base = repository(**{HOSTILE: SITE.replace("NODES", "4")})
    head = repository(**{HOSTILE: SITE.replace("NODES", "8").replace("name: Cluster", "name: '@all ``` </pre>'")})
    code, out, _ = comment(repository.folder, base, head)
    assert code == 0
    assert "`site??touch pwned??touch pwned???all ?b??x??y????? ?.yaml`" in out
    assert not [*repository.folder.rglob("pwned")]
    own = ("<!-- ingest requirement diff -->", "### Storage requirements", "`site??")
    assert all(line.startswith(("    ", *own)) for line in out.splitlines() if line)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"base": "main; touch pwned"}, "BASE_SHA: expected the full hash of a commit"),
        ({"base": "0" * 40}, "check out with fetch-depth: 0"),
        ({"files": " \n"}, "SITE_FILES: expected a git pathspec per line"),
        ({"GH_TOKEN": "secret", "PR_NUMBER": "1; touch pwned"}, "PR_NUMBER: expected the number"),
    ],
)
def test_wrong_input_is_one_line(repository, more, message):
    base = repository(**{"site.yaml": SITE.replace("NODES", "4")})
    head = repository(**{"site.yaml": SITE.replace("NODES", "8")})
    code, _, err = comment(repository.folder, **{"base": base, "head": head, **more})
    assert code == 2
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("existing", "call"), [("", "POST repos/o/n/issues/7/comments"), ("12", "PATCH repos/o/n/issues/comments/12")]
)
def test_the_comment_is_posted_once_and_then_edited(repository, tmp_path, existing, call):
    base = repository(**{"site.yaml": SITE.replace("NODES", "4")})
    head = repository(**{"site.yaml": SITE.replace("NODES", "8")})
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "gh").write_text(
        f'#!/bin/bash\n[[ $GH_TOKEN == secret ]] || exit 9\n[[ $* == *--paginate* ]] && {{ echo "{existing}"; exit; }}\n'
        f'echo "$3 $4" >>"{tmp_path}/calls"; cp "${{6#body=@}}" "{tmp_path}/body"\n'
    )
    (tools / "gh").chmod(0o755)
    given = {"GH_TOKEN": "secret", "PR_NUMBER": "7", "GITHUB_REPOSITORY": "o/n", "COMMENT_FILE": str(tmp_path / "file.md")}
    code, out, err = comment(repository.folder, base, head, tools=[str(tools)], **given)
    assert (code, out, err) == (0, "", "")
    assert (tmp_path / "calls").read_text() == f"{call}\n"
    assert "5 requirements changed" in (tmp_path / "body").read_text()
    assert (tmp_path / "file.md").read_text() == (tmp_path / "body").read_text()


def test_a_site_is_planned_without_the_token_on_a_copy_whose_links_lead_nowhere(repository, tmp_path):
    (tools := tmp_path / "tools").mkdir()
    program = Path(sys.executable).parent / "ingest"
    watch = (
        f'#!/bin/bash\n(env; pwd; cat "/proc/$PPID/environ" "/proc/$$/fd/3") >>"{tmp_path}/seen" 2>&1\nexec "{program}" "$@"\n'
    )
    (tools / "ingest").write_text(watch)
    (tools / "gh").write_text("#!/bin/bash\n")
    for tool in ("ingest", "gh"):
        (tools / tool).chmod(0o755)
    base = repository(**{"site.yaml": SITE.replace("NODES", "4")})
    (tmp_path / "foreign.yaml").write_text("foreign: words\n")
    (repository.folder / "node.yaml").symlink_to(tmp_path / "foreign.yaml")
    head = repository(**{"site.yaml": SITE.replace("NODES", "8").replace("dgx-h100", "./node.yaml")})
    given = {"GH_TOKEN": "open-sesame", "GITHUB_TOKEN": "open-sesame", "PR_NUMBER": "7", "GITHUB_REPOSITORY": "o/n"}
    code, out, err = comment(repository.folder, base, head, tools=[str(tools)], **given)
    assert (code, err) == (1, "")
    assert "outside of the folder of the site file" in out
    assert "foreign: words" not in out
    seen = (tmp_path / "seen").read_text(errors="replace")
    assert "open-sesame" not in seen
    assert str(repository.folder) not in {line for line in seen.splitlines() if line.startswith("/")}


def test_the_action_puts_no_input_into_a_command():
    action = yaml.safe_load((FOLDER / "action.yml").read_text())
    steps = action["runs"]["steps"]
    assert not [step for step in steps if "${{" in step["run"] or "uses" in step]
    taken = {name for name in action["inputs"] if f"inputs.{name}" in json.dumps(steps)}
    assert taken == set(action["inputs"])
