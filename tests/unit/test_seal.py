"""Seals: what was changed, said before or meant for another is refused; all else is opened."""

from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropewalk.agent.seal import Opened, Seal, read_key
from ropewalk.errors import UsageError

KEY = b"0123456789abcdef0123456789abcdef"
words = st.one_of(st.binary(max_size=200), st.integers(1020, 1030).map(lambda n: b"w" * n))


def pair() -> tuple[Seal, Seal]:
    return Seal(KEY, "a", 5), Seal(KEY, "b", 9)


def refusals(seal: Seal) -> dict[str, int]:
    return {why: count for why, count in seal.refused.items() if count}


@given(st.lists(st.tuples(st.integers(0, 3), words), max_size=30))
def test_all_that_comes_in_order_is_opened(said: list[tuple[int, bytes]]) -> None:
    a, b = pair()
    for link, word in said:
        assert b.open(a.seal(link, "b", word)) == Opened(link, "a", word)
    assert not refusals(b)


@given(words, st.data())
def test_any_flipped_bit_is_refused(word: bytes, data: st.DataObject) -> None:
    a, b = pair()
    sealed = bytearray(a.seal(1, "b", word))
    bit = data.draw(st.integers(0, 8 * len(sealed) - 1))
    sealed[bit // 8] ^= 1 << bit % 8
    assert b.open(bytes(sealed)) is None
    sealed[bit // 8] ^= 1 << bit % 8
    assert b.open(bytes(sealed)) is not None


@pytest.mark.parametrize("word", [b"a short word", b"a long word" * 200])
def test_every_bit_of_a_word_counts(word: bytes) -> None:
    a, b = pair()
    sealed = a.seal(1, "b", word)
    for bit in range(8 * len(sealed)):
        changed = bytearray(sealed)
        changed[bit // 8] ^= 1 << bit % 8
        assert b.open(bytes(changed)) is None
    assert b.open(sealed) is not None


@given(st.data(), st.integers(1, 12))
def test_each_word_is_opened_at_most_once(data: st.DataObject, count: int) -> None:
    a, b = pair()
    sealed = [a.seal(n % 2, "b", bytes([n])) for n in range(count)]
    story = data.draw(st.lists(st.sampled_from(sealed), max_size=40))
    opened = [one.payload for data in story if (one := b.open(data))]
    assert len(set(opened)) == len(opened)
    assert sum(b.refused.values()) == b.refused["replayed"] == len(story) - len(opened)


@given(words, st.integers(0, 60))
def test_what_is_cut_short_or_prolonged_is_refused(word: bytes, cut: int) -> None:
    a, b = pair()
    sealed = a.seal(1, "b", word)
    assert b.open(sealed[: len(sealed) - 1 - cut]) is None
    assert b.open(sealed + bytes(1 + cut)) is None


@given(st.binary(max_size=300))
def test_noise_is_refused(noise: bytes) -> None:
    assert Seal(KEY, "b", 1).open(noise) is None


def test_a_long_words_digest_does_not_pass_for_the_word() -> None:
    a, b = pair()
    word = b"long" * 1000
    sealed = a.seal(1, "b", word)
    head, mac = sealed[: -len(word) - 16], sealed[-16:]
    assert b.open(head + sha256(word).digest() + mac) is None
    short = head[:-4] + (32).to_bytes(4, "big") + sha256(word).digest() + mac
    assert b.open(short) is None
    assert refusals(b) == {"malformed": 1, "forged": 1}


def test_a_word_for_one_agent_is_worth_nothing_at_another() -> None:
    a, _ = pair()
    c = Seal(KEY, "c", 1)
    assert c.open(a.seal(1, "b", b"word")) is None
    assert refusals(c) == {"not for me": 1}


def test_a_word_to_itself_is_refused() -> None:
    a, _ = pair()
    with pytest.raises(UsageError, match="to itself"):
        a.seal(1, "a", b"word")
    # Another agent of the same name, or an echo: the sender is this one.
    a.me = "x"
    echoed = a.seal(1, "a", b"word")
    assert a.open(echoed) is None
    assert refusals(a) == {"not for me": 1}


def test_another_key_is_refused() -> None:
    _, b = pair()
    assert b.open(Seal(KEY[::-1], "a", 5).seal(1, "b", b"word")) is None
    assert refusals(b) == {"forged": 1}


def test_an_older_life_is_refused_and_a_newer_is_heard() -> None:
    old, b = pair()
    late = old.seal(1, "b", b"late")
    late_elsewhere = old.seal(2, "b", b"late")
    new = Seal(KEY, "a", 6)
    assert b.open(new.seal(1, "b", b"first of the new life")) is not None
    assert b.open(late) is None
    assert b.open(late_elsewhere) is not None, "links are counted apart"
    assert refusals(b) == {"replayed": 1}


def test_names_that_run_into_each_other_are_told_apart() -> None:
    ab, bc = Seal(KEY, "ab", 1), Seal(KEY, "bc", 1)
    assert bc.open(Seal(KEY, "a", 1).seal(1, "bc", b"")) == Opened(1, "a", b"")
    assert bc.open(ab.seal(1, "c", b"")) is None


# --- the key ----------------------------------------------------------------------------------


def test_a_key_comes_from_a_variable_or_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RW_KEY", KEY.decode())
    path = tmp_path / "key"
    path.write_bytes(KEY + b"\n")
    path.chmod(0o600)
    assert read_key("env:RW_KEY") == read_key(f"file:{path}") == KEY


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ("env:RW_NOT_SET", r"RW_NOT_SET is not set: .*openssl rand -hex 32"),
        ("file:/nowhere/key", r"/nowhere/key cannot be read .*openssl rand -hex 32"),
        ("vault:key", "write env:NAME or file:PATH"),
        ("env:", "write env:NAME or file:PATH"),
    ],
)
def test_a_key_that_is_not_there_says_what_to_do(where: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        read_key(where)


def test_a_short_key_is_refused_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RW_KEY", "secret")
    with pytest.raises(UsageError, match=r"has 6 bytes, at least 16 .*openssl") as told:
        read_key("env:RW_KEY")
    assert "secret" not in str(told.value)


def test_a_key_that_others_may_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_bytes(KEY)
    path.chmod(0o640)
    with pytest.raises(UsageError, match=f"chmod 600 {path}"):
        read_key(f"file:{path}")


def test_a_credential_of_systemd_may_show_the_groups_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It lets one user in by an access list, whose mask stands where the group's rights do."""
    path = tmp_path / "credentials" / "key"
    path.parent.mkdir()
    path.write_bytes(KEY)
    path.chmod(0o440)
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path / "cred"))  # a part of the name
    with pytest.raises(UsageError, match="others may read"):
        read_key(f"file:{path}")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(path.parent))
    assert read_key(f"file:{path}") == KEY
    path.chmod(0o444)
    with pytest.raises(UsageError, match="others may read"):
        read_key(f"file:{path}")
