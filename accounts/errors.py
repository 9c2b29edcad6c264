"""The base of the errors of every room."""


class DomainError(Exception):
    """Base of all errors that actions raise. The message is shown; ``values`` fill its placeholders."""

    def __init__(self, message: str = "", **values: object) -> None:
        super().__init__(message % values if values else message)
