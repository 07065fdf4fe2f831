"""The demo's steps in their order: what is typed, and what came of it."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ropewalk.demo import telling
from ropewalk.demo.commands import Answer, Busy, Commands, Running, shown
from ropewalk.demo.figures import Audited, Driven, Risk, audited, driven, moved, risk
from ropewalk.demo.folder import prepare
from ropewalk.demo.judging import Seen, judged
from ropewalk.demo.scale import Scale
from ropewalk.demo.scenery import CAPACITY_MSGS_S, USED, Scenery, brokers
from ropewalk.errors import LabError
from ropewalk.findings import Finding
from ropewalk.report.document import Document, Outcome

LAB_LIMIT_S = 1800
"""The lab ends by then, even if nobody is left to end it."""
SEGMENT_S = 5.0
"""Agents close a file of their trace after so long."""
LEAD_S = 4.0
"""Clients connect and traffic begins before the plan is carried out."""
FAILURES = "links=1,brokers=1"


@dataclass(frozen=True, slots=True)
class Ending:
    """What came of it all."""

    outcome: Outcome
    summary: dict[str, Any]
    findings: Sequence[Finding]
    text: str


class Course:
    """One run of the demo in one folder."""

    def __init__(
        self,
        folder: Path,
        scale: Scale,
        scenery: Scenery,
        *,
        say: Callable[[str], None],
        busy: Busy,
    ) -> None:
        self.folder, self.scale, self.scenery = folder, scale, scenery
        self._say = say
        self.do = Commands(
            folder / "results", say=lambda text: say(telling.command(text)), busy=busy
        )
        self.runs: dict[str, Driven] = {}
        self.audits: dict[str, Audited] = {}

    def heading(self, number: int, text: str) -> None:
        """A step begins."""
        self._say(telling.heading(number, text))

    def at(self, name: str) -> str:
        """A file of the demo, as it is typed."""
        return str(self.folder / name)

    def tell(self, *lines: str) -> None:
        """What was found."""
        for one in lines:
            self._say(telling.line(one))

    # --- the steps --------------------------------------------------------------------------

    def verify(self) -> tuple[bool, int]:
        """Whether the planted mistake was found, and how many bad cases are left."""
        for name, text in (
            ("mistaken.yaml", self.scenery.mistaken),
            ("bursts.yaml", self.scenery.bursts),
            ("declared.yaml", self.scenery.capacities),
        ):
            (self.folder / name).write_text(text, encoding="utf-8")
        wrong, right = self.at("mistaken.yaml"), self.at("federation.yaml")
        self.do.aside = "mistaken"
        found = self.do.run(["verify", wrong], "verifying", (0, 1))
        self.tell(telling.mistaken(found))
        self.tell(
            telling.mended(self.do.run(["verify", wrong, "--fix", "-o", right], "mending", (0, 1)))
        )
        self.do.aside = ""
        proof = self.do.run(["verify", right], "verifying", (0, 1))
        self.tell(telling.proved(proof))
        told = proof["summary"]
        bad = told["loops"] + told["black_holes"] + told["too_long"] + told["leaks"]
        return bool(found["summary"]["loops"]), bad

    def route(self) -> None:
        """Tables and pairs of paths."""
        file = self.at("federation.yaml")
        words = ["route", file, "--failures", FAILURES, "-o", self.at("tables")]
        self.tell(telling.routed(self.do.run(words, "computing tables")))
        self.tell(telling.apart(self.do.run(["paths", file], "looking for paths", (0, 1))))

    def up(self) -> Running:
        """A lab that runs."""
        words = ["lab", "up", self.at("federation.yaml"), "--dir", self.at("lab")]
        lab = self.do.begin([*words, "--for", str(LAB_LIMIT_S)], beside=True)
        with self.do.busy("starting brokers and agents"):
            line = lab.first_line()
        if not line or not json.loads(line)["ok"]:
            self.do.end(lab)  # says why
            raise LabError("the lab has ended at once: run the demo again")
        servers = ", ".join(sorted({"nats", self.scenery.make})).replace("mosquitto", "Mosquitto")
        self.tell(
            f"{len(brokers())} real brokers ({servers.replace('nats', 'NATS')}), an agent"
            " beside each, a proxy in every link."
        )
        return lab

    def drive(self, name: str) -> None:
        """A run that is measured: with bursts and with failures."""
        run = driven(
            self.do.run(
                self._driving(self.scale.seconds, self.scale.faults),
                f"driving for {self.scale.seconds:g} s",
                (0, 1, 3),
            )
        )
        self.runs[name] = run
        self.tell(*telling.ran(run, self.scale.faults))

    def _driving(self, seconds: float, faults: Sequence[str] = ()) -> list[str]:
        words = ["lab", "drive", "--dir", self.at("lab"), "--bursts", self.at("bursts.yaml")]
        words += ["--seconds", f"{seconds:g}"]
        return words + [word for one in faults for word in ("--fault", one)]

    def pipe(self, name: str, run: str) -> None:
        """Traces through Spark; the windows are those of a run."""
        words = ["pipeline", "all", self.at(name), "--traces", self.at("lab/traces")]
        words += ["--federation", self.at("federation.yaml"), *_windows(self.runs[run])]
        document = self.do.job(words, "Spark: ingest, rates, calibrate, audit", (0, 1))
        self.audits["before" if name == "before" else "whole"] = audited(document)
        self.tell(*telling.piped(document))

    def replay(self, plan: Answer, name: str) -> Risk:
        """What was overloaded in a run, and what was predicted."""
        words = ["place", "replay", self.at("plan.yaml"), self.at(name), "--delivered"]
        words += ["--peak", self.runs[name].peak, *(["--today"] if name == "before" else [])]
        found = risk(plan, self.do.job(words, "Spark: what brokers handed out", (0, 1)))
        self.tell(telling.observed(found))
        return found

    def place(self) -> Answer:
        """A plan from the first run."""
        words = ["place", self.at("federation.yaml"), "--stats", self.at("before/rates")]
        words += ["--capacities", self.at("declared.yaml"), "-o", self.at("plan.yaml")]
        return self.do.run(words, "placing", (0, 1))

    def move(self) -> tuple[int, int]:
        """The plan is carried out under traffic; how many items went, of how many."""
        traffic = self.do.begin(self._driving(self.scale.moving_s), beside=True)
        with self.do.busy("traffic begins"):
            traffic.linger(LEAD_S)
        document = self.do.run(
            ["lab", "plan", self.at("plan.yaml"), "--dir", self.at("lab")],
            "moving items",
            (0, 1, 3),
        )
        self.tell(telling.went(document))
        with self.do.busy("the rest of the traffic"):
            traffic.wait()
        self.runs["moving"] = driven(self.do.end(traffic, (0, 1, 3)))
        self.tell(*telling.ran(self.runs["moving"]))
        return moved(document)

    def settle(self) -> None:
        """Until agents have closed the files with all that was seen."""
        with self.do.busy("agents close their trace files"):
            ended_s = time.time()
            while not self._closed_after(ended_s + 1.0) and time.time() < ended_s + 3 * SEGMENT_S:
                time.sleep(0.2)

    def _closed_after(self, since_s: float) -> bool:
        folders = [self.folder / "lab" / "traces" / name for name in brokers()]
        return all(
            any(one.stat().st_mtime > since_s for one in folder.glob("[!.]*.parquet"))
            for folder in folders
        )

    def report(self, told: Answer) -> Path:
        """Everything on one page; what is told here as well."""
        page, results = self.folder / "report.html", self.folder / "results"
        mine = results / "demo.json"
        mine.write_text(json.dumps(told, ensure_ascii=False) + "\n", encoding="utf-8")
        words = ["report", self.at("federation.yaml"), "--plan", self.at("plan.yaml")]
        words += ["--work", self.at("before"), "--work", self.at("after"), "-o", str(page)]
        typed = f"{shown(words)} {results}/*.json"
        every = [str(one) for one in (*self.do.kept, mine)]
        self.do.run([*words, *every], "writing the report", (0, 1, 3), typed)
        return page


def _windows(run: Driven) -> list[str]:
    return ["--window-s", f"{run.window_s:g}", "--peak", run.peak]


def run(
    folder: Path,
    scale: Scale,
    scenery: Scenery,
    *,
    say: Callable[[str], None],
    busy: Busy,
    argv: Sequence[str] = (),
) -> Ending:
    """The demo from its first step to the report; nothing is left running, however it ends.

    Raises UsageError for a folder that is no demo's, LabError for a step that cannot be made.
    """
    prepare(folder)
    course = Course(folder, scale, scenery, say=say, busy=busy)
    begun_s = time.monotonic()
    try:
        course.do.prepare_jobs()
        seen = _steps(course)
        outcome, findings = judged(seen)
        summary = _summary(course, seen, time.monotonic() - begun_s)
        course.heading(8, "Report: all of it on one page, with where it comes from")
        told = Document("demo", outcome, summary, findings).as_dict() | {"argv": list(argv)}
        page = course.report(told)
    finally:
        course.do.close()
    summary |= {"report": str(page), "seconds": round(time.monotonic() - begun_s, 1)}
    return Ending(outcome, summary, findings, telling.ending(seen, outcome, str(page), summary))


def _steps(course: Course) -> Seen:
    """Everything before the report."""
    course.heading(1, "Verify: a mistake is found and mended before anything runs")
    planted, bad = course.verify()
    course.heading(2, "Route: what to do in every failure, before it happens")
    course.route()
    course.heading(3, "Run: bursts of traffic; a link falls silent, a broker is killed")
    lab = course.up()
    course.drive("before")
    course.heading(4, "Observe: what really happened, by the agents' traces, on Spark")
    course.settle()
    course.pipe("before", "before")
    course.heading(5, "Place: what bursts together must not share a broker")
    course.tell(telling.declared(CAPACITY_MSGS_S, USED))
    plan = course.place()
    course.tell(*telling.placed(plan))
    before = course.replay(plan, "before")
    course.heading(6, "Move: the plan is carried out under traffic")
    done, moves = course.move()
    course.heading(7, "Run again: the same bursts, the same failures")
    course.drive("after")
    with course.do.busy("the lab ends"):
        course.do.run(["lab", "down", "--dir", course.at("lab")], "the lab ends")
        lab.wait()
    course.pipe("after", "after")
    after = course.replay(plan, "after")
    return Seen(
        folder=str(course.folder),
        planted=planted,
        bad_cases=bad,
        runs=course.runs,
        audits=course.audits,
        moved=done,
        moves=moves,
        before=before,
        after=after,
    )


def _summary(course: Course, seen: Seen, seconds: float) -> dict[str, Any]:
    """The figures of the run."""
    return {
        "make": course.scenery.make,
        "seed": course.scenery.seed,
        "run_s": course.scale.seconds,
        "windows": course.scale.windows,
        "runs": {name: asdict(one) for name, one in seen.runs.items()},
        "audits": {name: asdict(one) for name, one in seen.audits.items()},
        "moved": seen.moved,
        "moves": seen.moves,
        "risk": {
            name: {**asdict(one), "observed": one.observed}
            for name, one in (("before", seen.before), ("after", seen.after))
        },
        "capacity": "declared",
        "seconds": round(seconds, 1),
    }
