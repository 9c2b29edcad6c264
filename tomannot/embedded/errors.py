"""Errors of the embedded servers, with remedies."""


class EmbeddedServerError(RuntimeError):
    """An embedded server could not be provided. The text has the problem and its remedy."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(f"{problem}\n{remedy}")
        self.problem = problem


OR_GIVE_URLS = "Or set DATABASE_URL and REDIS_URL to your own servers."
