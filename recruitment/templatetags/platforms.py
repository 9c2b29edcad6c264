"""A platform's own words in templates."""

from django import template

from recruitment.models import Campaign
from recruitment.platforms import Words, platform_of

register = template.Library()


@register.filter
def platform_words(campaign: Campaign) -> Words:
    return platform_of(campaign).words
