"""``dpsparse schema``."""

from __future__ import annotations

import argparse

from dpsparse.cli._command import Commands, command

__all__ = ["add"]


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = command(
        commands,
        "schema",
        run,
        help="a schema to fill in, from a table's names and types",
        description="""Print a Frictionless Table Schema that names the columns of a table. Bounds and levels are left
        for you to state, from what is known without the records. Types are those of a Parquet file; of CSV they are
        guessed by the first rows: check them.""",
        examples=["dpsparse schema people.csv -o schema.json", "dpsparse schema people.parquet"],
    )
    parser.add_argument(
        "table", metavar="TABLE", help="CSV with a first line of names, or Parquet; - is CSV from stdin"
    )
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="default: the standard output")


def run(arguments: argparse.Namespace) -> int:
    """Print a skeleton, and say what is still to be stated."""
    from dpsparse.cli._output import check_writable, tell, write_text
    from dpsparse.cli._tables import read_skeleton

    check_writable(arguments.output)
    schema = read_skeleton(arguments.table)
    write_text(arguments.output, schema.to_json() + "\n")
    for name, what in schema.unfilled.items():
        tell(f"column {name!r}: state {what}")
    return 0
