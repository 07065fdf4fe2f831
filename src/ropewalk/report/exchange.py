"""Findings in the forms that other tools read: SARIF for code hosts, JUnit for build servers."""

import json
from xml.etree import ElementTree as Xml

from ropewalk.findings import Finding, rules
from ropewalk.report.document import Document


def sarif(document: Document, version: str) -> str:
    """A SARIF 2.1.0 log with one run; findings without a line point at the file."""
    used = list(dict.fromkeys(finding.code for finding in document.findings))
    known = rules()
    driver = {
        "name": "ropewalk",
        "version": version,
        "rules": [
            {
                "id": code,
                "name": known[code].name,
                "shortDescription": {"text": known[code].meaning},
                "help": {"text": known[code].fix},
            }
            for code in used
        ],
    }
    run = {
        "tool": {"driver": driver},
        "results": [_result(finding, used) for finding in document.findings],
        "properties": {"summary": dict(document.summary)},
    }
    return json.dumps({"version": "2.1.0", "runs": [run]}, indent=1)


def _result(finding: Finding, used: list[str]) -> dict[str, object]:
    place: dict[str, object] = {"artifactLocation": {"uri": finding.where.file}}
    if finding.where.line:
        place["region"] = {"startLine": finding.where.line}
    return {
        "ruleId": finding.code,
        "ruleIndex": used.index(finding.code),
        "level": finding.severity,
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": place}],
        "properties": {"witness": finding.witness},
    }


def junit(document: Document) -> str:
    """A JUnit test suite: a failed case per finding, or one that passed."""
    errors = [one for one in document.findings if one.severity == "error"]
    undecided = document.outcome == "undecided"
    cases = len(document.findings) + (undecided or not document.findings)
    suite = Xml.Element(
        "testsuite",
        name=f"ropewalk {document.command}",
        tests=str(cases),
        failures=str(len(errors)),
        errors="0" if document.outcome != "undecided" else "1",
    )
    for finding in document.findings:
        name = f"{finding.code} {finding.where}"
        case = Xml.SubElement(suite, "testcase", name=name, classname=rules()[finding.code].name)
        if finding.severity == "error":
            failure = Xml.SubElement(case, "failure", message=finding.message, type=finding.code)
            failure.text = f"{finding.where}\n{json.dumps(finding.witness, ensure_ascii=False)}"
        else:
            Xml.SubElement(case, "system-out").text = finding.message
    if not document.findings or document.outcome == "undecided":
        case = Xml.SubElement(suite, "testcase", name=document.command, classname="ropewalk")
        if document.outcome == "undecided":
            Xml.SubElement(case, "error", message="could not decide within the budget")
    Xml.indent(suite)
    return Xml.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"
