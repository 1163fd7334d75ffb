"""The command line as users run it: processes, files and pipes; exit statuses; no value of a record in any message."""

import csv
import io
import json
import os
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpsparse.testing
from dpsparse import Certificate, PrivateScaler, PrivateSparseRegressor, models
from dpsparse.cli import main
from dpsparse.privacy import Ledger

SECRET = "7654321.25"
WORD = "confidential"
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def process(*argv, stdin=None, cwd=None, environment=ENVIRONMENT):
    """A finished process of the command line."""
    return subprocess.run(
        [sys.executable, "-m", "dpsparse", *map(str, argv)],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=cwd,
        env=environment,
    )


def people(n=2000, seed=0):
    """Rows of a table as text, the first line of names."""
    rng = np.random.default_rng(seed)
    age = rng.uniform(20, 80, n).round(1)
    school = rng.choice(["none", "some", "degree"], n)
    insured = rng.random(n) < 0.5
    cost = (20 + 0.5 * age + 10 * insured + rng.normal(0, 3, n)).round(2)
    ill = np.where(rng.random(n) < 1 / (1 + np.exp(-0.1 * (age - 50))), "yes", "no")
    visits = rng.poisson(np.exp(0.02 * age))
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["age", "school", "insured", "cost", "ill", "visits"])
    writer.writerows(zip(age, school, insured, cost, ill, visits, strict=True))
    return stream.getvalue()


SCHEMA = {
    "fields": [
        {"name": "age", "type": "number", "constraints": {"required": True, "minimum": 20, "maximum": 80}},
        {"name": "school", "type": "string", "constraints": {"required": True, "enum": ["none", "some", "degree"]}},
        {"name": "insured", "type": "boolean", "constraints": {"required": True}},
    ],
    "missingValues": [""],
}
TARGETS = {
    "ill": {"name": "ill", "type": "string", "constraints": {"required": True, "enum": ["no", "yes"]}},
    "cost": {"name": "cost", "type": "number", "constraints": {"required": True, "minimum": 0, "maximum": 100}},
    "visits": {"name": "visits", "type": "integer", "constraints": {"required": True, "minimum": 0, "maximum": 20}},
}


def schema_with(*targets):
    return SCHEMA | {"fields": SCHEMA["fields"] + [TARGETS[name] for name in targets]}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a table and a schema, in which the test runs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text(people())
    (tmp_path / "schema.json").write_text(json.dumps(schema_with("ill")))
    return tmp_path


def run(capsys, *argv):
    """Exit status, stdout and stderr of a command in this process."""
    status = main([str(part) for part in argv])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def fitted(capsys, *argv, target="ill", output="model.json", epsilon=2):
    parts = ["fit", "people.csv", "--schema", "schema.json", "--target", target, "--epsilon", epsilon, "-o", output]
    return run(capsys, *parts, *argv)


# --- the walk ---


def in_this_process(*argv, stdin=None, cwd=None):
    """What :func:`process` returns, without the seconds that a new one takes to import."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.chdir(cwd)
        if stdin is not None:
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        status = main([str(part) for part in argv])
    return subprocess.CompletedProcess(argv, status, out.getvalue(), err.getvalue())


@pytest.mark.parametrize(
    "apart",
    [
        pytest.param({"schema", "fit", "ledger"}, id="some processes"),
        pytest.param(
            {"schema", "plan", "fit", "predict", "verify", "refit", "ledger"}, id="processes", marks=pytest.mark.slow
        ),
    ],
)
def test_from_a_table_to_predictions_and_the_ledger(apart, tmp_path):
    def command(name, *argv, step=None, stdin=None):
        carry_out = process if (step or name) in apart else in_this_process
        return carry_out(name, *argv, stdin=stdin, cwd=tmp_path)

    (tmp_path / "people.csv").write_text(people())

    skeleton = command("schema", "people.csv")
    assert skeleton.returncode == 0, skeleton.stderr
    fields = {field["name"]: field for field in json.loads(skeleton.stdout)["fields"]}
    types = {name: field["type"] for name, field in fields.items()}
    numbers = dict.fromkeys(["age", "cost", "visits"], "number")
    assert types == {"age": "number", "school": "string", "insured": "boolean", "ill": "string"} | numbers
    assert "column 'age': state its bounds" in skeleton.stderr
    fields["age"]["constraints"] |= {"minimum": 20, "maximum": 80}
    fields["school"]["constraints"]["enum"] = ["none", "some", "degree"]
    fields["ill"]["constraints"]["enum"] = ["no", "yes"]
    chosen = [fields[name] for name in ("age", "school", "insured", "ill")]
    (tmp_path / "schema.json").write_text(json.dumps({"fields": chosen}))

    shared = ["--schema", "schema.json", "--target", "ill", "--delta", "1e-7"]
    plan = command("plan", *shared, "--n", 2000, "--epsilon", 1, "--json")
    assert plan.returncode == 0, plan.stderr
    (planned,) = json.loads(plan.stdout)
    assert (planned["epsilon"], planned["n_samples"], planned["certified"]) == (1.0, 2000, True)

    total = ["--ledger-epsilon", 1.2, "--ledger-delta", "1e-6"]
    options = [*shared, "--ledger", "people.ledger", "--epsilon", 1, "-o", "model.json"]
    fit = command("fit", "people.csv", *options, *total)
    assert fit.returncode == 0, fit.stderr
    assert fit.stdout == ""
    assert "at most 2.72 times as probable" in fit.stderr
    model = models.load(tmp_path / "model.json")
    assert model.certificate_.claim == (1.0, 1e-7)
    assert model.certificate_.mechanism == planned["mechanism"]
    assert list(model.classes_) == ["no", "yes"]

    predict = command("predict", "model.json", "-", stdin=people(50, seed=1))
    assert predict.returncode == 0, predict.stderr
    assert predict.stderr == ""
    names, *rows = csv.reader(io.StringIO(predict.stdout))
    assert names == ["prediction"]
    other = pd.read_csv(io.StringIO(people(50, seed=1)))
    assert [row[0] for row in rows] == model.predict(other).tolist()

    verify = command("verify", "model.json")
    assert verify.returncode == 0, verify.stderr
    assert verify.stdout.startswith("Whatever is concluded from this release is at most 2.72 times as probable")

    before = (tmp_path / "model.json").read_bytes()
    again = command("fit", "people.csv", *options, step="refit")
    assert again.returncode == 2
    left = Ledger(tmp_path / "people.ledger").remaining()
    assert 0.0 < left < 1.0
    assert f"leave room for epsilon {left:.4f}" in again.stderr
    assert (tmp_path / "model.json").read_bytes() == before

    ledger = command("ledger", "people.ledger", "--json")
    assert ledger.returncode == 0, ledger.stderr
    history = json.loads(ledger.stdout)
    assert [entry["kind"] for entry in history["entries"]] == ["data set", "release"]
    assert Certificate.from_json(json.dumps(history["entries"][1]["certificate"])).claim == (1.0, 1e-7)
    assert history["remaining"] == left


def test_help_waits_for_no_library(tmp_path):
    script = """
        import sys
        from dpsparse.cli import main
        for argv in (["--help"], ["fit", "--help"], ["--version"]):
            try:
                main(argv)
            except SystemExit as stop:
                assert stop.code == 0
        heavy = {"sklearn", "scipy", "pandas", "polars", "pyarrow", "matplotlib", "dask", "cryptography"}
        assert not heavy & set(sys.modules)
        from dpsparse.tables import Schema
        from dpsparse.privacy import Ledger
        assert "sklearn" not in sys.modules
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=ENVIRONMENT,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("usage: dpsparse")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no device that is always full")
@pytest.mark.parametrize("options", [[], ["--progress"]])
def test_words_that_nobody_can_read_are_no_error(folder, options):
    """A model was paid for, and not written, where a line of progress went to a full disk."""
    argv = ["fit", "people.csv", "--schema", "schema.json", "--target", "ill", "--epsilon", "1", "-o", "model.json"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "dpsparse", *argv, *options],
            stderr=full,
            timeout=120,
            check=False,
            cwd=folder,
            env=ENVIRONMENT,
        )
    assert done.returncode == 0
    assert models.load(folder / "model.json").certificate_.verify()


def test_a_reader_who_goes_away_is_no_error(tmp_path):
    (tmp_path / "wide.csv").write_text(",".join(f"column {k}" for k in range(5000)) + "\n")
    writer = subprocess.Popen(
        [sys.executable, "-m", "dpsparse", "schema", "wide.csv"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env=ENVIRONMENT,
    )
    assert writer.stdout.readline() == b"{\n"
    writer.stdout.close()
    complaint = writer.stderr.read()
    writer.stderr.close()
    assert writer.wait(60) == 141
    assert complaint == b""


def test_documents_on_stdout_are_those_of_files_whatever_the_terminal_speaks(tmp_path):
    (tmp_path / "people.csv").write_text("größe,♀\n1.5,ja\n", encoding="utf-8")
    assert process("schema", "people.csv", "-o", "schema.json", cwd=tmp_path).returncode == 0
    done = subprocess.run(
        [sys.executable, "-m", "dpsparse", "schema", "people.csv"],
        capture_output=True,
        timeout=60,
        check=False,
        cwd=tmp_path,
        env=ENVIRONMENT | {"PYTHONIOENCODING": "ascii"},
    )
    assert (done.returncode, done.stdout) == (0, (tmp_path / "schema.json").read_bytes())
    # Words come out too.
    (tmp_path / "schema.json").write_text(json.dumps(schema_with("ill")).replace("age", "größe"), encoding="utf-8")
    argv = ["plan", "--schema", "schema.json", "--n", 2000, "--epsilon", 1, "--target", "größe♀"]
    told = process(*argv, cwd=tmp_path, environment=ENVIRONMENT | {"PYTHONIOENCODING": "ascii"})
    assert told.returncode == 2
    assert "UnicodeEncodeError" not in told.stderr


@pytest.mark.skipif(os.name != "posix", reason="closes streams by a shell")
def test_closed_streams(folder):
    def status(command):
        argv = ["sh", "-c", f'"$0" -m dpsparse {command}', sys.executable]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False, env=ENVIRONMENT)
        assert "AttributeError" not in done.stderr
        return done.returncode, done.stdout, done.stderr

    plan = "--schema schema.json --n 2000 --epsilon 1 --target ill"
    assert status(f"plan {plan} >&-")[0] == 0
    assert "output is closed" in status("schema people.csv >&-")[2]
    assert "input is closed" in status("schema - <&-")[2]
    # A model alone, and no words of what it guarantees.
    fit = "fit people.csv --schema schema.json --target ill --epsilon 1 -o - 2>&-"
    assert json.loads(status(fit)[1])["format"] == "dpsparse-model"


# --- every command has help and says no to nonsense ---

COMMANDS = ["demo", "schema", "plan", "fit", "predict", "verify", "ledger", "audit", "keygen", "sign"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples(command, capsys):
    with pytest.raises(SystemExit) as stopped:
        main([command, "--help"])
    assert stopped.value.code == 0
    assert f"examples:\n  dpsparse {command}" in capsys.readouterr().out


@pytest.mark.parametrize(
    "argv",
    [
        ["fit", "people.csv"],
        ["fit", "people.csv", "--schema", "s", "--target", "t", "--epsilon", "much", "-o", "m"],
        ["plan", "--schema", "s", "--n", "10"],
        ["plan", "--schema", "s", "--n", "10", "--epsilon", "1", "--classes", "a,b", "--y-bounds", "0", "1"],
        ["plan", "--schema", "s", "--n", "10", "--epsilon", "1", "--classes", "a"],
        ["plan", "--schema", "s", "--n", "10", "--epsilon", "1", "--classes", "a,a"],
        ["plan", "--schema", "s", "--n", "10", "--epsilon", "1", "--task", "clustering"],
        ["predict", "model.json"],
        ["audit"],
        ["keygen"],
    ],
)
def test_wrong_usage(argv, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(argv)
    assert stopped.value.code == 2
    assert "usage: dpsparse" in capsys.readouterr().err


# --- schema ---


def test_a_skeleton_of_parquet_reads_types_alone(folder, capsys):
    frame = pd.read_csv(folder / "people.csv")
    frame["since"] = pd.to_datetime("2024-01-31")
    frame.to_parquet("people.parquet")
    status, out, _ = run(capsys, "schema", "people.parquet", "-o", "skeleton.json")
    assert (status, out) == (0, "")
    fields = {f["name"]: f["type"] for f in json.loads((folder / "skeleton.json").read_text())["fields"]}
    assert fields["since"] == "date"
    assert (fields["age"], fields["school"], fields["insured"]) == ("number", "string", "boolean")


def test_a_skeleton_of_a_table_without_rows_and_of_odd_cells(folder, capsys):
    (folder / "none.csv").write_text("a,b\n")
    assert run(capsys, "schema", "none.csv")[0] == 0
    (folder / "odd.csv").write_text(f'\ufeffday,empty,name\n2024-01-31,,"{WORD}, and more"\n\n2024-02-01,,x\n')
    status, out, err = run(capsys, "schema", "odd.csv")
    assert status == 0
    assert [f["type"] for f in json.loads(out)["fields"]] == ["date", "string", "string"]
    assert WORD not in out + err


# --- plan ---


def test_plans_side_by_side(folder, capsys):
    shared = ["plan", "--schema", "schema.json", "--n", 5000, "--target", "ill"]
    status, out, _ = run(capsys, *shared, "--epsilon", 2, "--epsilon", 0.5)
    assert status == 0
    assert out.startswith("Plans by epsilon")
    status, out, _ = run(capsys, *shared, "--epsilon", 2, "--epsilon", 0.5, "--json")
    plans = json.loads(out)
    assert [plan["epsilon"] for plan in plans] == [0.5, 2.0]
    assert max(plans[0]["noise_scales"]) > max(plans[1]["noise_scales"])
    assert all(event["event"].endswith(".") for plan in plans for event in plan["events"])
    status, out, _ = run(capsys, *shared, "--epsilon", 1)
    assert status == 0
    assert "epsilon" in out


@pytest.mark.parametrize(
    "options",
    [
        ["--classes", "no,yes"],
        ["--y-bounds", "0", "1"],
        ["--y-bounds", "0", "10", "--task", "counts"],
        ["--task", "classification"],
        ["--classes", "a,b", "--mechanism", "dual-frank-wolfe", "--alpha", "0.01"],
        ["--classes", "a,b", "--mechanism", "frank-wolfe", "--radius", "3", "--norm", "groups"],
    ],
)
def test_options_describe_a_target(options, folder, capsys):
    (folder / "schema.json").write_text(json.dumps(SCHEMA))
    status, out, err = run(capsys, "plan", "--schema", "schema.json", "--n", 5000, "--epsilon", 1, *options)
    assert (status, err) == (0, "")
    assert out


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ([], "the target is not described"),
        (["--task", "regression"], "the target is not described"),
        (["--task", "counts", "--classes", "a,b"], "does not go with"),
        (["--task", "classification", "--y-bounds", "0", "1"], "does not go with"),
        (["--task", "counts", "--y-bounds", "0", "9", "--loss", "huber"], "--loss is not for counts"),
        (["--classes", "a,b", "--mechanism", "magic"], "mechanism must be one of"),
        (["--classes", "a,b", "--adjacency", "add-remove"], "n_public"),
        (["--classes", "a,b", "--delta", "2"], "delta"),
    ],
)
def test_what_does_not_describe_a_fit_is_refused(options, reason, folder, capsys):
    (folder / "schema.json").write_text(json.dumps(SCHEMA))
    status, out, err = run(capsys, "plan", "--schema", "schema.json", "--n", 5000, "--epsilon", 1, *options)
    assert (status, out) == (2, "")
    assert err.startswith("dpsparse: error: ")
    assert reason in err


# --- fit and predict ---


def test_the_target_follows_from_the_schema(folder, capsys):
    (folder / "schema.json").write_text(json.dumps(schema_with("cost")))
    assert fitted(capsys, target="cost", epsilon=4)[0] == 0
    model = models.load("model.json")
    assert model.target_bounds_ == (0.0, 100.0)
    assert "cost" not in model.schema_
    # The same model as in Python: cells are read as the library reads a data frame.
    assert fitted(capsys, "--seed", 3, target="cost", output="seeded.json")[0] == 0
    frame = pd.read_csv("people.csv")
    twin = PrivateSparseRegressor(2.0, schema=model.schema_, y_bounds=(0, 100), random_state=3).fit(
        frame, frame["cost"]
    )
    assert np.array_equal(models.load("seeded.json").coef_, twin.coef_)
    status, out, _ = run(capsys, "predict", "seeded.json", "people.csv")
    assert status == 0
    assert [float(line) for line in out.splitlines()[1:]] == twin.predict(frame).tolist()
    assert run(capsys, "verify", "seeded.json")[0] == 1


def test_counts_are_asked_for(folder, capsys):
    (folder / "schema.json").write_text(json.dumps(schema_with("visits")))
    assert fitted(capsys, "--task", "counts", target="visits", epsilon=4)[0] == 0
    model = models.load("model.json")
    assert type(model).__name__ == "PrivateSparsePoissonRegressor"
    status, out, _ = run(capsys, "predict", "model.json", "people.csv")
    assert status == 0
    assert min(float(line) for line in out.splitlines()[1:]) >= 0


def test_labels_read_from_the_column_are_an_assumption_of_the_certificate(folder, capsys):
    (folder / "schema.json").write_text(json.dumps(SCHEMA))
    assert fitted(capsys, "--task", "classification")[0] == 0
    model = models.load("model.json")
    assert model.classes_.tolist() == ["no", "yes"]
    assert "the two labels, read from y, are public" in model.certificate_.assumptions
    assert fitted(capsys, "--classes", "yes,no", output="stated.json")[0] == 0
    assert not any("read from y" in text for text in models.load("stated.json").certificate_.assumptions)


@pytest.mark.parametrize(
    ("target", "options", "classes"),
    [("insured", ["--classes", "true,false"], [False, True]), ("group", ["--classes", "1,0,2"], [0, 1, 2])],
)
def test_labels_that_are_no_text(target, options, classes, folder, capsys):
    lines = (folder / "people.csv").read_text().splitlines()
    rows = [line + f",{k % 3}" for k, line in enumerate(lines[1:])]
    (folder / "people.csv").write_text("\n".join([lines[0] + ",group", *rows]))
    fields = [field for field in SCHEMA["fields"] if field["name"] != target]
    (folder / "schema.json").write_text(json.dumps({"fields": fields}))
    assert fitted(capsys, *options, target=target)[0] == 0
    csv_model = models.load("model.json")
    assert csv_model.classes_.tolist() == classes
    pd.read_csv("people.csv").to_parquet("people.parquet")
    status, *_ = run(
        capsys,
        *["fit", "people.parquet", "--schema", "schema.json", "--target", target, "--epsilon", 2, "-o", "p.json"],
        *options,
    )
    assert status == 0
    assert models.load("p.json").classes_.tolist() == classes


def test_parquet_and_csv_give_one_model(folder, capsys):
    pd.read_csv("people.csv").to_parquet("people.parquet")
    assert fitted(capsys, "--seed", 1)[0] == 0
    shared = ["--schema", "schema.json", "--target", "ill", "--epsilon", 2, "--seed", 1]
    assert run(capsys, "fit", "people.parquet", *shared, "-o", "other.json")[0] == 0
    assert (folder / "model.json").read_text() == (folder / "other.json").read_text()
    _, text, _ = run(capsys, "fit", "people.parquet", *shared, "-o", "-")
    assert text == (folder / "model.json").read_text()
    assert run(capsys, "predict", "model.json", "people.parquet", "--proba", "-o", "p.parquet")[0] == 0
    assert run(capsys, "predict", "model.json", "people.csv", "--proba", "-o", "p.csv")[0] == 0
    ours, theirs = pd.read_parquet("p.parquet"), pd.read_csv("p.csv", dtype=str).astype(float)
    assert list(ours) == ["probability_no", "probability_yes"]
    assert ours.equals(theirs)
    assert np.allclose(ours.sum(axis=1), 1)


def test_persons_are_capped(folder, capsys):
    lines = (folder / "people.csv").read_text().splitlines()
    rows = [f"{line},p{k // 2}" for k, line in enumerate(lines[1:])]
    (folder / "people.csv").write_text("\n".join([lines[0] + ",who", *rows]))
    (folder / "schema.json").write_text(json.dumps(schema_with("ill") | {"person": "who"}))
    options = ["--adjacency", "add-remove", "--n-public", 1000, "--delta", "1e-6"]
    assert fitted(capsys, *options)[0] == 0
    assert any("'who'" in text for text in models.load("model.json").certificate_.assumptions)
    status, _, err = fitted(capsys)
    assert status == 2
    assert "add-remove" in err


def test_models_without_a_schema_take_names_or_all_columns(folder, capsys):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(-1, 1, (300, 2)), columns=["a", "b"])
    named = PrivateSparseRegressor(bounds=(-1, 1), y_bounds=(-1, 1), n_iter=3).fit(frame, frame["a"])
    models.save(named, "named.json")
    models.save(
        PrivateSparseRegressor(bounds=(-1, 1), y_bounds=(-1, 1), n_iter=3).fit(frame.to_numpy(), frame["a"]),
        "plain.json",
    )
    frame[["b", "a"]].assign(c=1.0).to_csv("more.csv", index=False)
    status, out, _ = run(capsys, "predict", "named.json", "more.csv")
    assert status == 0
    assert [float(line) for line in out.splitlines()[1:]] == named.predict(frame).tolist()
    status, _, err = run(capsys, "predict", "plain.json", "more.csv")
    assert status == 2
    assert "takes 2 features; the table has 3" in err
    frame.to_csv("two.csv", index=False)
    assert run(capsys, "predict", "plain.json", "two.csv")[0] == 0
    assert run(capsys, "predict", "named.json", "two.csv", "--proba")[0] == 2


# --- errors, none of which shows a value ---


def spoiled(row):
    """The table with one row more."""
    return people(200) + row + "\n"


BAD_TABLES = {
    "text for a number": spoiled(f"{WORD},none,True,{SECRET},yes,1"),
    "an unknown level": spoiled(f"30,{WORD},True,{SECRET},yes,1"),
    "an unknown truth value": spoiled(f"30,none,{WORD},{SECRET},yes,1"),
    "a missing number": spoiled(f",none,True,{SECRET},yes,1"),
    "an unknown label": spoiled(f"30,none,True,{SECRET},{WORD},1"),
    "a missing label": spoiled(f"30,none,True,{SECRET},,1"),
    "a cell too many": spoiled(f"30,none,True,{SECRET},yes,1,{WORD}"),
    "a quote that does not end": spoiled(f'30,none,True,{SECRET},yes,"{WORD}'),
    "a column too few": "age,school,insured\n30,none,True\n",
    "a column twice": f"age,school,insured,ill,ill\n30,none,True,yes,{WORD}\n",
    "nothing": "",
    "one label alone": "age,school,insured,ill\n",
}


@pytest.mark.parametrize("name", BAD_TABLES)
def test_bad_tables_are_errors_without_values_before_anything_is_spent(name, folder, capsys):
    (folder / "people.csv").write_text(BAD_TABLES[name])
    status, out, err = fitted(
        capsys, "--ledger", "l.db", "--ledger-epsilon", 9, "--ledger-delta", "1e-5", "--delta", "1e-6"
    )
    assert (status, out) == (2, "")
    assert err.startswith("dpsparse: error: ")
    assert "Traceback" not in err
    for secret in (SECRET, WORD, "7654321"):
        assert secret not in err
    assert not (folder / "model.json").exists()
    assert not (folder / "l.db").exists() or Ledger(folder / "l.db").entries() == []


@pytest.mark.parametrize(
    ("target", "options", "reason"),
    [
        (
            "nothing",
            ["--classes", "no,yes"],
            "the table has no column 'nothing', which the schema, the model or --target",
        ),
        ("nothing", [], "not described, and the schema has no column 'nothing': state --classes or --y-bounds"),
        ("ill", ["--classes", "no,maybe"], "column 'ill', the target, holds labels that --classes does not list"),
        ("ill", ["--classes", "no, yes"], "column 'ill', the target, holds labels that --classes does not list"),
        ("ill", ["--classes", "true,false"], "column 'ill', the target, holds labels that --classes does not list"),
        ("ill", ["--classes", "0,1"], "column 'ill' of the table must hold numbers, by what the schema or the options"),
        ("ill", ["--y-bounds", "0", "1"], "column 'ill' of the table must hold numbers, by what the schema or the"),
        ("ill", [], "column 'ill', the target, holds labels that the schema does not list"),
    ],
)
def test_wrong_labels_and_targets_say_which_option_to_mend(target, options, reason, folder, capsys):
    fields = [field for field in SCHEMA["fields"] if field["name"] != "ill"]
    if not options and target == "ill":
        fields.append({"name": "ill", "type": "string", "constraints": {"enum": ["maybe", "no"]}})
    (folder / "schema.json").write_text(json.dumps({"fields": fields}))
    status, out, err = fitted(capsys, *options, target=target)
    assert (status, out) == (2, "")
    assert reason in err
    assert "yes" not in err.replace("--classes no,yes", "")
    assert not (folder / "model.json").exists()


def test_missing_labels_are_those_of_the_target(folder, capsys):
    (folder / "people.csv").write_text(BAD_TABLES["a missing label"])
    status, _, err = fitted(capsys)
    assert status == 2
    assert "column 'ill', the target, has missing values" in err


def test_a_table_without_names_is_not_shown(folder, capsys):
    (folder / "people.csv").write_text(f"30,none,True,{SECRET},yes,1\n" * 50)
    status, _, err = fitted(capsys)
    assert status == 2
    assert SECRET not in err


@pytest.mark.parametrize("labels", ["no", "no,no", "", ","])
def test_labels_are_two_or_more(labels, folder, capsys):
    with pytest.raises(SystemExit):
        fitted(capsys, "--classes", labels)
    assert "must be two or more different labels, with commas between them, such as no,yes" in capsys.readouterr().err


def test_tables_that_cannot_be_read(folder, capsys):
    (folder / "latin.csv").write_bytes(people(10).encode() + b"30,none,True,1,\xff,1\n")
    (folder / "no.parquet").write_text(WORD)
    shared = ["--schema", "schema.json", "--target", "ill", "--epsilon", 1, "-o", "model.json"]
    for table, reason in (("latin.csv", "UTF-8"), ("no.parquet", "no Parquet"), ("none.csv", "none.csv")):
        status, _, err = run(capsys, "fit", table, *shared)
        assert status == 2
        assert reason in err
        assert WORD not in err
    status, _, err = run(capsys, "schema", "no.parquet")
    assert status == 2


def test_parquet_without_a_library_says_what_to_install(folder, capsys, monkeypatch):
    pd.read_csv("people.csv").to_parquet("people.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert run(capsys, "schema", "people.parquet")[0] == 0  # polars
    monkeypatch.setitem(sys.modules, "polars", None)
    status, _, err = run(capsys, "schema", "people.parquet")
    assert status == 2
    assert "pip install pyarrow" in err


def test_the_output_is_checked_before_the_budget_is_spent(folder, capsys):
    (folder / "taken").mkdir()
    for output in ("no/such/folder/model.json", "taken"):
        status, _, err = fitted(
            capsys, "--ledger", "l.db", "--ledger-epsilon", 9, "--ledger-delta", "1e-5", output=output
        )
        assert status == 2
        assert output.split("/")[0] in err
    assert not (folder / "l.db").exists()


def test_a_model_that_is_paid_for_is_not_lost(folder, capsys, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("dpsparse.cli._output.write_bytes", full)
    status, out, err = fitted(capsys)
    assert status == 2
    assert "goes to stdout" in err
    assert "No space left" in err
    assert models.load(out).certificate_.verify()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--ledger", "new.db"], "--ledger-epsilon and --ledger-delta"),
        (["--ledger", "new.db", "--ledger-epsilon", "1"], "go together"),
        (["--dataset", "survey"], "go with --ledger"),
        (["--target", "nothing"], "target is not described"),
        (["--target", "nothing", "--classes", "a,b"], "has no column 'nothing'"),
    ],
)
def test_options_that_do_not_go_together(options, reason, folder, capsys):
    status, _, err = fitted(capsys, *options)
    assert status == 2
    assert reason in err
    assert not (folder / "new.db").exists()


def test_a_schema_that_is_still_to_be_filled_in(folder, capsys):
    (folder / "schema.json").write_text(json.dumps({"fields": [{"name": "age", "type": "number"}, TARGETS["ill"]]}))
    status, _, err = fitted(capsys)
    assert status == 2
    assert "still to be stated: column 'age': its bounds" in err
    status, _, err = fitted(capsys, target="age")
    assert status == 2
    assert "column 'age' of the schema is still to be stated: its bounds" in err


def test_words_of_other_libraries_are_not_shown(folder, capsys, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError(f"could not digest {WORD}")

    monkeypatch.setattr(models, "load", fail)
    status, _, err = run(capsys, "predict", "model.json", "people.csv")
    assert status == 2
    assert "RuntimeError" in err
    assert WORD not in err
    monkeypatch.setenv("DPSPARSE_TRACEBACK", "1")
    with pytest.raises(RuntimeError):
        main(["predict", "model.json", "people.csv"])


def test_ctrl_c_says_what_is_spent(folder, capsys, monkeypatch):
    def stop(*_, **__):
        error = KeyboardInterrupt()
        error.add_note("all that the plan costs counts as spent")
        raise error

    monkeypatch.setattr(dpsparse.PrivateSparseClassifier, "fit", stop)
    status, _, err = fitted(capsys)
    assert status == 130
    assert err == "dpsparse: interrupted\nall that the plan costs counts as spent\n"


# --- verify, keys and signatures ---


def test_verify_reads_models_and_certificates(folder, capsys):
    fitted(capsys)
    certificate = models.load("model.json").certificate_
    (folder / "certificate.json").write_text(certificate.to_json())
    status, out, _ = run(capsys, "verify", "certificate.json")
    assert status == 0
    assert "Neighbouring records (replace-one)" in out
    status, out, _ = run(capsys, "verify", "model.json", "--json")
    assert status == 0
    assert json.loads(out)["verifies"] is True
    X = np.random.default_rng(0).uniform(0, 1, (100, 2))
    (folder / "scaler.json").write_text(PrivateScaler(0.5, bounds=(0, 1)).fit(X).certificate_.to_json())
    assert run(capsys, "verify", "scaler.json")[0] == 0
    # Changed after it was written, in a way that does not contradict itself.
    document = json.loads((folder / "model.json").read_text())
    document["certificate"]["unit"] = "nobody at all"
    (folder / "model.json").write_text(json.dumps(document))
    status, out, _ = run(capsys, "verify", "model.json")
    assert status == 1
    assert out.startswith("NO GUARANTEE: this certificate was changed")
    for text in ("{}", "no JSON", '{"format": "dpsparse-certificate-2"}', json.dumps(document | {"version": 2})):
        (folder / "other.json").write_text(text)
        assert run(capsys, "verify", "other.json")[0] == 2
    assert run(capsys, "verify", "none.json")[0] == 2


def test_keys_sign_and_verify(folder, capsys):
    fitted(capsys)
    assert run(capsys, "keygen", "--private", "key.pem", "--public", "key.pub.pem")[0] == 0
    assert (folder / "key.pem").stat().st_mode & 0o077 == 0
    assert run(capsys, "keygen", "--private", "other.pem", "--public", "other.pub.pem")[0] == 0
    assert run(capsys, "verify", "model.json", "--key", "key.pub.pem")[0] == 1  # not signed
    assert run(capsys, "sign", "model.json", "--key", "key.pem", "-o", "signed.json")[0] == 0
    status, out, _ = run(capsys, "verify", "signed.json", "--key", "key.pub.pem")
    assert (status, "Signature: valid." in out) == (0, True)
    assert "Signature: not checked." in run(capsys, "verify", "signed.json")[1]
    status, out, _ = run(capsys, "verify", "signed.json", "--key", "other.pub.pem")
    assert (status, "Signature: not valid." in out) == (1, True)
    document = json.loads((folder / "signed.json").read_text())
    document["state"]["coef"][0][0] += 0.25
    (folder / "forged.json").write_text(json.dumps(document))
    assert run(capsys, "verify", "forged.json")[0] == 0  # its certificate holds; nothing says whose the model is
    assert run(capsys, "verify", "forged.json", "--key", "key.pub.pem")[0] == 1
    assert run(capsys, "sign", "model.json", "--key", "key.pem")[0] == 0
    assert (folder / "model.json").read_text() == (folder / "signed.json").read_text()
    assert run(capsys, "predict", "model.json", "people.csv")[0] == 0
    assert run(capsys, "sign", "model.json", "--key", "key.pub.pem")[0] == 2
    (folder / "certificate.json").write_text(models.load("model.json").certificate_.to_json())
    assert run(capsys, "verify", "certificate.json", "--key", "key.pub.pem")[0] == 2


def test_keys_that_are_there_stay(folder, capsys):
    (folder / "key.pub.pem").write_text("a key")
    status, _, err = run(capsys, "keygen", "--private", "key.pem", "--public", "key.pub.pem")
    assert status == 2
    assert "key.pub.pem" in err
    assert (folder / "key.pub.pem").read_text() == "a key"
    assert not (folder / "key.pem").exists()


# --- ledger ---


def test_the_ledger_tells_its_history_and_finds_edits(folder, capsys):
    total = ["--ledger", "l.db", "--delta", "1e-7", "--dataset", "survey"]
    status, _, err = fitted(capsys, *total, "--ledger-epsilon", 5, "--ledger-delta", "1e-6")
    assert status == 0
    assert "leaves a next release epsilon" in err
    shown = ["ledger", "l.db", "--dataset", "survey"]
    status, out, _ = run(capsys, *shown)
    assert status == 0
    assert "Data set 'survey': in all epsilon 5.0 at delta 1e-06" in out
    status, out, _ = run(capsys, *shown, "--verify")
    assert status == 0
    head = out.split()[-1]
    assert run(capsys, *shown, "--verify", "--head", head)[0] == 0
    status, out, _ = run(capsys, *shown, "--verify", "--head", "0" * 64)
    assert (status, out.startswith("BROKEN: ")) == (1, True)
    assert run(capsys, "ledger", "l.db")[0] == 2  # no data set of the usual name
    assert run(capsys, "ledger", "none.db")[0] == 2
    assert not (folder / "none.db").exists()
    assert run(capsys, "ledger", ".", "--verify")[:2] == (2, "")  # no chain, so none that is broken
    with sqlite3.connect("l.db") as connection:
        connection.execute("UPDATE entries SET content = replace(content, 'survey', 'other') WHERE number = 0")
        connection.execute("UPDATE entries SET content = replace(content, '5.0', '9.0') WHERE number = 0")
    connection.close()
    assert run(capsys, *shown, "--verify")[0] == 1
    assert run(capsys, *shown)[0] == 2


# --- audit ---


def test_an_audit_stays_below_the_claim_and_above_a_false_one(capsys):
    shared = ["audit", "frank-wolfe", "--epsilon", 8, "--runs", 150]
    status, out, _ = run(capsys, *shared)
    assert status == 0
    assert "claimed to be 8" in out
    status, out, _ = run(capsys, *shared, "--claim", 0.1, "--json")
    facts = json.loads(out)
    assert status == 1
    assert facts["bound"] > facts["claim"] == 0.1
    assert run(capsys, "audit", "auto", "--task", "regression", "--runs", 20)[0] == 0
    assert run(capsys, "audit", "dual-frank-wolfe", "--alpha", 0.1, "--runs", 20)[0] == 0
    assert run(capsys, "audit", "magic")[0] == 2


def test_an_audit_runs_what_it_is_asked_for(capsys, monkeypatch):
    seen = []

    def audit(release, D, D_prime, n_runs, delta, confidence, *, random_state):
        differ = [np.any(a != b) for a, b in zip(np.column_stack(D), np.column_stack(D_prime), strict=True)]
        seen.append(
            (release.mechanism, release.epsilon, release.delta, n_runs, delta, confidence, random_state, sum(differ))
        )
        return 1.0

    monkeypatch.setattr(dpsparse.testing, "audit", audit)
    options = ["--epsilon", 1, "--delta", "1e-4", "--runs", 7, "--confidence", 0.9, "--seed", 3]
    assert run(capsys, "audit", "sgd-output", *options)[0] == 0  # a bound at the claim contradicts nothing
    assert seen == [("sgd-output", 1.0, 1e-4, 7, 1e-4, 0.9, 3, 1)]
