"""A sample says whose answers it was drawn from; the table is small, and old samples were of everybody."""

from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0022_identity_shown"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="reviewsample",
            name="among",
            field=models.CharField(
                choices=[
                    ("everybody", "everybody"),
                    ("flagged", "people with a flag"),
                    ("person", "one person"),
                ],
                default="everybody",
                help_text="Whose answers it was drawn from.",
                max_length=10,
            ),
        ),
        migrations.AlterField(
            model_name="reviewsample",
            name="kind",
            field=models.CharField(
                choices=[("random", "at random"), ("flagged", "answers that stand out")], max_length=10
            ),
        ),
        migrations.AddConstraint(
            model_name="reviewsample",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("among", "person"), _negated=True), ("people", 1), _connector="OR"
                ),
                name="samples_of_one_person_are_of_one",
            ),
        ),
    ]
