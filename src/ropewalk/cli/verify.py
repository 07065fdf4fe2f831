"""`ropewalk verify`: what is wrong with a federation."""

from time import perf_counter

from ropewalk.cli.contract import Json, contract, finish, progress
from ropewalk.cli.files import Source, load_from
from ropewalk.report.document import Document


def verify(path: Source, as_json: Json = False) -> None:
    """Check a federation file, and tell every fault at once.

    Its text, its fields, and that everything it names exists and fits together.
    """
    with contract("verify", as_json=as_json):
        from ropewalk.federation.loading import MAX_YAML_MB
        from ropewalk.report.tables import summary_line, summary_of

        start = perf_counter()
        with progress(f"checking {path}"):
            federation = load_from(path, max_mb=MAX_YAML_MB)
            summary = summary_of(federation)
        summary["seconds"] = round(perf_counter() - start, 3)
        done = Document("verify", "ok", summary)
        text = f"{federation.source.file}: {summary_line(summary)}: no fault in the file."
        finish(done, as_json=as_json, text=text)
