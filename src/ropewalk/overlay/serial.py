"""Numbers that wrap around: which of two is the newer one.

Jia 2014, 6.1.2 sets a sequence number back to 1 after the largest; whoever has the largest would
then refuse all that follows. Compared round the circle (as in RFC 1982) the newer is known as long
as fewer than half of all numbers lie between. All items of a broker share one row of numbers, and
its subscriptions may change very often between two changes of its links: the row is long.
"""

BITS = 48
SIZE = 1 << BITS
HALF = SIZE >> 1


def following(number: int) -> int:
    """The next number; 0 is left out, it stands for none.

    >>> following(1), following(SIZE - 1)
    (2, 1)
    """
    return number + 1 if number < SIZE - 1 else 1


def newer(incarnation: int, number: int, than_incarnation: int, than_number: int) -> bool:
    """Whether the first stamp is newer than the second.

    >>> newer(1, 5, 1, 4), newer(1, 2, 1, SIZE - 1), newer(1, 9, 2, 1), newer(1, 4, 1, 4)
    (True, True, False, False)
    """
    if incarnation != than_incarnation:
        return incarnation > than_incarnation
    if number == than_number:
        return False
    return not than_number or (number != 0 and (number - than_number) % SIZE < HALF)
