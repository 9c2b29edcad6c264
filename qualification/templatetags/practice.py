"""Show the practice in templates of other rooms, which cannot import this one."""

from django import template

from annotation.models import Study
from qualification.models import Round

register = template.Library()


@register.simple_tag
def offers_practice(study: Study) -> Round | None:
    """Return the study's open practice round, or None."""
    return Round.objects.practice_in(study)
