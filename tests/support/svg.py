"""Drawings read back: where marks stand, in the units of the axes."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable

NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
BASELINE = 3
"""Pixels by which the label of a vertical axis hangs below the place that it names."""

Point = tuple[float, float]


def panel_points(drawing: str, panel: int = 0) -> list[list[Point]]:
    """The points of each mark of one panel: (x, y) in the units of the axes; pixels where an axis has no numbers."""
    root = ET.fromstring(drawing)
    x, y = _scale(root, "X", panel), _scale(root, "Y", 0)
    marks = [shape for group in _panel(root, panel).iter() if _is(group, "role-mark") for shape in group]
    return [[(x(across), y(down)) for across, down in _pixels(shape)] for shape in marks]


def has_axes(drawing: str) -> bool:
    """Whether the drawing is a chart, and not a sentence in its place."""
    return any(_is(group, "role-axis") for group in ET.fromstring(drawing).iter())


def words(drawing: str) -> list[str]:
    """All that is written in the drawing."""
    return [element.text or "" for element in ET.fromstring(drawing).iter() if element.tag.endswith("}text")]


def _panel(root: ET.Element, panel: int) -> ET.Element:
    cells = [child for group in root.iter() if _is(group, "role-scope cell") for child in group]
    return cells[panel] if cells else root


def _scale(root: ET.Element, axis: str, panel: int) -> Callable[[float], float]:
    """From pixels to the units of the axis, by two of its labels."""
    axes = [group for group in root.iter() if group.get("aria-label", "").startswith(f"{axis}-axis")]
    labels = [label for group in axes[panel].iter() if _is(group, "role-axis-label") for label in group]
    texts = [(label.text or "").replace("−", "-").replace("%", "e-2") for label in labels]
    if len(texts) < 2 or "discrete" in axes[panel].get("aria-label", ""):
        return lambda pixel: pixel
    places = [_numbers(label.get("transform", ""))[axis == "Y"] - BASELINE * (axis == "Y") for label in labels]
    per_pixel = (float(texts[-1]) - float(texts[0])) / (places[-1] - places[0])
    return lambda pixel: float(texts[0]) + (pixel - places[0]) * per_pixel


def _pixels(shape: ET.Element) -> list[Point]:
    """The place of a symbol, the middle of a bar, or the corners of a line."""
    if shape.get("transform"):
        across, down = _numbers(shape.get("transform", ""))[:2]
        return [(across, down)]
    numbers = _numbers(shape.get("d", ""))
    if "h" in shape.get("d", ""):
        left, top, width, height = numbers[:4]
        return [(left + width / 2, top + height / 2)]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def _numbers(text: str) -> list[float]:
    return [float(number) for number in NUMBER.findall(text)]


def _is(element: ET.Element, name: str) -> bool:
    return name in element.get("class", "")
