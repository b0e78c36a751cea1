"""A picture of a page as a reader sees it, for the documentation: `python tools/screenshot.py PAGE PICTURE.png [--width 1100] …`.

Needs Chromium. Uses the browser of the tests (`tests/report/chromium.py`).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from report.chromium import Chromium, program


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path)
    parser.add_argument("picture", type=Path)
    parser.add_argument("--width", type=int, default=1100)
    parser.add_argument("--height", type=int, default=900)
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--at", help="id of the element at the upper edge")
    given = parser.parse_args()
    if program() is None:
        sys.exit("error: Chromium is missing\n\nhint: apt-get install chromium")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        browser = Chromium(Path(home))
        browser.call("Emulation.setScrollbarsHidden", hidden=True)
        browser.open(given.page, given.width, given.height, dark=given.dark)
        if given.at:
            # What is behind a click is opened first.
            browser.evaluate(
                f"for (let box = document.getElementById({given.at!r}); box; box = box.parentElement) if (box.matches('details')) box.open = true; 0"
            )
            browser.evaluate(f"document.getElementById({given.at!r}).scrollIntoView(); scrollBy(0, -12)")
        browser.screenshot(given.picture)
        browser.close()


if __name__ == "__main__":
    main()
