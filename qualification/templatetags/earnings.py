"""Show earnings and practice from this room in templates of lower rooms, which cannot import it."""

from django import template

from annotation.models import Enrollment, Study
from annotation.queries import WorkSoFar, work_so_far
from qualification.models import Round
from qualification.pay import Earnings, time_at_test
from tomannot.cache import local as cache

register = template.Library()


@register.simple_tag
def earned_so_far(enrollment: Enrollment) -> Earnings | None:
    """Return what :func:`earnings` says, but work it out every five stories: it stands above each story."""
    if enrollment.study.pay_rate is None:
        return None
    stories = enrollment.stories_submitted
    key = f"earned-{enrollment.pk}-{stories if stories < 5 else stories // 5 * 5}"
    found: Earnings | None = cache.get_or_set(key, lambda: earnings(enrollment, work_so_far(enrollment)), 60)
    return found


@register.simple_tag
def earnings(enrollment: Enrollment, work: WorkSoFar | None) -> Earnings | None:
    """Return the annotator's earnings; None in a visit that a platform pays per submission (no ``work``)."""
    if not work:  # also on pages without this variable
        return None
    test = time_at_test(enrollment) if enrollment.study.pay_rate is not None else None
    return Earnings(work.pay, test.pay if test else None)


@register.simple_tag
def offers_practice(study: Study) -> Round | None:
    return Round.objects.practice_in(study)
