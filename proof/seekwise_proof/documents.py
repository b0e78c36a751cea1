"""Modules whose dataclasses `--json` prints."""

DOCUMENTS = (
    "seekwise_proof.cli.bench",
    "seekwise_proof.validate.drives",
    "seekwise_proof.validate.gains",
    "seekwise_proof.validate.judgement",
    "seekwise_proof.validate.ladder",
    "seekwise_proof.validate.mapping",
    "seekwise_proof.validate.rates",
    "seekwise_proof.validate.vectors",
    "seekwise_proof.validate.whatif",
)
