"""The few stories beside the main ones are found by what they are for."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0019_texts_and_members"),
    ]

    operations = [
        migrations.RemoveIndex(model_name="story", name="checks_of_study"),
        migrations.AddIndex(
            model_name="story",
            index=models.Index(
                condition=models.Q(("role", "main"), _negated=True),
                fields=["study", "role"],
                name="stories_beside_the_main",
            ),
        ),
    ]
