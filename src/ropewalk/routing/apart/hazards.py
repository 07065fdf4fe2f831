"""How far to keep apart, by what is feared.

The figures are opinions, not measurements: trimmed means of a survey among chapters of the
Association of Contingency Planners, USA (T. L. Weems, "How far is far enough", Disaster Recovery
Journal 16(2), 2003), as read off its chart: 60, 48 and 36 miles between a site and its alternate.
Answers ranged from 5 to 1,000 miles. They are meant for two sites, so the region that takes both is
half as wide; taking them for its radius is on the safe side. A strong earthquake or the failure of
a whole grid reaches farther. Where the local hazard map says otherwise, it is right.
"""

from types import MappingProxyType
from typing import Literal

Hazard = Literal["earthquake", "flood", "power-grid"]

KM_PER_MILE = 1.609344
_MILES: dict[Hazard, int] = {"earthquake": 60, "flood": 48, "power-grid": 36}
RADIUS_KM = MappingProxyType({name: round(miles * KM_PER_MILE) for name, miles in _MILES.items()})
"""The distance that is suggested to keep, taken as the radius of the region.

>>> RADIUS_KM["flood"]
77
"""
