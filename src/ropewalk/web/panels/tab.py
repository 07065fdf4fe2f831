"""Whether a panel's tab is the one that is shown: what costs something is done only then."""

from collections.abc import Awaitable, Callable

from nicegui import ui
from nicegui.elements.tabs import TabPanel, TabPanels


class Tab:
    """The tab that a panel is built in; asked while it is built."""

    def __init__(self) -> None:
        parent = ui.context.slot.parent
        above = [parent, *parent.ancestors()]
        self._panels = next((one for one in above if isinstance(one, TabPanels)), None)
        panel = next((one for one in above if isinstance(one, TabPanel)), None)
        self._name = panel.props["name"] if panel is not None else None

    @property
    def on(self) -> bool:
        """Whether it is shown; so is what stands in no tab."""
        return self._panels is None or self._panels.value == self._name

    def changed(self, do: Callable[[bool], Awaitable[None] | None]) -> None:
        """Call with whether it is shown, whenever somebody turns to it or away from it."""
        state = [self.on]

        async def turned() -> None:
            if state[0] != self.on:
                state[0] = self.on
                done = do(self.on)
                if done is not None:
                    await done

        if self._panels is not None:
            self._panels.on_value_change(lambda _: turned())
