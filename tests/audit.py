"""`make audit`: known vulnerabilities of the installed packages; needs the network."""

import json
import subprocess
import sys


def main() -> int:
    """Exit code 0: none known; 1: some; 2: the lists cannot be reached."""
    words = [sys.executable, "-m", "pip_audit", "--skip-editable", "--progress-spinner", "off", "--format", "json"]
    done = subprocess.run(words, capture_output=True, encoding="utf-8", check=False)
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        reason = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        print(f"audit: the lists of vulnerabilities cannot be reached: {reason[:200]}", file=sys.stderr)
        return 2
    unknown = [one["name"] for one in packages if "skip_reason" in one]
    if len(unknown) == len(packages):
        print("audit: the lists of vulnerabilities cannot be reached: they know none of the packages", file=sys.stderr)
        return 2
    found = [(one["name"], one["version"], hole) for one in packages for hole in one.get("vulns", ())]
    for name, version, hole in found:
        print(f"{name} {version}: {hole['id']}, corrected in {', '.join(hole['fix_versions']) or 'no release'}")
    print(f"{len(packages) - len(unknown)} packages, {len(found)} known vulnerabilities")
    if unknown:
        print(f"not in the lists: {', '.join(unknown)}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
