#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws what a command shows in a terminal as an SVG that can be read by hand: one element a line.

Usage: picture.py [--columns N] OUTPUT COMMAND [ARGUMENT...]
       picture.py --self-test

Runs the command on a pseudo-terminal, in colour, and draws what is left on the screen at its end.
Of a long paragraph the middle is left out, and three dots say so; the last one, where a command
sums up, is whole. The picture has a dark ground and an edge, so it stands on a light page and on a
dark one.
"""

import argparse
import fcntl
import os
import pathlib
import pty
import re
import struct
import sys
import termios
import unittest
from xml.sax.saxutils import escape

FONT_SIZE = 14
COLUMN = 8.43  # of most monospaced fonts at that size
LINE = 19
MARGIN = 16
BAR = 34  # of the window, above the text

SVG = """\
<?xml version="1.0" encoding="UTF-8"?>
<!-- Drawn by tools/picture.py from a real run of: {command} -->
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"\
 height="{height}" role="img" aria-label="Output of {command}">
<style>
text {{ font: {size}px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;\
 fill: #d5dbe3; white-space: pre; }}
.prompt {{ fill: #7ee787; }}
.bold {{ font-weight: bold; fill: #ffffff; }}
.red {{ fill: #ff7b72; font-weight: bold; }}
.yellow {{ fill: #e3b341; }}
.dots {{ fill: #8b949e; }}
</style>
<rect x="0.5" y="0.5" width="{inner_width}" height="{inner_height}" rx="9" fill="#161b22"\
 stroke="#8b949e" stroke-opacity="0.5"/>
<circle cx="20" cy="18" r="5.5" fill="#ff5f57"/>
<circle cx="39" cy="18" r="5.5" fill="#febc2e"/>
<circle cx="58" cy="18" r="5.5" fill="#28c840"/>
{lines}
</svg>
"""

# What Holt writes (src/cli/color.cpp), and what it is called here.
STYLES = {"1": "bold", "31": "red", "33": "yellow", "0": "", "": ""}

Cell = tuple[str, str]  # a character and its style


def run(columns: int, command: list[str]) -> str:
    """What the command wrote to a terminal of this width."""
    child, terminal = pty.fork()
    if child == 0:
        size = struct.pack("HHHH", 100, columns, 0, 0)
        fcntl.ioctl(1, termios.TIOCSWINSZ, size)
        env = {k: v for k, v in os.environ.items() if not re.match("HOLT_|NO_COLOR|CLICOLOR", k)}
        os.execvpe(command[0], command, env | {"TERM": "xterm", "LC_ALL": "C.UTF-8"})
    written = b""
    try:
        while data := os.read(terminal, 65536):
            written += data
    except OSError:  # how a terminal says that nobody is left
        pass
    os.close(terminal)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status != 0:
        sys.exit(f"picture: {command[0]} ended with {status}: {written.decode()}")
    return written.decode()


def screen(text: str) -> list[list[Cell]]:
    """The lines that are left of a stream of text, colours, carriage returns and erased ends."""
    lines: list[list[Cell]] = [[]]
    style, column = "", 0
    for mark, end, char in re.findall(r"\x1b\[([\d;]*)([A-Za-z])|(.|\n)", text):
        line = lines[-1]
        if end == "m":
            style = STYLES[mark]
        elif end == "K":
            del line[column:]
        elif end:
            raise ValueError(f"a control sequence that is not known here: {mark}{end}")
        elif char == "\r":
            column = 0
        elif char == "\n":
            lines.append([])
            column = 0
        else:
            line[column:column + 1] = [(char, style)]
            column += 1
    return lines if lines[-1] else lines[:-1]


def shortened(lines: list[list[Cell]], most: int = 9) -> list[list[Cell]]:
    """Without the middle of paragraphs that are longer than `most` lines; the last one is whole."""
    paragraphs: list[list[list[Cell]]] = [[]]
    for line in lines:
        if not line:
            paragraphs.append([])
        paragraphs[-1].append(line)
    kept = []
    for number, paragraph in enumerate(paragraphs, 1):
        if len(paragraph) > most and number < len(paragraphs):
            dots: list[Cell] = [(c, "dots") for c in "    ..."]
            paragraph = [*paragraph[:most - 3], dots, *paragraph[-2:]]
        kept += paragraph
    return kept


def line_text(line: list[Cell]) -> str:
    """The line with a <tspan> for each run of the same style."""
    pieces: list[list[str]] = []
    for char, style in line:
        if not pieces or pieces[-1][1] != style:
            pieces.append(["", style])
        pieces[-1][0] += char
    return "".join(f'<tspan class="{style}">{escape(text)}</tspan>' if style else escape(text)
                   for text, style in pieces)


def draw(command: str, lines: list[list[Cell]]) -> str:
    prompt: list[Cell] = [("$", "prompt"), *((c, "bold") for c in " " + command)]
    lines = [prompt, [], *lines]
    rows = []
    for number, line in enumerate(lines):
        if line:
            y = BAR + MARGIN + number * LINE
            rows.append(f'<text x="{MARGIN}" y="{y}" xml:space="preserve">{line_text(line)}</text>')
    width = round(2 * MARGIN + COLUMN * max(len(line) for line in lines))
    height = BAR + len(lines) * LINE + MARGIN
    return SVG.format(command=escape(command), lines="\n".join(rows), size=FONT_SIZE, width=width,
                      height=height, inner_width=width - 1, inner_height=height - 1)


class PictureTest(unittest.TestCase):
    @staticmethod
    def plain(text: str) -> list[str]:
        return ["".join(char for char, _ in line) for line in screen(text)]

    def test_a_line_that_is_replaced_leaves_nothing(self):
        self.assertEqual(self.plain("one\r\n\rwait 1\x1b[K\rwait\x1b[K\r\x1b[Ktwo\r\n"),
                         ["one", "two"])

    def test_styles_become_classes(self):
        [line] = screen("a \x1b[1mbold\x1b[0m <b>\r\n")
        self.assertEqual(line_text(line), 'a <tspan class="bold">bold</tspan> &lt;b&gt;')

    def test_an_unknown_style_is_refused(self):
        with self.assertRaises(KeyError):
            screen("\x1b[95mpink")

    def test_the_middle_of_a_long_paragraph_is_left_out(self):
        text = "".join(f"{n}\n" for n in range(20)) + "\nend\n"
        lines = ["".join(c for c, _ in line) for line in shortened(screen(text))]
        self.assertEqual(lines, ["0", "1", "2", "3", "4", "5", "    ...", "18", "19", "", "end"])

    def test_the_last_paragraph_is_whole(self):
        text = "begin\n\n" + "".join(f"{n}\n" for n in range(20))
        self.assertEqual(shortened(screen(text)), screen(text))

    def test_what_is_run_has_a_terminal(self):
        said = run(77, ["python3", "-c", "import os; print(os.isatty(1), os.get_terminal_size())"])
        self.assertIn("True", said)
        self.assertIn("columns=77", said)

    def test_the_picture_in_the_readme(self):
        """It is small, well-formed, and of a demo that went well."""
        import xml.etree.ElementTree
        path = pathlib.Path(__file__).resolve().parent.parent / "docs/demo.svg"
        self.assertLess(path.stat().st_size, 60_000)
        text = "".join(xml.etree.ElementTree.parse(path).getroot().itertext())
        self.assertIn("REFUSED", text)
        self.assertRegex(text, r"no two holders at once +true")
        self.assertRegex(text, r"no two leaders at once +true")
        self.assertRegex(text, r"no two polls of one endpoint at once +true")


def main() -> None:
    if sys.argv[1:] == ["--self-test"]:
        unittest.main(argv=sys.argv[:1])
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    if not given.command:
        parser.error("the command is missing")
    lines = shortened(screen(run(given.columns, given.command)))
    shown = " ".join([os.path.basename(given.command[0]), *given.command[1:]])
    given.output.write_text(draw(shown, lines))
    print(f"==> wrote {given.output}")


if __name__ == "__main__":
    main()
