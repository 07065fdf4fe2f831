"""`ropewalk fault`: break something in a running lab, or heal it."""

from typing import Annotated

import typer

from ropewalk.cli.contract import Json, contract, finish
from ropewalk.cli.lab_live import HERE, Dir
from ropewalk.report.document import Document


def fault(
    what: Annotated[
        str, typer.Argument(help="cut, blackhole, slow, loss (links); kill, pause; heal.")
    ],
    target: Annotated[
        str, typer.Argument(help="A link (a--b), a broker, agent:BROKER; heal takes all.")
    ],
    value: Annotated[
        str | None, typer.Argument(help="slow: milliseconds, or MS@KB_S; loss: percent.")
    ] = None,
    folder: Dir = HERE,
    as_json: Json = False,
) -> None:
    """Break a link, a broker or an agent of a running lab, or heal it.

    cut: connections are reset, new ones refused. blackhole: bytes are held, nothing is closed.
    slow: every piece comes later. loss: packets are lost, where the kernel can do that. kill:
    SIGKILL; heal starts it again. pause: SIGSTOP; heal lets it go on.
    """
    with contract("fault", as_json=as_json):
        from ropewalk.agent.lab.control import order

        question = {"do": "fault", "what": what, "target": target, "value": value}
        done = order(folder, question)["done"]
        summary = {"what": what, "target": target, "value": value, "done": done}
        text = "\n".join(done) or "nothing was broken"
        finish(Document("fault", "ok", summary), as_json=as_json, text=text)
