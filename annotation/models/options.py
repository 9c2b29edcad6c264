"""The columns of tables that hold options: chosen ones, or those that a key accepts."""

from django.db import models

from annotation.protocols.questions import Choice


class ChosenOption(models.Model):
    """An option of one question, or of one row of it."""

    question = models.CharField(max_length=40)
    row = models.CharField(max_length=40, blank=True, default="")
    option = models.CharField(max_length=40)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.question}: {self.option}"

    @property
    def choice(self) -> Choice:
        """Return the question, row and option as a choice."""
        return Choice(self.question, self.row, self.option)
