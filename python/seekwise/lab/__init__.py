"""What Seekwise is held against: a real kernel on virtual drives, and what every level of validation says.

testbed/     the VM with a real kernel and virtual drives
validate/    one module per validation level: `seekwise verify`
"""
