"""What a mail says, as a snapshot: the twin of packages/client/src/expect/snapshot.ts; both pass the same cases."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import quote

from . import api

T = TypeVar("T")
PLACEHOLDER = re.compile(r"\{([A-Za-z0-9_-]+)\}")
MAX_TABLE = 1_000_000
"""Cells of the table of a comparison; a larger one would take seconds. What is longer differs as a whole."""

# Words of dates, in eight languages; the client for JavaScript has the same ones.
DAYS = (
    "sunday monday tuesday wednesday thursday friday saturday sun mon tue wed thu fri sat sonntag montag "
    "dienstag mittwoch donnerstag freitag samstag dimanche lundi mardi mercredi jeudi vendredi samedi "
    "domingo lunes martes miércoles jueves viernes sábado domenica lunedì martedì mercoledì giovedì "
    "venerdì sabato segunda-feira terça-feira quarta-feira quinta-feira sexta-feira zondag maandag "
    "dinsdag woensdag donderdag vrijdag zaterdag"
)
MONTHS = (
    "january february march april may june july august september october november december jan feb mar "
    "apr jun jul aug sep sept oct nov dec januar februar märz mai juni juli oktober dezember okt dez "
    "janvier février mars avril juin juillet août septembre octobre novembre décembre enero febrero marzo "
    "abril mayo junio julio agosto septiembre octubre noviembre diciembre gennaio febbraio aprile maggio "
    "giugno luglio settembre ottobre dicembre janeiro fevereiro março maio junho julho setembro outubro "
    "novembro dezembro januari februari maart mei augustus"
)


def _any_of(words: str) -> str:
    longest_first = sorted(words.split(" "), key=len, reverse=True)
    return "(?:" + "|".join(f"[{word[0]}{word[0].upper()}]{word[1:]}" for word in longest_first) + ")"


WORD = "A-Za-z0-9À-ɏ"
DAY = rf"(?:{_any_of(DAYS)}\.?,?\s)?"
MONTH = rf"{_any_of(MONTHS)}(?![{WORD}])\.?"
TIME = r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?:\s?[AaPp]\.?[Mm](?![A-Za-z])\.?)?"
DATES = [
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?)?",
    r"[0-9]{1,2}[./]\s?[0-9]{1,2}[./]\s?(?:[0-9]{4}|[0-9]{2})(?![0-9])",
    r"[0-9]{4}年[0-9]{1,2}月[0-9]{1,2}日",
    rf"{DAY}[0-9]{{1,2}}(?:\.|st|nd|rd|th|º|er)?(?:\s(?:of|de))?\s{MONTH}(?:,?\s(?:de\s|del\s)?[0-9]{{4}}(?![0-9]))?",
    rf"{DAY}{MONTH}\s[0-9]{{1,2}}(?:st|nd|rd|th)?(?![0-9])(?:,?\s[0-9]{{4}}(?![0-9]))?",
]
DATE = "(?:" + "|".join(DATES) + ")"
UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
ID = f"(?:{UUID}|[0-9a-f]{{24,64}})(?![A-Za-z0-9])"
NOTHING = "(?!(?:undefined|null|NaN)(?![A-Za-z0-9]))"
"""What stands where a value is missing."""
NATURAL = {
    "date": DATE,
    "time": TIME,
    "year": "[0-9]{4}",
    "id": ID,
    "token": NOTHING + r'[^\s&#/?"<>]+',
    "port": "[0-9]+",
}
"""What each placeholder may stand for, beside names, codes and addresses."""
SECRET_KEY = re.compile("token|code|sig|signature|hash|otp|jwt|nonce|expires|exp|ts", re.IGNORECASE)
SLUG = re.compile(r"(?:[a-z]+|[0-9]{1,4})(?:[-_.](?:[a-z]+|[a-z0-9]{1,4}))*", re.IGNORECASE)
URL_IN_TEXT = re.compile(r"""(https?://[^\s<>"]*[^\s<>".,;:!?)\]'])""")


@dataclass(frozen=True)
class SnapshotInput:
    mail: api.Message
    findings: Sequence[api.LintFinding]
    names: dict[str, str]
    """Values that differ from run to run, by name."""


Masks = list[tuple[str, "re.Pattern[str]"]]
Sections = list[tuple[str, list[str]]]


def _spaced(text: str) -> str:
    return re.sub(r"(?:\\\s|\s)+", lambda _: r"\s+", re.escape(text.strip()))


def _whole(text: str) -> str:
    edge = re.compile(f"[{WORD}]")
    trimmed = text.strip()
    before = f"(?<![{WORD}])" if edge.match(trimmed[:1]) else ""
    return before + _spaced(trimmed) + (f"(?![{WORD}])" if edge.match(trimmed[-1:]) else "")


def _grouped(code: str) -> str:
    """A code as the mail writes it: perhaps in groups."""
    return r"[\s-]?".join(re.escape(letter) for letter in re.sub(r"[\s-]", "", code))


def _one_of(sources: Sequence[str]) -> str:
    return f"(?:{'|'.join(sources)})"


def _forms(value: str) -> list[str]:
    """A value as a text, and as a part of a URL."""
    encoded = quote(value, safe="!~*'()", errors="replace")
    return list(dict.fromkeys([value, encoded, encoded.replace("%20", "+")]))


def _addresses(mail: api.Message) -> list[str]:
    return list(dict.fromkeys([*mail.envelope.rcpt_to, *(one.address for one in [*mail.to, *mail.cc])]))


def _masks(given: SnapshotInput) -> Masks:
    """What the masks of a mail are, in the order of their precedence where two match the same text."""
    names = [(name, value) for name, value in given.names.items() if value.strip()]
    addresses = [_whole(form) for address in _addresses(given.mail) for form in _forms(address)]
    sources = [
        *((name, _one_of([_whole(form) for form in _forms(value)])) for name, value in names),
        *([("inbox", _one_of(addresses))] if addresses else []),
        *(("code", f"(?<![{WORD}]){_grouped(code.value)}(?![{WORD}])") for code in given.mail.codes),
        ("date", f"(?<![{WORD}]){DATE}"),
        ("time", f"(?<![{WORD}:]){TIME}(?![{WORD}:])"),
        ("id", f"(?<![{WORD}]){ID}"),
        ("year", r"(?:(?<=©)|(?<=©\s)|(?<=\([cC]\))|(?<=\([cC]\)\s)|(?<=[Cc]opyright)|(?<=[Cc]opyright\s))[0-9]{4}(?![0-9])"),
    ]
    return [(name, re.compile(source)) for name, source in sources]


def _mask_text(text: str, masks: Masks) -> str:
    """Replaces what differs from run to run by placeholders: the first match, and of several the longest."""
    masked, at = "", 0
    # The next match of each mask, so that a text is searched once for each.
    found = {index: expression.search(text) for index, (_, expression) in enumerate(masks)}
    while True:
        best: tuple[int, int, str] | None = None
        for index, (name, expression) in enumerate(masks):
            match = found[index]
            if match and match.start() < at:
                match = found[index] = expression.search(text, at)
            if match and match.group() and (best is None or (match.start(), -len(match.group())) < best[:2]):
                best = (match.start(), -len(match.group()), name)
        if best is None:
            return masked + text[at:]
        masked += f"{text[at : best[0]]}{{{best[2]}}}"
        at = best[0] - best[1]


def _is_token(part: str, key: str, is_personal: bool) -> bool:
    """Whether a part of a URL looks as if it were drawn at random."""
    if SECRET_KEY.fullmatch(key):
        return part != ""
    if re.fullmatch("[0-9]{6,}", part) or (len(part) >= 20 and re.search("[a-z][^-]*[A-Z]", part)):
        return True
    has_digit = re.search("[0-9]", part) is not None
    if SLUG.fullmatch(part):
        return is_personal and has_digit and len(part) > 4
    return len(part) >= 8 and has_digit and re.search("[A-Za-z]", part) is not None


def _mask_url(url: str, given: SnapshotInput, masks: Masks) -> str:
    """Masks a URL part by part, so that nothing within a random part is taken for a name."""
    if url.lower().startswith("cid:"):
        return "cid:{token}"
    split = re.match(r"([A-Za-z][A-Za-z0-9+.-]*://[^/?#]*)?(.*)", url, re.DOTALL)
    origin, rest = (split.group(1) or "", split.group(2)) if split else ("", url)
    kind = next((link.kind for link in given.mail.links if link.href == url), "other")
    # A plain word in the name of a host is hardly a value of the test.
    in_host = [(name, mask) for name, mask in masks if re.search("[.0-9]", given.names.get(name, ""))]
    local = r"(//(?:127\.0\.0\.1|localhost|\[::1\])):[0-9]+$"
    parts = [re.sub(local, r"\1:{port}", _mask_text(origin, in_host))]
    split_parts = re.split("([/?&#=])", rest)
    for index, part in enumerate(split_parts):
        if index % 2 == 1:
            parts.append(part)
            continue
        key = split_parts[index - 2] if index and split_parts[index - 1] == "=" else ""
        masked = _mask_text(part, masks)
        is_masked = PLACEHOLDER.fullmatch(masked) is not None
        parts.append(masked if is_masked or not _is_token(part, key, kind != "other") else "{token}")
    return "".join(parts)


def _mask_unit(unit: str, given: SnapshotInput, masks: Masks) -> str:
    return "".join(
        _mask_url(part, given, masks) if index % 2 == 1 else _mask_text(part, masks)
        for index, part in enumerate(URL_IN_TEXT.split(unit))
    )


def _mailbox(one: api.MailAddress) -> str:
    return f"{one.name} <{one.address}>" if one.name else one.address


def _trimmed(text: str | None) -> str:
    return re.sub(" ?\n ?", "\n", re.sub(r"[^\S\n]+", " ", text or "")).strip()


def _text_of_image(alt: str | None) -> str:
    return "no alt" if alt is None else json.dumps(alt, ensure_ascii=False)


def _sections(given: SnapshotInput) -> Sections:
    """What a mail says, as a reader sees it."""
    mail = given.mail
    types = [part.content_type for part in mail.structure if part.disposition != "attachment"]
    sections = [
        (
            "Mail",
            [
                f"Subject: {_trimmed(mail.subject)}",
                f"From: {_mailbox(mail.from_) if mail.from_ else 'nobody'}",
                *([f"Reply to: {', '.join(map(_mailbox, mail.reply_to))}"] if mail.reply_to else []),
                f"Parts: {', '.join(types)}",
            ],
        ),
        ("Text", [one for one in re.split("\n{2,}", _trimmed((mail.text or "").replace("\r", ""))) if one]),
        ("Page", [line for line in _trimmed(mail.html_text).split("\n") if line]),
        ("Links", [f"{link.kind}: {_trimmed(link.text) or 'no text'} → {link.href}" for link in mail.links]),
        ("Images", [f"{_text_of_image(image.alt)} → {image.src}" for image in mail.images]),
        (
            "Attachments",
            [
                f"{'no name' if one.filename is None else one.filename}: {one.content_type}"
                for one in mail.attachments
                if one.disposition == "attachment"
            ],
        ),
        (
            "Lint",
            [
                f"{one.severity}: {one.rule}{f' ({one.count} times)' if one.count > 1 else ''}"
                for one in given.findings
            ],
        ),
    ]
    return [(title, units) for title, units in sections if units]


def _separator(title: str) -> str:
    return "\n\n" if title == "Text" else "\n"


def _indented(text: str) -> str:
    return re.sub("^(?=.)", "  ", text, flags=re.MULTILINE)


def write_snapshot(given: SnapshotInput) -> str:
    """The snapshot of a mail: what it says, with placeholders for what differs from run to run."""
    values = list(given.names.values())
    twice = [name for name, value in given.names.items() if values.count(value) > 1]
    if twice:
        names = " and ".join(f'"{name}"' for name in twice)
        raise ValueError(
            f"{names} of the mask have the same value {json.dumps(given.names[twice[0]], ensure_ascii=False)}. "
            "Use values that differ when the snapshot is written."
        )
    masks = _masks(given)
    blocks = [
        f"{title}\n{_indented(_separator(title).join(_mask_unit(unit, given, masks) for unit in units))}\n"
        for title, units in _sections(given)
    ]
    return "\n".join(blocks)


def _parse(snapshot: str) -> dict[str, list[str]]:
    """The sections of a snapshot file; line ends may be those of Windows."""
    sections = {}
    for block in re.split(r"^(?=\S)", snapshot.replace("\r", ""), flags=re.MULTILINE):
        title, _, rest = block.partition("\n")
        body = re.sub("^ {2}", "", rest, flags=re.MULTILINE).strip()
        sections[title.strip()] = body.split(_separator(title.strip())) if body else []
    return sections


def _expression(unit: str, given: SnapshotInput) -> re.Pattern[str]:
    """The expression of a unit of a snapshot: the same words, and at each placeholder what it stands for."""
    codes = [_grouped(code.value) for code in given.mail.codes]
    known = {
        **NATURAL,
        "inbox": _one_of([re.escape(form) for one in _addresses(given.mail) for form in _forms(one)]),
        "code": _one_of(codes) if codes else "(?!)",
        **{name: _one_of([_spaced(form) for form in _forms(value)]) for name, value in given.names.items()},
    }
    source = "".join(
        known.get(part, re.escape(f"{{{part}}}"))
        if index % 2 == 1
        else re.sub(r"(?:\\\s|\s)+", lambda _: r"\s+", re.escape(part))
        for index, part in enumerate(PLACEHOLDER.split(unit))
    )
    return re.compile(source)


Pairs = list[tuple[int, int]]


def _common(left: int, right: int, is_equal: Callable[[int, int], bool]) -> Pairs:
    """Pairs of equal items in order: those at the beginning and the end, and the longest common ones between."""
    begin = 0
    while begin < min(left, right) and is_equal(begin, begin):
        begin += 1
    end = 0
    while left - end > begin and right - end > begin and is_equal(left - end - 1, right - end - 1):
        end += 1
    rows, columns = left - end - begin, right - end - begin
    middle = [] if rows * columns > MAX_TABLE else _subsequence(rows, columns, lambda x, y: is_equal(begin + x, begin + y))
    return [
        *((at, at) for at in range(begin)),
        *((begin + x, begin + y) for x, y in middle),
        *((left - at, right - at) for at in range(end, 0, -1)),
    ]


def _subsequence(left: int, right: int, is_equal: Callable[[int, int], bool]) -> Pairs:
    equal = [[is_equal(x, y) for y in range(right)] for x in range(left)]
    table = [[0] * (right + 1) for _ in range(left + 1)]
    for x in range(left - 1, -1, -1):
        for y in range(right - 1, -1, -1):
            longest = max(table[x + 1][y], table[x][y + 1])
            table[x][y] = table[x + 1][y + 1] + 1 if equal[x][y] else longest
    pairs, x, y = [], 0, 0
    while x < left and y < right:
        if equal[x][y]:
            pairs.append((x, y))
            x, y = x + 1, y + 1
        elif table[x + 1][y] >= table[x][y + 1]:
            x += 1
        else:
            y += 1
    return pairs


def _gaps(left: Sequence[T], right: Sequence[T], pairs: Pairs) -> Iterator[tuple[Sequence[T], Sequence[T], Sequence[T]]]:
    """The parts of two lists between equal items, with the equal item that follows."""
    x = y = 0
    for next_x, next_y in [*pairs, (len(left), len(right))]:
        yield left[x:next_x], right[y:next_y], left[next_x : next_x + 1]
        x, y = next_x + 1, next_y + 1


def _word_diff(expected: str, actual: str) -> str:
    """`Hello [-Ada-]{+Bob+} Lovelace`"""
    left, right = re.split(r"\s+", expected), re.split(r"\s+", actual)
    pairs = _common(len(left), len(right), lambda x, y: left[x] == right[y])
    # Words of the mail that look like a placeholder.
    if len(pairs) == len(left) == len(right):
        return f"[-{expected}-]{{+{actual}+}}"
    words = []
    for removed, added, kept in _gaps(left, right, pairs):
        minus = f"[-{' '.join(removed)}-]" if removed else ""
        plus = f"{{+{' '.join(added)}+}}" if added else ""
        words += [word for word in [minus + plus, *kept] if word]
    return " ".join(words)


def _section_diff(title: str, expected: list[str], actual: list[str], given: SnapshotInput) -> list[str]:
    expressions = [_expression(unit, given) for unit in expected]
    masks = _masks(given)

    def filled(unit: str) -> str:
        return PLACEHOLDER.sub(lambda found: given.names.get(found.group(1), found.group()), unit)

    pairs = _common(len(expected), len(actual), lambda x, y: expressions[x].fullmatch(actual[y]) is not None)
    found = []
    for removed, added, _ in _gaps(expected, actual, pairs):
        for at in range(max(len(removed), len(added))):
            if at >= len(removed):
                found.append(f"{{+{added[at]}+}}")
            elif at >= len(added):
                found.append(f"[-{filled(removed[at])}-]")
            else:
                found.append(_word_diff(filled(removed[at]), filled(_mask_unit(added[at], given, masks))))
    return [f"{title}:", *map(_indented, found)] if found else []


def compare_snapshot(snapshot: str, given: SnapshotInput) -> str | None:
    """The differences of a mail from its snapshot, word by word: `[-expected-]{+found+}`; None without any."""
    expected, actual = _parse(snapshot), dict(_sections(given))
    found = [
        line
        for title in dict.fromkeys([*actual, *expected])
        for line in _section_diff(title, expected.get(title, []), actual.get(title, []), given)
    ]
    return "\n".join(found) if found else None
