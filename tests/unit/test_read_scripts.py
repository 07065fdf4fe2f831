"""Scripts that set up RabbitMQ: what each command changes, at which server, with which line."""

from pathlib import Path
from typing import Any

import pytest

from ropewalk.errors import ConfigurationError
from ropewalk.federation.facts import Bridge
from ropewalk.federation.readers.drafts import Drafts
from ropewalk.federation.readers.growing import Change, grown
from ropewalk.federation.readers.json_text import parse_json
from ropewalk.federation.readers.rabbitmq import read_script
from ropewalk.federation.readers.rabbitmq.examples import example
from ropewalk.federation.readers.rabbitmq.scripts import Script
from ropewalk.federation.readers.reading import Reading, read_native
from ropewalk.federation.readers.shell import Shell, Word
from ropewalk.verify import verify
from tests.conftest import Run

UP = """set_parameter federation-upstream up '{"uri": "amqp://u:Sesame-77@far"}'"""
POLICY = """set_policy --apply-to exchanges fed '^orders$' '{"federation-upstream": "up"}'"""


def words(text: str) -> list[list[str]]:
    return [[one.text for one in command.words] for command in Shell().commands(text)]


def script(text: str) -> tuple[Script, Drafts]:
    drafts = Drafts()
    return read_script(text, "s.sh", drafts), drafts


def put(text: str, server: str = "") -> list[tuple[str, dict[str, Any]]]:
    found, drafts = script(text)
    assert not drafts.faults, drafts.faults
    assert list(found.changes) == [server]
    return [(one.section, one.value) for one in found.changes[server]]


def read(tmp_path: Path, **files: str) -> Reading:
    for name, text in files.items():
        path = tmp_path / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return read_native([tmp_path])


def links(reading: Reading) -> set[tuple[str, str, str]]:
    def shape(one: Bridge) -> tuple[str, str, str]:
        return one.from_, one.to, one.prefixes.local

    return {shape(one) for one in reading.federation.bridges}


# --- the shell --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a 'b c' \"d e\" f\\ g", [["a", "b c", "d e", "f g"]]),
        ("X=1; a $X ${X}2 ${Y:-3} $Y", [["a", "1", "12", "3", "$Y"]]),
        ("for i in a b; do x $i; done", [["x", "a"], ["x", "b"]]),
        ('L=(a b)\nfor i in "${L[@]}"; do x "$i"; done', [["x", "a"], ["x", "b"]]),
        ("f() { x $1 $2; }\nf a b; f c d", [["x", "a", "b"], ["x", "c", "d"]]),
        ('f() { x -u me "$@"; }\nf a "b c"', [["x", "-u", "me", "a", "b c"]]),
        (
            "C='docker exec r ctl'; $C go \"$C\"",
            [["docker", "exec", "r", "ctl", "go", "docker exec r ctl"]],
        ),
        ("a && b || c | d; e &", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("if x; then a; else b; fi", [["x"], ["a"], ["b"]]),
        ("# a b\na \\\n  b # c", [["a", "b"]]),
        ('a "{\\"k\\": \\"$X\\"}"', [["a", '{"k": "$X"}']]),
        ("X=a\r\nx $X\r\n", [["x", "a"]]),
        ("f() { f; }; f", [["f"]]),
        ('f() { x "${@:2}"; shift; x $1; }\nf a b c', [["x", "b", "c"], ["shift"], ["x", "b"]]),
        ("X=a; if [ $X = a ]; then y; else z; fi", [["y"]]),
        ("X=a; if [ $X != a ]; then y; elif [ $X = a ]; then w; else z; fi", [["w"]]),
        ("X=a; [ $X = b ] && y; [ $X = b ] || z", [["z"]]),
        ("[ $X = b ] && y", [["y"]]),
        (
            "for i in a b c; do [ $i = b ] && continue; x $i; done",
            [["x", "a"], ["continue"], ["x", "c"]],
        ),
        (
            "for i in a b; do if y; then break; fi; x $i; done",
            [["y"], ["break"], ["x", "a"], ["y"], ["break"], ["x", "b"]],
        ),
        ("f() { x; return; y; }; f; z", [["x"], ["return"], ["z"]]),
        ("for i in {1..2} $(seq 3 4); do x $i; done", [["x", str(i)] for i in (1, 2, 3, 4)]),
        ("H=h; x $H:1/$H/y", [["x", "h:1/h/y"]]),
        ('x "$(echo a b)" $(cat <<E\nc d\nE\n)', [["x", "a b", "c", "d"]]),
        ("x $(y z) `y`", [["y", "z"], ["y"], ["x", "$(y_z)", "`y`"]]),
        ("C=$(y z); x $C", [["y", "z"], ["x", "$C"]]),
        ("X=a; X+=b; A=(c); A+=(d); x $X ${A[1]} ${#A[@]}", [["x", "ab", "d", "2"]]),
        ('f() { x $1_y "$1_z"; }; f a', [["x", "a_y", "a_z"]]),
        ("X=u://h:1; x ${X#*//} ${X%%:*} ${X##*:} ${X%:*}", [["x", "h:1", "u", "1", "u://h"]]),
        ("X=/a; x ${X//\\//%2F} ${X^^} ${X:1} ${Y:=d} $Y", [["x", "%2Fa", "/A", "a", "d", "d"]]),
        ("x ${Y//a/b} ${Y:?say it}", [["x", "${Y}", "${Y}"]]),
        (
            'declare -A M=([a]=1 ["b"]="2 3")\nM[c]=4\nfor k in "${!M[@]}"; do x $k "${M[$k]}"; done',
            [["x", "a", "1"], ["x", "b", "2 3"], ["x", "c", "4"]],
        ),
        ("i=1; x $((i * 1000 + 2)) $((j + 1))", [["x", "1002", "$((j_+_1))"]]),
        ("for ((i = 1; i <= 2; i++)); do x $i; done", [["x", "1"], ["x", "2"]]),
        ("i=1; while [ $i -lt 3 ]; do x $i; i=$((i + 1)); done", [["x", "1"], ["x", "2"]]),
        ("for i in r{1..2} {a,b}.c; do x $i; done", [["x", i] for i in ("r1", "r2", "a.c", "b.c")]),
        ("for a in $X; do x $a; done", [["x", "$a"]]),
        ("f() { for a; do x $a; done; }; f b c", [["x", "b"], ["x", "c"]]),
        ("set -- a b; x $2 $#", [["set", "--", "a", "b"], ["x", "b", "2"]]),
        ("IFS=';'; L='a;b'; for i in $L; do x $i; done", [["x", "a"], ["x", "b"]]),
        (
            'IFS=, read -ra L <<< "a,b"\nx "${L[@]}"',
            [["read", "-ra", "L"], ["x", "a", "b"]],
        ),
        (
            "while IFS='|' read -r a b; do x $b $a; done <<E\n1|2\n3|4\nE",
            [["x", "2", "1"], ["x", "4", "3"]],
        ),
        ("read a <<< b; read a; x $a", [["read", "a"], ["read", "a"], ["x", "$a"]]),
        ("X=a1; case $X in b*) y;; a?|c) x;; *) z;; esac", [["x"]]),
        ("case $X in a) x;; *) y;; esac", [["x"], ["y"]]),
        ('X=; [ -z "$X" ] && x; [ -n "$X" ] && y; [ -z "$Y" ] && z', [["x"], ["z"]]),
        ("[[ a == b || a == a ]] && x; ! [ a = a ] && y", [["x"]]),
        ("X=1; if y; then X=2; fi; [ $X = 2 ] || x", [["y"], ["x"]]),
        ("H=h; while getopts h o; do H=$OPTARG; done; x $H", [["getopts", "h", "o"], ["x", "h"]]),
        ("eval \"x 'a b'\"", [["x", "a b"]]),
        ('X=$(printf \'{"u": "%s"}\' a); x "$X"', [["x", '{"u": "a"}']]),
        ("f() { local n=$1; echo -n l-$n; }; x $(f a)", [["x", "l-a"]]),
        ("cat > f <<E\na\nE\nx $(cat f) $(<f)", [["cat"], ["x", "a", "a"]]),
        ("x $([ a = b ] && echo c || echo d)", [["x", "d"]]),
    ],
)
def test_commands_have_the_words_that_the_shell_would_give(
    text: str, expected: list[list[str]]
) -> None:
    assert words(text) == expected


def test_words_know_their_lines_and_here_documents_their_text() -> None:
    first, second, third = Shell().commands("a \\\n 'b'\ncat <<X | c\nv=$V\nX\n")
    assert [one.line for one in first.words] == [1, 2]
    assert second.stdin == third.stdin == Word("v=$V\n", 4)


def test_here_documents_are_filled_in_as_the_shell_does() -> None:
    text = 'f() { c <<E\n"$1" \\"x\\" \\$1 ${2:-d}\nE\n}\nf a'
    (command,) = Shell().commands(text)
    assert command.stdin == Word('"a" \\"x\\" $1 d\n', 2)


def test_what_a_command_says_is_given_to_the_next_in_a_pipe() -> None:
    *_, last = Shell().commands('X=a; echo "{$X}" | c -d @-')
    assert last.stdin == Word("{a}\n", 1)


def test_arguments_keep_the_line_on_which_they_are_given() -> None:
    (command,) = Shell().commands('f() {\nx "$@"\n}\n\nf a')
    assert [one.line for one in command.words] == [2, 5]


# --- commands ---------------------------------------------------------------------------------

UPSTREAM = {"vhost": "/", "component": "federation-upstream", "name": "up"}


@pytest.mark.parametrize(
    ("text", "server"),
    [
        (f"rabbitmqctl {UP}", ""),
        (f"sudo -u rabbitmq /usr/sbin/rabbitmqctl -q {UP}", ""),
        (f"CTL=$1\n$CTL {UP}", ""),
        (f"rabbitmqctl -n rabbit@north {UP}", "north"),
        (f"rabbitmqctl {UP} --node=hare", "hare"),
        (f"rabbitmqctl -n rabbit@localhost {UP}", ""),
        (f"docker exec -i -u root north rabbitmqctl {UP}", "north"),
        (f"docker compose -f x.yml exec -T north rabbitmqctl {UP}", "north"),
        (f"docker exec $(sudo docker ps -qf name=north) rabbitmqctl {UP}", "north"),
        (f"kubectl -n mq exec -it pod/north-0 -c rabbitmq -- rabbitmqctl {UP}", "north.mq"),
        (f"kubectl --context west -n mq exec deploy/north -- rabbitmqctl {UP}", "north.mq@west"),
        (f"ssh north docker exec rabbit rabbitmqctl {UP}", "north"),
        (f"RABBITMQ_NODENAME=hare rabbitmqctl {UP}", "hare"),
        (f"export RABBITMQ_NODENAME=rabbit@north\nrabbitmqctl {UP}", "north"),
        (f"export RABBITMQ_NODENAME=hare\ndocker exec north rabbitmqctl {UP}", "north"),
        (f"ssh -i key admin@north sudo rabbitmqctl {UP}", "north"),
        (
            f"kubectl config use-context west; kubectl exec north-0 -- rabbitmqctl {UP}",
            "north@west",
        ),
        (
            f"ssh north <<E\nrabbitmqctl {UP.replace(chr(34), chr(92) + chr(34)).replace(chr(39), chr(34))}\nE",
            "north",
        ),
        (
            f'docker exec north bash -c "rabbitmqctl {UP.replace(chr(34), chr(92) + chr(34))}"',
            "north",
        ),
        (f"docker exec -i north bash <<EOF\nrabbitmqctl {UP}\nEOF", "north"),
        (
            f"vagrant ssh north -c {chr(34)}rabbitmqctl {UP.replace(chr(34), chr(92) + chr(34))}{chr(34)}",
            "north",
        ),
    ],
)
def test_a_command_is_for_the_server_that_it_names(text: str, server: str) -> None:
    value = {"uri": "amqp://u:Sesame-77@far"}
    assert put(text, server) == [("parameters", {**UPSTREAM, "value": value})]


@pytest.mark.parametrize(
    ("text", "section", "entry"),
    [
        (
            "rabbitmqctl set_policy -p v --priority 3 fed ^a '{}'",
            "policies",
            {
                "vhost": "v",
                "name": "fed",
                "pattern": "^a",
                "definition": {},
                "priority": 3,
                "apply-to": "all",
            },
        ),
        (
            "rabbitmqctl set_policy fed ^a '{}' 7",
            "policies",
            {
                "vhost": "/",
                "name": "fed",
                "pattern": "^a",
                "definition": {},
                "priority": 7,
                "apply-to": "all",
            },
        ),
        ("rabbitmqctl add_vhost v", "vhosts", {"name": "v"}),
        (
            "rabbitmqctl set_cluster_name east",
            "global_parameters",
            {"name": "cluster_name", "value": "east"},
        ),
        (
            "rabbitmqadmin -u me -p pw declare exchange name=e type=fanout durable=true",
            "exchanges",
            {"vhost": "/", "name": "e", "type": "fanout", "durable": True},
        ),
        (
            "rabbitmqadmin -V v declare binding source=e destination=q routing_key=k",
            "bindings",
            {"vhost": "v", "source": "e", "destination": "q", "routing_key": "k"},
        ),
        (
            "rabbitmqadmin --vhost v declare exchange --name e --type topic",
            "exchanges",
            {"vhost": "v", "name": "e", "type": "topic"},
        ),
        (
            'curl -u a:b -XPUT http://localhost:15672/api/exchanges/%2f/e -d \'{"type": "topic"}\'',
            "exchanges",
            {"vhost": "/", "name": "e", "type": "topic"},
        ),
        (
            'curl -X POST -d \'{"routing_key": "k"}\' localhost:15672/api/bindings/%2f/e/s/q/d',
            "bindings",
            {
                "vhost": "/",
                "source": "s",
                "destination_type": "queue",
                "destination": "d",
                "routing_key": "k",
            },
        ),
        (
            "http -a a:b PUT :15672/api/policies/%2f/p pattern=^a priority:=2 definition:='{\"x\": 1}'",
            "policies",
            {"vhost": "/", "name": "p", "pattern": "^a", "priority": 2, "definition": {"x": 1}},
        ),
        (
            'wget --method=PUT --body-data=\'{"type": "topic"}\' http://localhost:15672/api/exchanges/v/e',
            "exchanges",
            {"vhost": "v", "name": "e", "type": "topic"},
        ),
        (
            'curl -XPUT localhost:15672/api/cluster-name -d \'{"name": "east"}\'',
            "global_parameters",
            {"name": "cluster_name", "value": "east"},
        ),
        (
            "CODE=$(curl -sXPUT 0.0.0.0:15672/api/vhosts/v)",
            "vhosts",
            {"name": "v"},
        ),
        (
            'cat > /tmp/e.json <<E\n{"type": "topic"}\nE\n'
            "curl -T e.json localhost:15672/api/exchanges/v/e",
            "exchanges",
            {"vhost": "v", "name": "e", "type": "topic"},
        ),
    ],
)
def test_commands_are_entries_of_definitions(
    text: str, section: str, entry: dict[str, Any]
) -> None:
    assert put(text) == [(section, entry)]


def test_requests_and_options_name_the_server_by_host_or_port() -> None:
    api = "api/parameters/federation-upstream/%2f/up -XPUT -d '{\"value\": {}}'"
    text = (
        f"curl http://north:15672/{api}\ncurl http://a:b@localhost:15673/{api}\n"
        "rabbitmqadmin -H south declare vhost name=v\n"
    )
    assert list(script(text)[0].changes) == ["north", "localhost_15673", "south"]


@pytest.mark.parametrize(
    ("options", "server"),
    [
        ("-N east", "east"),
        ("--node=east", "east"),
        ("-N default", ""),
        ("-N east -H west", "west"),
        ("-U http://u:p@east:15672/mq", "east"),
        ("--base-uri https://east.example.net", "east.example.net"),
        ("-U http://localhost:15673", "localhost_15673"),
    ],
)
def test_rabbitmqadmin_names_its_server_by_a_section_or_an_address(
    options: str, server: str
) -> None:
    text = f"rabbitmqadmin {options} declare vhost name=v"
    assert put(text, server) == [("vhosts", {"name": "v"})]


def test_numbers_and_flags_of_options_are_numbers_and_flags() -> None:
    text = "federation declare_upstream --name n --uri amqp://far --reconnect-delay 5 --trust-user-id true"
    ((_, entry),) = put(f"rabbitmqadmin {text}")
    assert entry["value"] == {"uri": "amqp://far", "reconnect-delay": 5, "trust-user-id": True}


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("rabbitmqctl set_parameter c n '{\n\"a\" 1}'", 2, "':' is missing"),
        ('rabbitmqctl set_parameter c n "{\\"a\\": $X}"', 1, "$X stands in it: fill it in"),
        ('rabbitmqctl set_parameter c n \'[{<<"uri">>,<<"x">>}]\'', 1, "an Erlang term"),
        ("rabbitmqctl set_policy fed", 1, "too few words"),
        ("rabbitmqctl set_policy fed ^$X '{}'", 1, "$X stands in the pattern of policy fed: fill"),
        ("rabbitmqctl set_policy {{ name }} ^a '{}'", 1, "a template: {{ name }} stands in it"),
        ("curl -XPUT h:15672/api/parameters/shovel/v/s -d '{\"a\": 1}'", 1, "it has no value"),
        ('curl -XPUT ${API}parameters/shovel/v/s -d "$X"', 1, "$X stands in it: fill it in"),
    ],
)
def test_values_that_cannot_be_read_are_faults_with_their_line(
    text: str, line: int, message: str
) -> None:
    (fault,) = script(text)[1].faults
    assert (fault.where.line, message in fault.message) == (line, True), fault


def test_what_changes_nothing_of_federation_is_told_by_its_names_only() -> None:
    text = "rabbitmqctl add_user me Sesame-77\nrabbitmqctl stop_app\nrabbitmqctl import_definitions x.json"
    found, drafts = script(text)
    told = " ".join(str(one) for one in drafts.findings)
    assert not found.changes
    assert all(one in told for one in ("add_user", "stop_app", "definitions of x.json"))
    assert "Sesame-77" not in told


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        (f"\nf() {{ rabbitmqctl {UP}; }}", 2, "function f: nothing calls it here"),
        ("put -X PUT http://h:15672/api/policies/%2f/p", 1, "a request by put"),
        ("docker exec $C rabbitmqctl add_vhost v", 1, "which server $C is"),
        ("curl -XPUT h:15672/api/vhosts/v -d @v.json", 1, "read v.json as well"),
        ("for a in {1..200}; do for b in {1..200}; do x; done; done", 1, "after 20000 commands"),
    ],
)
def test_what_cannot_be_followed_is_told(text: str, line: int, told: str) -> None:
    (note,) = script(text)[1].findings
    assert (note.where.line, told in note.message) == (line, True), note


def test_ports_of_containers_that_the_script_starts_are_theirs() -> None:
    text = "\n".join(
        (
            "run() { docker run -d --name mq_$1 -h $1 -p $((15672 + $2)):15672 rabbitmq; }",
            "run north 0; run south 1",
            "curl -XPUT http://$IP:15673/api/vhosts/v",
            "rabbitmqadmin declare vhost name=v",
            "docker exec mq_south rabbitmqadmin declare vhost name=w",
        )
    )
    found = script(text)[0]
    assert {one: len(made) for one, made in found.changes.items()} == {"mq_south": 2, "mq_north": 1}
    assert found.names["mq_south"] == ("south",)


def test_values_that_only_older_releases_take_are_warned_of() -> None:
    text = "\nrabbitmqctl set_parameter c n \"{'a': 1,}\""
    found, drafts = script(text)
    assert [one.value["value"] for one in found.changes[""]] == [{"a": 1}]
    (told,) = [one for one in drafts.findings if one.code == "C020"]
    assert (told.where.line, "newer RabbitMQ refuses" in told.message) == (2, True)


@pytest.mark.parametrize(
    ("text", "component", "value"),
    [
        (
            "federation declare_upstream_for_exchanges --name n --uri amqp://far --max-hops 2",
            "federation-upstream",
            {"uri": "amqp://far", "max-hops": 2},
        ),
        (
            "shovel declare_amqp091 --name n --source-uri amqp:// --destination-uri amqp://far "
            "--source-queue q --destination-exchange e --destination-exchange-key k",
            "shovel",
            {
                "src-uri": "amqp://",
                "dest-uri": "amqp://far",
                "src-queue": "q",
                "dest-exchange": "e",
                "dest-exchange-key": "k",
                "src-protocol": "amqp091",
                "dest-protocol": "amqp091",
            },
        ),
        (
            "parameters set --component shovel --name n --value '{\"a\": 1}'",
            "shovel",
            {"a": 1},
        ),
    ],
)
def test_the_second_rabbitmqadmin_says_the_same_by_options(
    text: str, component: str, value: dict[str, Any]
) -> None:
    ((section, entry),) = put(f"rabbitmqadmin --vhost v {text}")
    assert section == "parameters"
    assert entry == {"vhost": "v", "component": component, "name": "n", "value": value}


def test_containers_of_one_name_on_two_machines_are_two_servers() -> None:
    text = "\n".join(
        f"ssh {machine} docker exec {container} rabbitmqctl add_vhost v"
        for machine, container in (("north", "mq"), ("south", "mq"), ("west", "a"), ("west", "b"))
    )
    assert list(script(text)[0].changes) == ["north", "south", "a", "b"]


def test_what_a_script_takes_away_again_is_told(tmp_path: Path) -> None:
    gone = "rabbitmqctl clear_parameter federation-upstream up"
    reading = read(tmp_path, s_sh=f"rabbitmqctl {UP}\nrabbitmqctl {POLICY}\n{gone}\n")
    assert not reading.federation.bridges
    (told,) = [one for one in reading.findings if "takes it away again" in one.message]
    assert (told.where.line, "s.sh:3" in told.message) == (1, True)


def test_what_is_perhaps_taken_away_is_there(tmp_path: Path) -> None:
    gone = "case $1 in down) rabbitmqctl clear_parameter federation-upstream up;; esac"
    reading = read(tmp_path, s_sh=f"rabbitmqctl {UP}\nrabbitmqctl {POLICY}\n{gone}\n")
    assert links(reading) == {("s", "far", "orders/")}
    (told,) = [one for one in reading.findings if "takes it away again" in one.message]
    assert "if a condition holds: it is taken to be there" in told.message


def test_what_another_script_takes_away_is_there(tmp_path: Path) -> None:
    gone = "docker exec mq rabbitmqctl clear_parameter federation-upstream up"
    made = f"docker exec mq rabbitmqctl {UP}\ndocker exec mq rabbitmqctl {POLICY}\n"
    reading = read(tmp_path, create_sh=made, delete_sh=gone)
    assert links(reading) == {("mq", "far", "orders/")}
    (told,) = [one for one in reading.findings if "takes it away again" in one.message]
    assert "delete.sh:1 takes it away again in another script" in told.message


def other(far: str) -> str:
    return "set_parameter federation-upstream up '" + f'{{"uri": "amqp://{far}"}}' + "'"


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        (f"rabbitmqctl {other('a')}\nrabbitmqctl {other('b')}", "C020", "for the same server, and"),
        (f"rabbitmqctl {other('a')}\nrabbitmqctl {other('a')}", "", ""),
        (
            f"case $1 in a) rabbitmqctl {other('a')};; *) rabbitmqctl {other('b')};; esac",
            "C010",
            "says it otherwise if a condition holds: that is taken",
        ),
        (
            f"docker exec $A rabbitmqctl {other('a')}\ndocker exec $A rabbitmqctl {other('b')}",
            "C010",
            "says it otherwise for a server that a variable names as well",
        ),
    ],
)
def test_what_a_script_says_twice_otherwise_is_told(
    tmp_path: Path, text: str, code: str, words: str
) -> None:
    reading = read(tmp_path, s_sh=f"{text}\n")
    told = [one for one in reading.findings if "otherwise" in one.message]
    assert [one.code for one in told] == ([code] if code else [])
    assert all(words in one.message and one.where.line == 1 for one in told)


@pytest.mark.parametrize(
    "pattern", [".*drone.*", "(?i)^fed", r"^fed-\d+$", r"^[a-z]+\.events$", "^(..)\\1$", "[[:x:]]"]
)
def test_an_upstream_is_not_said_to_be_idle_where_a_policy_may_use_it(
    tmp_path: Path, pattern: str
) -> None:
    policy = f"""set_policy --apply-to exchanges fed '{pattern}' '{{"federation-upstream-set": "all"}}'"""
    reading = read(tmp_path, s_sh=f"rabbitmqctl {UP}\nrabbitmqctl {policy}\n")
    assert not [one for one in reading.findings if one.code == "C020"]
    assert bool(reading.federation.bridges) is (pattern not in ("^(..)\\1$", "[[:x:]]"))


def test_what_requests_send_that_is_not_read_is_not_said_to_be_missing(tmp_path: Path) -> None:
    send = "curl -X PUT http://localhost:15672/api/parameters/federation-upstream/%2f/up -d"
    policy = f"rabbitmqctl {POLICY}\n"
    reading = read(tmp_path, s_sh=f"jq -n '{{}}' | {send} @-\n{policy}")
    assert any("data that another command gives" in one.message for one in reading.findings)
    assert not [one for one in reading.findings if one.code == "C020"]
    control = read(tmp_path, s_sh=policy)
    assert [one.code for one in control.findings if one.severity == "warning"] == ["C020"]


def test_a_file_that_the_script_makes_is_no_other_file() -> None:
    text = "curl -XPUT h:15672/api/vhosts/v -d @v.json"
    (note,) = script(f"jq -n x > /tmp/v.json\n{text}")[1].findings
    assert "a command whose words are not known writes that file" in note.message
    assert "another file" not in note.message


# --- definitions that grow --------------------------------------------------------------------


def test_the_later_of_two_changes_holds_and_what_is_cleared_is_gone() -> None:
    def change(name: str, *, gone: bool = False, **more: Any) -> Change:
        return Change("policies", {"vhost": "/", "name": name, **more}, "s.sh", 1, gone=gone)

    changes = [
        change("a", pattern="1"),
        change("b"),
        change("a", pattern="2"),
        change("b", gone=True),
    ]
    base = parse_json('{"policies": [\n{"name": "a"},\n{"name": "c"}], "users": []}')
    made = grown(changes, base)
    assert [one.get("pattern", one["name"]) for one in made.value["policies"]] == ["c", "2"]
    assert made.line_of(("policies", 0)) == 3
    assert made.file_of(("policies", 1, "name")) == "s.sh"
    assert base.value["policies"] == [{"name": "a"}, {"name": "c"}]


@pytest.mark.parametrize(
    ("pattern", "name"),
    [("^orders$", "orders"), (r"^fed\.", "fed.x"), ("^(a|b)$", "a"), (r"^(?!amq\.).*", "any"),
     ("orders.*", "orders"), ("^ab?$", "a"), ("", "any"), ("^[a-z]{9}$", "x" * 9),
     (".*drone.*", "drone"), ("(?i)^fed", "fed"), (r"^fed-\d+$", "fed-0"), ("^[nN]o[^x]$", "no0"),
     (r"^[a-z]+\.events$", "x.events"), ("^(fed|bus)\\..*", "fed.x"), ("^$", None),
     ("^(?>a|b)c++[^a]?$", "ac"), (r"^\S\W\D\w$", "x-xx"), (r"^a\sb?$", "a ")],
)  # fmt: skip
def test_a_policy_without_exchanges_has_one_that_stands_for_them(
    pattern: str, name: str | None
) -> None:
    assert example(pattern) == name


# --- whole federations ------------------------------------------------------------------------


def test_a_script_is_a_federation_whose_findings_name_its_lines(tmp_path: Path) -> None:
    text = "\n".join(
        f"docker exec {here} rabbitmqctl set_parameter federation-upstream up "
        f'\'{{"uri": "amqp://{far}"}}\'\ndocker exec {here} rabbitmqctl {POLICY}'
        for here, far in (("a", "b"), ("b", "c"))
    )
    reading = read(tmp_path, setup_sh=text)
    assert links(reading) == {("a", "b", "orders/"), ("b", "c", "orders/")}
    (found,) = [one for one in verify(reading.federation).findings if one.code == "V004"]
    assert found.where.line in (1, 3)
    # The control: enough hops, and nothing is found.
    assert text.count('"}') == 4
    enough = read(tmp_path, setup_sh=text.replace('amqp://b"', 'amqp://b", "max-hops": 2'))
    assert not [one for one in verify(enough.federation).findings if one.code == "V004"]


def test_scripts_and_an_export_of_one_server_are_taken_together(tmp_path: Path) -> None:
    export = '{"vhosts": [{"name": "/"}], "exchanges": [{"name": "orders", "vhost": "/", "type": "fanout"}]}'
    reading = read(
        tmp_path,
        hub__definitions_json=export,
        hub__create_upstreams_sh=f"rabbitmqctl {UP}",
        hub__policies_sh=f"\n\nrabbitmqctl {POLICY}",
    )
    (bridge,) = reading.federation.bridges
    assert (bridge.from_, bridge.to) == ("hub", "far")
    assert bridge.written["policy"].endswith("hub/policies.sh:3")
    assert bridge.written["addresses"].endswith(":1")
    assert "Sesame-77" not in str(reading.federation) + str(reading.findings)


def test_nodes_that_join_are_one_cluster(tmp_path: Path) -> None:
    text = (
        f"docker exec r2 rabbitmqctl join_cluster rabbit@r1\ndocker exec r2 rabbitmqctl {UP}\n"
        f"docker exec r1 rabbitmqctl {POLICY}\n"
        'docker exec far rabbitmqctl set_parameter federation-upstream up \'{"uri": "amqp://r2"}\'\n'
        f"docker exec far rabbitmqctl {POLICY}\n"
    )
    reading = read(tmp_path, s_sh=text)
    assert links(reading) == {("r1", "far", "orders/"), ("far", "r1", "orders/")}


def test_a_script_that_says_nothing_of_federation_is_refused(ropewalk: Run, tmp_path: Path) -> None:
    path = tmp_path / "users.sh"
    path.write_text("#!/bin/sh\nrabbitmqctl add_user me Sesame-77\n")
    told = ropewalk("read", str(path), "-o", str(tmp_path / "out.yaml"))
    assert told.code == 2
    assert "C008" in told.out
    assert "Sesame-77" not in told.out + told.err
    path.write_text("#!/bin/sh\necho hello\n")
    with pytest.raises(ConfigurationError, match="C001"):
        read_native([path])


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        (
            "fed.py",
            "put('/api/parameters/shovel/%2f/x')",
            "a program that sets up RabbitMQ: run it",
        ),
        (
            "fed.sls",
            "up:\n  rabbitmq_upstream.present:\n    - uri: amqp://a",
            "a tool that sets up",
        ),
        ("Makefile", f"fed:\n\trabbitmqctl {UP}\n", "it has commands for RabbitMQ"),
        ("main.tf", 'resource "rabbitmq_shovel" "s" {\n}\n', "a tool that sets up RabbitMQ"),
    ],
)
def test_what_is_no_script_is_refused_with_the_next_step(
    tmp_path: Path, name: str, text: str, told: str
) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        read_native([path])
    assert told in str(caught.value)


def test_other_scripts_of_a_folder_are_passed_over(tmp_path: Path) -> None:
    reading = read(tmp_path, build_sh="#!/bin/sh\nmake\n", s_sh=f"rabbitmqctl {UP}")
    assert set(reading.federation.brokers) == {"s"}
    (note,) = [one for one in reading.findings if one.code == "C013"]
    assert "build.sh" in note.message


def test_an_input_that_is_closed_gives_nothing() -> None:
    assert words("cat <&-\necho a\n")[-1] == ["echo", "a"]


def test_a_place_of_an_array_that_names_itself_ends() -> None:
    text = "declare -A a\nx='${a[$x]}'\na[k]=1\necho \"amqp://${a[$x]}\"\n"
    assert words(text)[-1] == ["echo", "amqp://${a[$x]}"]
