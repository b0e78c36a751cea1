"""The stack for a terminal: trees from mount point to drive, then each queue's settings, then warnings.

Readable without colour and at 80 columns; nothing depends on the terminal but line breaks.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from rich.console import Console, Group, RenderableType
from rich.text import Text
from rich.tree import Tree

from seekwise.grouping import grouped
from seekwise.linux.block_device import BlockDevice, DeviceWarning, Mount, Stack
from seekwise.linux.document import is_swap, settings_places
from seekwise.linux.resolve import ResolvedPath, devices_of_mount
from seekwise.report.device_words import identity, member_state, settings_lines, size_text


def show_stack(console: Console, stack: Stack, resolved: ResolvedPath | None = None) -> None:
    """Prints the stack as trees, the settings of what is worth showing, and warnings. With `resolved`, only what is
    below that path."""
    if resolved:
        console.print(_resolved_tree(stack, resolved, console.width))
        below = {drive.name: drive for name in resolved.devices for drive in stack.drives(name)}
        shown = list({**{device.name: device for device in resolved.chain()}, **below}.values())
    else:
        for tree in _trees(stack, console.width):
            console.print(tree)
        shown = [device for device in stack.devices.values() if _worth_showing(stack, device)]
    console.print()
    for block in _settings(shown, console.width):
        console.print(block)
    if resolved:
        _print_where(console, resolved)
    names = {device.name for device in shown}
    warnings = [warning for warning in stack.warnings if warning.device in names]
    notes = [*(resolved.notes if resolved else ()), *_grouped(warnings)]
    if notes:
        console.print()
        for text in notes:
            console.print(Text(text, overflow="fold"))


def _grouped(warnings: list[DeviceWarning]) -> Iterator[str]:
    """The same warning about several devices once, with all their names."""
    about = grouped((warning.text, warning.device) for warning in warnings)
    for words, names in about.items():
        yield f"warning: {', '.join(names)}: {words}"


def _worth_showing(stack: Stack, device: BlockDevice) -> bool:
    """Empty loops, RAM disks and drives without a medium are noise."""
    return bool(device.size_bytes or stack.above(device.name) or device.below or device.details.get("bound"))


def _trees(stack: Stack, width: int) -> Iterator[Tree]:
    """One tree per set of devices that is mounted, then those that nothing uses."""
    places = grouped((names, mount) for mount in stack.mounts if (names := devices_of_mount(stack, mount)))
    # By mount point, so that `/` comes first; the place shown is where the filesystem's own top is mounted.
    for names, mounts in sorted(places.items(), key=lambda item: str(_main(item[1]).mount_point)):
        mounts = [_main(mounts), *(mount for mount in mounts if mount is not _main(mounts))]
        tree = Tree(_mount_line(mounts[0], width), highlight=False)
        for other in mounts[1:]:
            tree.label.append(f"\nalso {other.mount_point}", style="dim")  # type: ignore[union-attr]
        for name in names:
            _grow(tree, stack, stack.devices[name], None, width)
        yield tree
    reached = {below.name for names in places for name in names for below in _everything_below(stack, name)}
    others: dict[str, Tree] = {}
    for device in stack.devices.values():
        top = not any(above.name not in reached for above in stack.above(device.name))
        if device.name not in reached and top and _worth_showing(stack, device):
            use = _use(stack, device)
            others.setdefault(use, Tree(Text(use, style="bold"), highlight=False))
            _grow(others[use], stack, device, None, width)
    yield from others.values()


def _use(stack: Stack, device: BlockDevice) -> str:
    if "container_of" in device.details:
        return "firmware RAID container"
    return "swap" if is_swap(stack, device) else "use not known" if device.is_thin else "not mounted"


def _main(mounts: list[Mount]) -> Mount:
    return min(mounts, key=lambda mount: (mount.root_within != "/", len(mount.mount_point.parts)))


def _everything_below(stack: Stack, name: str) -> Iterator[BlockDevice]:
    todo, seen = [name], set()
    while todo:
        current = todo.pop()
        if current not in seen:
            seen.add(current)
            yield stack.devices[current]
            todo.extend(stack.devices[current].below)


def _mount_line(mount: Mount, width: int, before: str = "") -> Text:
    """`before`: the path that was asked for, which is mounted there."""
    inside = f" (folder {mount.root_within})" if mount.root_within != "/" else ""
    name, separator = str(mount.mount_point), ","
    begin = f"{before}  on " if before else ""
    if len(f"{begin}{name}  {mount.filesystem}{inside}, {separator.join(mount.options)}") > width:
        separator = ", "
    about = f"{mount.filesystem}{inside}, {separator.join(mount.options)}"
    return _line(before, f"on {name}  {about}", width) if before else _line(name, about, width)


def _line(name: str, about: str, room: int) -> Text:
    """The name and what is said of it in lines of `room` columns, broken between words; a path that is longer goes on
    in the next line."""
    words = about.split(" ")
    rows = [name]
    for word in words:
        # Two blanks after a name stay: an empty word.
        gap = "  " if rows == [name] else " "
        if len(rows[-1]) + len(gap) + len(word) <= room or not rows[-1].strip():
            rows[-1] += gap + word
        else:
            rows.append(f"    {word}")
    text = Text(name, style="bold", overflow="fold")
    return text.append("\n".join(rows)[len(name) :], style="not bold")


def _resolved_tree(stack: Stack, resolved: ResolvedPath, width: int) -> Tree:
    bare = Text(resolved.path, style="bold", overflow="fold")
    label = _mount_line(resolved.mount, width, resolved.path) if resolved.mount else bare
    tree = Tree(label, highlight=False)
    for name in resolved.devices:
        _grow(tree, stack, stack.devices[name], None, width)
    return tree


def _grow(tree: Tree, stack: Stack, device: BlockDevice, above: BlockDevice | None, width: int) -> None:
    """`width`: of the tree that this device is a branch of."""
    room = width - BRANCH
    line = _line(device.name, f"{identity(device, full=False)}, {size_text(device.size_bytes)}", room)
    if above is not None and (state := member_state(above, device.name)):
        line.append(f", {state.upper() if 'faulty' in state else state}", style="bold")
    if device.read_only:
        line.append(", read-only", style="not bold")
    branch = tree.add(line)
    for name in device.below:
        _grow(branch, stack, stack.devices[name], device, room)
    for name in device.missing:
        branch.add(Text(f"{name}  not shown by the kernel"))


BRANCH = 4
"""Columns that a branch of a tree is set in by."""


def _settings(devices: list[BlockDevice], width: int) -> Iterator[RenderableType]:
    """A block per set of equal settings: twelve equal drives are told apart by what they are, not by twelve tables."""
    groups: dict[tuple[tuple[str, str], ...], list[BlockDevice]] = {}
    for device in devices:
        lines = tuple(settings_lines(device))
        if lines and device.kind != "partition":
            groups.setdefault(lines, []).append(device)
    for lines, group in groups.items():
        heading = Text(overflow="fold")
        for count, device in enumerate(group):
            heading.append("\n" if count else "").append(device.name, style="bold").append(f"  {identity(device)}")
        label_width = max(len(label) for label, _ in lines) + 2
        body = Text(overflow="fold")
        for label, value in lines:
            body.append("" if not body else "\n").append(_hanging(label, value, label_width, width))
        yield Group(heading, body)


def _hanging(label: str, value: str, label_width: int, width: int) -> Text:
    """`  label  value`, further lines of the value below its first."""
    first, *rest = textwrap.wrap(value, max(width - label_width - 2, 20), break_on_hyphens=False) or [""]
    text = Text("  ").append(label.ljust(label_width), style="dim").append(first)
    for line in rest:
        text.append("\n" + " " * (label_width + 2) + line)
    return text


def _print_where(console: Console, resolved: ResolvedPath) -> None:
    console.print()
    console.print(Text("settings go to", style="bold"))
    places = grouped((", ".join(devices), setting) for setting, devices in settings_places(resolved).items() if devices)
    label_width = max(map(len, places), default=0) + 2
    for names, settings in places.items():
        # Twelve drives in a row leave no room beside them.
        if label_width > console.width // 2:
            console.print(Text(f"  {names}", overflow="fold"))
            console.print(_hanging("", ", ".join(settings), 2, console.width))
        else:
            console.print(_hanging(names, ", ".join(settings), label_width, console.width))
