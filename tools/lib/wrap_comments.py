"""Wraps comments of Java, Rust, Scala, Python and shell that are longer than 120 columns; part of ./sluice format.

A word that does not fit goes to the next line of its paragraph, so that only what follows a long line changes. Tables
and what stands between <pre> or ``` are left alone. With --check nothing is changed, and every line that is too long is
named (comments and code; Markdown tables may be long).
"""

import re
import sys

WIDTH = 120
SLASHES = re.compile(r"^(\s*(?:\*|///|//!|//)) (\s*)(.*)$")
SHELL = re.compile(r"^(\s*#) (\s*)(.*)$")
ONE_LINE = re.compile(r"^(\s*)/\*\* (.*) \*/$")
TABLE = re.compile(r"^\s*(?:(?:\*|///?|//!|#) *)?\|")
NEW_PARAGRAPH = re.compile(r"^(?:@|[-*|#<] ?|\d+\. |shellcheck )")
VERBATIM = re.compile(r"<pre>|</pre>|```")


def too_long(line):
    return len(line) > WIDTH and not TABLE.match(line)


def wrapped(lines, comments):
    result, waiting, verbatim = [], list(reversed(lines)), False
    while waiting:
        line = waiting.pop()
        one_line = ONE_LINE.match(line)
        comment = comments.match(line)
        if VERBATIM.search(line) and line.count("```") != 2:
            verbatim = not verbatim and "</pre>" not in line
        if one_line and too_long(line):
            indent, text = one_line.groups()
            waiting += [f"{indent} */", f"{indent} * {text}", f"{indent}/**"]
        elif comment and too_long(line) and not verbatim:
            head, space, text = comment.groups()
            first = len(head) + 1 + len(space) + 1
            cut = line.rfind(" ", first, WIDTH + 1)
            tag = line.rfind("{@", first, cut)
            if tag > first and "}" not in line[tag:cut]:
                cut = line.rfind(" ", first, tag)
            if cut < 0:
                result.append(line)
                continue
            result.append(line[:cut])
            rest = line[cut + 1:]
            following = comments.match(waiting[-1]) if waiting else None
            if following and following[1] == head and following[3] and not NEW_PARAGRAPH.match(following[3]):
                waiting[-1] = f"{head} {following[2]}{rest} {following[3]}"
            else:
                waiting.append(f"{head} {space}{rest}")
        else:
            result.append(line)
    return result


def main(arguments):
    check = arguments[:1] == ["--check"]
    faults = 0
    for path in arguments[1:] if check else arguments:
        with open(path, encoding="utf-8") as file:
            lines = file.read().split("\n")
        if check:
            for number, line in enumerate(lines, 1):
                if too_long(line):
                    faults += 1
                    print(f"{path}:{number}: {len(line)} columns")
            continue
        after = wrapped(lines, SLASHES if path.endswith((".java", ".rs", ".scala")) else SHELL)
        if after != lines:
            with open(path, "w", encoding="utf-8") as file:
                file.write("\n".join(after))
    if faults:
        print(f"{faults} lines are longer than {WIDTH} columns. "
              "./sluice format wraps comments and Java; the rest is for a person")
    return min(faults, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
