"""The VM testbed: Debian's own kernel in qemu's software emulation, with virtual drives, in virtual time.

The guest's clock counts instructions, 1 ns each, and jumps over idle time (`-icount shift=0,sleep=off`). So a run does
not depend on how busy the machine is, the same input gives the same bytes, and a minute of waiting for a disk takes a
second.

    debian.py    packages by address and checksum        kernels.py   which kernels
    image.py     the guest's files as an initramfs       machine.py   boots it, brings the results back
    script.py    a trial as a shell script               backend.py   a study's trials as guests and records
    vectors.py   a request list, recorded                guest/       what runs inside

What is real: kernel, schedulers, md, page cache, file systems, fio. What is not: drives (ours), and how long
instructions take: one processor, every instruction 1 ns. Questions about a processor's speed or about several
processors are not for the VM testbed.
"""
