"""Every way to create a file leads through `files.py`, which follows no planted link; others say here why they need not: `python tools/created_files.py`.

What is found creates, replaces, links or renames. Reading and removing are not looked at. The product's crates create no files.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYTHON = ROOT / "python" / "seekwise"

SYSFS = "writes to the kernel's files, which are there already and which only root can change"
PRIVATE = "in a folder of mode 0700 that this process made (`temporary.private`, `scratch`) or that only root enters (the state folder)"
BY_DESCRIPTOR = "opened beside a descriptor of its folder, new (O_EXCL) and through no link"
ALLOWED = {
    "measure/kernel/fio.py: write_text": PRIVATE,
    "measure/kernel/memory.py: mkdir": SYSFS,
    "measure/kernel/memory.py: write_text": SYSFS,
    "cli/_output.py: open": "standard output and standard error, by number",
    "cli/main.py: write_text": "writes help to the screen (click)",
    "trace/load.py: tofile": PRIVATE,
    "temporary.py: tempfile.mkdtemp": "this is where private folders are made",
    "control/lock.py: os.open": PRIVATE,
    "measure/execute.py: os.open": PRIVATE,
    "control/scratch.py: os.mkdir": BY_DESCRIPTOR,
    "control/scratch.py: os.open": BY_DESCRIPTOR,
    "control/tracefs.py: mkdir": SYSFS,
    "control/tracefs.py: os.open": "a lock in a folder of /run that is made private first",
    "control/tracefs.py: write_text": SYSFS,
    "control/supervise.py: open": "the kernel's cgroup file, named by our own process",
    "control/persisted.py: os.mkdir": "folders of /etc that only root can change",
    "control/exact.py: os.symlink": "restores a link in a folder of /etc that only root can change",
    "control/exact.py: os.replace": "restores a link in a folder of /etc that only root can change",
    "control/journal.py: os.replace": PRIVATE,
    "control/boot.py: shutil.copytree": "in /run, which only root can change, before other users' programs start",
    "measure/live/prepare.py: os.open": "in a scratch folder reached by descriptor, new (O_EXCL) and through no link",
    "measure/live/fio_load.py: write_text": PRIVATE,
    "measure/live/fio_load.py: open": PRIVATE,
    "measure/live/prepare.py: mkdir": "in a scratch folder reached by descriptor",
    "measure/live/team_load.py: mkdir": PRIVATE,
    "trace/load.py: open": PRIVATE,
    "trace/record/recorder.py: open": PRIVATE,
    "store/database.py: sqlite3.connect": "of a file that no other user can replace (`_check_own`); SQLite follows no link in the names of its logs (unixOpen, O_NOFOLLOW)",
}
"""{file: call}: why it may. One that is no longer found has to go."""

ALLOWED_FOLDERS = {
    "workload/": "programs of a load and their data, below a scratch folder of mode 0700 that is reached by descriptor"
}

CREATORS = {
    "open", "os.open", "os.fdopen", "os.mkdir", "os.makedirs", "os.mkfifo", "os.mknod", "os.link", "os.symlink", "os.rename", "os.replace",
    "os.renames", "io.open", "shutil.copy", "shutil.copy2", "shutil.copyfile", "shutil.copytree", "shutil.move", "shutil.make_archive",
    "sqlite3.connect", "tarfile.open", "zipfile.ZipFile", "gzip.open", "bz2.open", "lzma.open", "np.save", "np.savez", "np.savetxt",
    "np.memmap", "logging.FileHandler", "shelve.open",
}  # fmt: skip
METHODS = {
    "open", "write_text", "write_bytes", "touch", "mkdir", "symlink_to", "hardlink_to", "rename", "replace", "extractall", "extract",
    "savefig", "tofile", "to_csv", "to_parquet",
}  # fmt: skip


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return "?"


def _mode(call: ast.Call, position: int) -> str:
    """The mode of an `open`, as text; `w` where a variable decides it. Other arguments of methods called `open` are no modes."""
    given = [each.value for each in call.keywords if each.arg == "mode"] + call.args[position : position + 1]
    if given and isinstance(given[0], ast.Constant):
        return text if re.fullmatch(r"[rwaxbt+]+", text := str(given[0].value)) else "r"
    return "w" if given and (position == 1 or ast.unparse(given[0]) == "mode") else "r"


def _creates(call: ast.Call) -> str | None:
    """How a call creates a file, or None."""
    name = _dotted(call.func)
    if name.startswith("tempfile.") and name != "tempfile.gettempdir":
        return name
    if name in CREATORS:
        if name in ("open", "io.open", "gzip.open", "bz2.open", "lzma.open", "tarfile.open"):
            return name if set(_mode(call, 1)) & set("wax+") else None
        if name == "os.open":
            # Flags in a variable may have it.
            return name if re.search(r"O_CREAT|\bflags\b|_NEW", ast.unparse(call)) else None
        return None if name == "os.fdopen" else name
    method = name.rpartition(".")[2]
    if "." not in name or method not in METHODS or name.startswith("os."):
        return None
    if method == "open":
        return "open" if set(_mode(call, 0)) & set("wax+") else None
    if method == "replace" and (len(call.args) != 1 or call.keywords):
        return None  # of a string
    return method


def _found() -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for path in sorted(PYTHON.rglob("*.py")):
        name = str(path.relative_to(PYTHON))
        if name == "files.py" or name.startswith(tuple(ALLOWED_FOLDERS)):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and (how := _creates(node)):
                found.setdefault(f"{name}: {how}", []).append(node.lineno)
    return found


RUST = re.compile(
    r"File::create|File::options|OpenOptions|fs::(?:write|copy|rename|hard_link|create_dir|create_dir_all|set_permissions|soft_link)\b"
    r"|DirBuilder|symlink\(|UnixListener::bind|create_new|O_CREAT|OFlags::CREATE|mkdirat|mknodat|renameat|remove_dir_all|\.truncate\(true"
)


def _of_crates() -> list[str]:
    found = []
    for path in sorted((ROOT / "crates").glob("*/src/**/*.rs")):
        # Tests within a module make what they like in folders of their own.
        text = path.read_text().split("#[cfg(test)]")[0]
        if "tests" not in path.parts and path.name != "tests.rs":
            found += [f"{path.relative_to(ROOT)}: {hit}" for hit in RUST.findall(text)]
    return found


def main() -> int:
    """Prints what creates files without a reason, and reasons that nothing needs any more; exit status 1 for either."""
    found = _found()
    said = [
        f"{each}, lines {lines}: use seekwise.files, or say in ALLOWED why not"
        for each, lines in found.items()
        if each not in ALLOWED
    ]
    said += [f"{each}: no longer there, so it needs no reason" for each in ALLOWED if each not in found]
    said += [f"{each}: the product's crates create no files" for each in _of_crates()]
    print("\n".join(said), end="\n" if said else "")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
