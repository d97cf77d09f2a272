"""python drive.py host port database user password: what a project of dbt can do on a port that only reads.

Prints `ok check` or `not ok check: why` for each.
"""

import os
import pathlib
import subprocess
import sys

here = pathlib.Path(__file__).parent
names = ("SQL_HOST", "SQL_PORT", "SQL_DATABASE", "SQL_USER", "SQL_PASSWORD")
environment = {**os.environ, **dict(zip(names, sys.argv[1:])), "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"}
models = here / "models"
models.mkdir(exist_ok=True)
for name in ("sources.yml", "spend.sql", "stored.sql"):
    (models / name).write_bytes((here / name).read_bytes())


def dbt(*arguments):
    command = [sys.executable, "-m", "dbt.cli.main", "--no-use-colors", *arguments]
    ran = subprocess.run(
        [*command, "--project-dir", here, "--profiles-dir", here], env=environment, capture_output=True, text=True
    )
    return ran.returncode, ran.stdout + ran.stderr


def check(name, arguments, wanted):
    code, output = dbt(*arguments)
    passed = (code == 0 or name.endswith("refused")) and wanted in output
    print(f"ok {name}" if passed else f"not ok {name}: {output[-1500:]}".replace("\n", " "))


check("debug", ["debug"], "All checks passed!")
check("a model", ["show", "--select", "spend", "--limit", "5"], "search")
check("tests of sources and models", ["test"], "PASS=3")
check("docs", ["docs", "generate"], "Catalog written")
check("a stored model is refused", ["run", "--select", "stored"], "Only SELECT")
