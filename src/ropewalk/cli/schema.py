"""`ropewalk schema`: the JSON Schema of a federation file, for editors and other tools."""

import json

from ropewalk.cli.contract import Json, contract, finish, say
from ropewalk.report.document import Document


def schema(as_json: Json = False) -> None:
    """Print the JSON Schema of a federation file."""
    with contract("schema", as_json=as_json):
        from ropewalk.federation.schema import schema as made

        if as_json:
            finish(Document("schema", "ok", {"schema": made()}), as_json=True)
        else:
            say(json.dumps(made(), indent=2) + "\n")
