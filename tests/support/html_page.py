"""A page as a browser would take it apart."""

from html.parser import HTMLParser

VOID = {"meta", "link", "input", "br"}


class Page(HTMLParser):
    """The elements of a page with their attributes, and its words; fails where tags do not close in order."""

    def __init__(self, page: str):
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(page)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open, f"{tag} closes nothing"
        assert self.open.pop() == tag, f"{tag} closes out of order"

    def handle_data(self, data):
        if self.open[-1:] != ["style"]:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).split())

    @property
    def tags(self) -> list[str]:
        return [tag for tag, _ in self.elements]

    def all(self, tag: str, **attributes: str) -> list[dict[str, str | None]]:
        """The attributes of the elements that have these."""
        return [own for name, own in self.elements if name == tag and attributes.items() <= own.items()]


def contrast(first: tuple[float, ...], second: tuple[float, ...]) -> float:
    """The contrast of two colors, each of three parts in 0..255, as the rules of the web define it."""

    def luminance(color):
        parts = [part / 255 for part in color]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    dark, light = sorted([luminance(first), luminance(second)])
    return (light + 0.05) / (dark + 0.05)
