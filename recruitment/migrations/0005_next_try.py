from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("recruitment", "0004_left_and_taken_back"),
    ]

    operations = [
        migrations.AddField(
            model_name="grant",
            name="next_try_at",
            field=models.DateTimeField(
                blank=True, help_text="Not before: it waits for credentials that are accepted.", null=True
            ),
        ),
        migrations.AddField(
            model_name="payment",
            name="next_try_at",
            field=models.DateTimeField(
                blank=True,
                help_text="Not before: it waits for credentials that are accepted, or for money.",
                null=True,
            ),
        ),
        migrations.AlterField(
            model_name="payment",
            name="state",
            field=models.CharField(
                choices=[
                    ("requested", "to be sent"),
                    ("sending", "sent, not answered yet"),
                    ("done", "done"),
                    ("failed", "not carried out"),
                ],
                default="requested",
                max_length=10,
            ),
        ),
    ]
