"""The compiled core: simulator, drive models, replay. Structured data crosses as JSON text."""

def version() -> str:
    """Version of the compiled core; equal to the package's."""
