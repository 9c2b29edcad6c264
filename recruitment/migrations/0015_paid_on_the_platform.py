"""What a platform paid without us is among the payments; ours is still one decision to a piece of work."""

from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("recruitment", "0014_whether_work_is_whole_is_counted"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="payment",
            name="one_decision_per_submission",
        ),
        migrations.AddField(
            model_name="payment",
            name="decided_there",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="The platform decided it without us: on its own pages, or by its clock.",
            ),
        ),
        migrations.AddConstraint(
            model_name="payment",
            constraint=models.UniqueConstraint(
                condition=models.Q(
                    ("decided_there", False),
                    ("kind__in", ["approval", "rejection"]),
                    models.Q(("state__in", ["failed", "withdrawn"]), _negated=True),
                ),
                fields=("submission",),
                name="one_decision_per_submission",
            ),
        ),
        migrations.AddConstraint(
            model_name="payment",
            constraint=models.UniqueConstraint(
                condition=models.Q(("decided_there", True)),
                fields=("submission",),
                name="one_decision_there_per_submission",
            ),
        ),
        migrations.AddConstraint(
            model_name="payment",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("decided_there", False),
                    models.Q(("kind", "approval"), ("requested_by", None), ("state", "done"), ("tries", 0)),
                    _connector="OR",
                ),
                name="payment_decided_there_is_an_approval_never_sent",
            ),
        ),
    ]
