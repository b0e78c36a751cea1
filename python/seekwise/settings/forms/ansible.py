"""An Ansible playbook: the udev rule for every later start, and the values now. A second run changes nothing.

The value of each file is read first and written only if it differs, so `changed` means what Ansible means by it.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from seekwise.linux.block_device import Stack
from seekwise.settings.forms import udev
from seekwise.settings.forms.file import File, Wanted, checked, ordered, path
from seekwise.settings.values import as_shown

SET = """\
value() {{ sed -e 's/.*\\[\\(.*\\)\\].*/\\1/' "$1"; }}
set_to() {{ [ "$(value "$1")" = "${{3:-$2}}" ] || {{ echo "$2" > "$1" && echo changed; }}; }}
{lines}"""


def file(wanted: Wanted, stack: Stack) -> File:
    """Tasks that write the udev rules and set the values now where they differ."""
    rule = udev.rules_only(wanted, stack)
    lines = []
    for device, values in wanted.items():
        for name in ordered(values):
            value = checked(device, name, values[name])
            words = [path(name, device, stack), value]
            known = stack.devices.get(device)
            if known is not None and (shown := as_shown(known, name, value)) != value:
                # Written as asked, but read back as the kernel shows it: else every run would change it.
                words.append(shown)
            lines.append(f"set_to {shlex.join(words)}")
    script = "set -eu\n" + SET.format(lines="\n".join(lines))
    text = f"""\
# Written by seekwise. Idempotent: a second run changes nothing.
- name: I/O settings of {", ".join(wanted)}
  hosts: all
  become: true
  gather_facts: false
  tasks:
    - name: Keep the settings over a restart (udev rule)
      ansible.builtin.copy:
        dest: {rule.path}
        mode: "0644"
        content: |
{_indented(rule.text, 10)}
      notify: Reload udev rules
    - name: Set the values now
      ansible.builtin.shell:
        cmd: |
{_indented(script, 10)}
      register: seekwise_set
      changed_when: {json.dumps("'changed' in seekwise_set.stdout_lines")}
  handlers:
    - name: Reload udev rules
      ansible.builtin.command: udevadm control --reload
      changed_when: false
"""
    return File(
        Path("seekwise.yml"),
        text,
        (*rule.notes, "written for one machine: name it with `ansible-playbook --limit HOST`"),
    )


def _indented(text: str, spaces: int) -> str:
    return "\n".join(f"{' ' * spaces}{line}" if line else "" for line in text.splitlines())
